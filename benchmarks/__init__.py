"""Piecework measured against its peers, on real text: `python -m benchmarks` runs everything."""
