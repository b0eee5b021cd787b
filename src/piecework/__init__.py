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
    from piecework.balancing.balance import balance
    from piecework.balancing.result import Balance
    from piecework.common.pre_tokenizer import PreTokenizer
    from piecework.common.subset_name import SubsetName
    from piecework.corpus.clean_up import clean_up
    from piecework.counting.local import count
    from piecework.counting.pre_token_files import count_pre_tokens_of_files
    from piecework.counting.pre_tokens import PreTokenCounts, count_pre_tokens
    from piecework.counting.spark_cluster import Cluster
    from piecework.counting.store import Counts
    from piecework.counting.words import WordCounts, count_words
    from piecework.dataset.dataset import TokenizedDataset
    from piecework.dataset.tokenize import tokenize
    from piecework.errors import (
        InputError,
        ModelError,
        PieceworkError,
        RecipeError,
        StudyError,
        VocabularyTooLargeError,
    )
    from piecework.evaluation.compare import Comparison, compare
    from piecework.evaluation.evaluate import evaluate
    from piecework.evaluation.evaluation import Evaluation
    from piecework.evaluation.examples import Example, examples
    from piecework.evaluation.metrics import Metric, metric
    from piecework.evaluation.monolingual import train_monolingual
    from piecework.evaluation.overlap import vocabulary_overlap
    from piecework.evaluation.parallel import evaluate_parallel
    from piecework.evaluation.size_costs import SizeCosts, size_costs
    from piecework.evaluation.tables import Table
    from piecework.evaluation.units import count_units
    from piecework.evaluation.vocabulary import analyse_vocabulary
    from piecework.health.check import check
    from piecework.health.finding import Finding, Health
    from piecework.health.prune import Pruned, prune
    from piecework.pipeline.results import StudyResults
    from piecework.pipeline.run import run
    from piecework.study.byte_level_recipe import ByteLevelRecipe
    from piecework.study.model_shape import ModelShape
    from piecework.study.recipe import Recipe
    from piecework.study.study import Study
    from piecework.tokenizer.any_tokenizer import AnyTokenizer
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.edit import Edited, edit
    from piecework.tokenizer.export import Export, export
    from piecework.tokenizer.load import load_tokenizer
    from piecework.tokenizer.pieces import Piece, VocabularyGroup
    from piecework.tokenizer.token_bytes import token_bytes
    from piecework.tokenizer.tokenizer import Tokenizer
    from piecework.tokenizer.tokens import Token, Tokens
    from piecework.tokenizer.verification import Verification
    from piecework.tokenizer.verify import verify
    from piecework.training.extension import extend
    from piecework.training.new_piece import Extended
    from piecework.training.trainer import train

__version__ = "0.1.0"

# Where each public name lives. Names are imported when they are first used, so that a command starts quickly.
_HOMES = {
    "AnyTokenizer": "tokenizer.any_tokenizer",
    "Balance": "balancing.result",
    "ByteLevelRecipe": "study.byte_level_recipe",
    "ByteLevelTokenizer": "tokenizer.byte_level",
    "Cluster": "counting.spark_cluster",
    "Comparison": "evaluation.compare",
    "Counts": "counting.store",
    "Edited": "tokenizer.edit",
    "Evaluation": "evaluation.evaluation",
    "Example": "evaluation.examples",
    "Export": "tokenizer.export",
    "Extended": "training.new_piece",
    "Finding": "health.finding",
    "Health": "health.finding",
    "InputError": "errors",
    "Metric": "evaluation.metrics",
    "ModelError": "errors",
    "ModelShape": "study.model_shape",
    "Piece": "tokenizer.pieces",
    "PieceworkError": "errors",
    "PreTokenCounts": "counting.pre_tokens",
    "PreTokenizer": "common.pre_tokenizer",
    "Pruned": "health.prune",
    "Recipe": "study.recipe",
    "RecipeError": "errors",
    "SizeCosts": "evaluation.size_costs",
    "Study": "study.study",
    "StudyError": "errors",
    "StudyResults": "pipeline.results",
    "SubsetName": "common.subset_name",
    "Table": "evaluation.tables",
    "Token": "tokenizer.tokens",
    "TokenizedDataset": "dataset.dataset",
    "Tokenizer": "tokenizer.tokenizer",
    "Tokens": "tokenizer.tokens",
    "Verification": "tokenizer.verification",
    "VocabularyGroup": "tokenizer.pieces",
    "VocabularyTooLargeError": "errors",
    "WordCounts": "counting.words",
    "analyse_vocabulary": "evaluation.vocabulary",
    "balance": "balancing.balance",
    "check": "health.check",
    "clean_up": "corpus.clean_up",
    "compare": "evaluation.compare",
    "count": "counting.local",
    "count_pre_tokens": "counting.pre_tokens",
    "count_pre_tokens_of_files": "counting.pre_token_files",
    "count_units": "evaluation.units",
    "count_words": "counting.words",
    "edit": "tokenizer.edit",
    "evaluate": "evaluation.evaluate",
    "evaluate_parallel": "evaluation.parallel",
    "examples": "evaluation.examples",
    "export": "tokenizer.export",
    "extend": "training.extension",
    "load_tokenizer": "tokenizer.load",
    "metric": "evaluation.metrics",
    "prune": "health.prune",
    "run": "pipeline.run",
    "size_costs": "evaluation.size_costs",
    "token_bytes": "tokenizer.token_bytes",
    "tokenize": "dataset.tokenize",
    "train": "training.trainer",
    "train_monolingual": "evaluation.monolingual",
    "verify": "tokenizer.verify",
    "vocabulary_overlap": "evaluation.overlap",
}

__all__ = [
    "AnyTokenizer",
    "Balance",
    "ByteLevelRecipe",
    "ByteLevelTokenizer",
    "Cluster",
    "Comparison",
    "Counts",
    "Edited",
    "Evaluation",
    "Example",
    "Export",
    "Extended",
    "Finding",
    "Health",
    "InputError",
    "Metric",
    "ModelError",
    "ModelShape",
    "Piece",
    "PieceworkError",
    "PreTokenCounts",
    "PreTokenizer",
    "Pruned",
    "Recipe",
    "RecipeError",
    "SizeCosts",
    "Study",
    "StudyError",
    "StudyResults",
    "SubsetName",
    "Table",
    "Token",
    "TokenizedDataset",
    "Tokenizer",
    "Tokens",
    "Verification",
    "VocabularyGroup",
    "VocabularyTooLargeError",
    "WordCounts",
    "analyse_vocabulary",
    "balance",
    "check",
    "clean_up",
    "compare",
    "count",
    "count_pre_tokens",
    "count_pre_tokens_of_files",
    "count_units",
    "count_words",
    "edit",
    "evaluate",
    "evaluate_parallel",
    "examples",
    "export",
    "extend",
    "load_tokenizer",
    "metric",
    "prune",
    "run",
    "size_costs",
    "token_bytes",
    "tokenize",
    "train",
    "train_monolingual",
    "verify",
    "vocabulary_overlap",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'piecework' has no attribute {name!r}")
    value = getattr(import_module(f"piecework.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
