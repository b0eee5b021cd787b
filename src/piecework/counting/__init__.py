"""From documents to word counts."""
