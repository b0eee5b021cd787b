"""Language balance: weights for which a tokenizer costs every language alike, found from counts."""
