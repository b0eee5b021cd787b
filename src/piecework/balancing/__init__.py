"""Language balance: finds weights, from counts, with which every language costs the same."""
