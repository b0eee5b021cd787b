"""A web page that shows how tokenizers split text, side by side, and why."""
