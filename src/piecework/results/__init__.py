"""What a study finds: its tables, sentences, model cards, and the folder that holds them."""
