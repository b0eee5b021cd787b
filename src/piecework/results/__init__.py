"""The results of a study: tables, sentences, model cards, LaTeX, and the folder that holds them."""
