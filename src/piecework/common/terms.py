"""Terms that several packages share: types of pieces, orders of whitespace runs, names in results."""

from typing import Literal

__all__ = [
    "BASE",
    "CUT",
    "MOST_PIECES",
    "MOST_THREADS",
    "MULTILINGUAL",
    "OVERALL",
    "RUN_FILE",
    "SUMS_FILE",
    "TIKTOKEN",
    "TOKENIZERS_FOLDER",
    "CleanUp",
    "PieceType",
    "RunOrder",
    "Split",
]

PieceType = Literal["normal", "unknown", "control", "user_defined", "unused", "byte"]
RunOrder = Literal["paper", "portable"]
CleanUp = Literal["gpt-sw3"]
Split = Literal["words", "space_runs", "lines"]
"""What a row of training counts is: a word, a whitespace run with the text that follows it, or a whole line."""

OVERALL = "overall"
"""The name for all languages together in results."""

MULTILINGUAL = "multilingual"
"""The name of the tokenizer of all languages. A monolingual tokenizer has the name of its language."""

BASE = "base"
"""The name of the tokenizer that a study extends."""

MOST_PIECES = 2_000_000
"""The core takes no larger vocabulary of SentencePiece."""

MOST_THREADS = 1024

CUT = "·"
"""The separator between the tokens of a word in print."""

TIKTOKEN = "tiktoken:"
"""The prefix of the name of a tiktoken encoding, where a path of a tokenizer is expected."""

RUN_FILE = "run.json"
"""The file in a study's output folder that has its settings, stages and checksums."""

SUMS_FILE = "SHA256SUMS"
"""The file in the folder of a tokenizer that has the checksums of the others, as `sha256sum` writes them."""

TOKENIZERS_FOLDER = "tokenizers"
"""The folder in a study's output folder that has a folder for each tokenizer."""
