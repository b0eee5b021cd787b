"""Tokenizers and counts to figures: metrics with intervals, curves over sizes, overlap, vocabulary, examples."""
