"""Train, evaluate and compare multilingual tokenizers.

>>> import piecework as pw
>>> counts = pw.count_words(["Hej världen", "hej då"])
>>> tokenizer = pw.train(counts, pw.Recipe(vocab_size=20))
>>> tokenizer.decode(tokenizer.encode("hej världen"))
'hej världen'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from piecework.counting.words import WordCounts, count_words
    from piecework.errors import InputError, ModelError, PieceworkError, RecipeError, VocabularyTooLargeError
    from piecework.recipe import Recipe
    from piecework.tokenizer.pieces import Piece, VocabularyGroup
    from piecework.tokenizer.tokenizer import Token, Tokenizer
    from piecework.training.trainer import train

__version__ = "0.1.0"

# Where each public name lives. Names are imported when they are first used, so that a command starts quickly.
_HOMES = {
    "InputError": "errors",
    "ModelError": "errors",
    "Piece": "tokenizer.pieces",
    "PieceworkError": "errors",
    "Recipe": "recipe",
    "RecipeError": "errors",
    "Token": "tokenizer.tokenizer",
    "Tokenizer": "tokenizer.tokenizer",
    "VocabularyGroup": "tokenizer.pieces",
    "VocabularyTooLargeError": "errors",
    "WordCounts": "counting.words",
    "count_words": "counting.words",
    "train": "training.trainer",
}

__all__ = [
    "InputError",
    "ModelError",
    "Piece",
    "PieceworkError",
    "Recipe",
    "RecipeError",
    "Token",
    "Tokenizer",
    "VocabularyGroup",
    "VocabularyTooLargeError",
    "WordCounts",
    "count_words",
    "train",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'piecework' has no attribute {name!r}")
    value = getattr(import_module(f"piecework.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
