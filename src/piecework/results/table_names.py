"""The names and titles of a study's tables."""

__all__ = ["TITLES"]

TITLES = {
    "summary": "Summary",
    "corpus": "Subsets, weights and samples",
    "skipped": "Skipped records",
    "languages": "Languages",
    "metrics": "Metrics",
    "categories": "Metrics by language and category",
    "parallel": "Tokens for the same text",
    "alternatives": "What other weights and parity-aware training give",
    "sizes": "Metrics at every vocabulary size",
    "size_costs": "What a vocabulary size costs the model",
    "size_advice": "The recommended vocabulary size",
    "vocabulary": "Vocabulary groups",
    "health": "Health of the vocabulary",
    "lengths": "Lengths of pieces",
    "use": "Use of the vocabulary by language",
    "pieces": "Pieces of the multilingual tokenizer",
    "overlap": "Vocabulary overlap",
    "overlap_sizes": "Overlap with monolingual vocabularies at every size",
    "recipes": "Recipes side by side",
    "outside": "Compared with other tokenizers",
    "outside_overlap": "Vocabulary overlap with other tokenizers",
    "outside_words": "Words that other tokenizers split differently",
    "outside_parallel": "Tokens for the same text, compared with other tokenizers",
    "examples": "Passages in tokens",
    "findings": "The paper's findings on this text",
}
"""By name, the title of each table, in reading order."""
