"""From tokenizers and counts to metrics: estimates with intervals, curves over sizes, overlap, vocabulary, examples."""
