"""A page on which a person types text and sees how tokenizers cut it, side by side, and why."""
