"""One tokenizer: its file format, its vocabulary, encoding and decoding."""
