"""From word counts to tokenizers."""
