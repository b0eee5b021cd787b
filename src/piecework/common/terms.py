"""The words that several folders share: kinds of pieces, orders of whitespace runs, names in results."""

from typing import Literal

__all__ = ["CUT", "MULTILINGUAL", "OVERALL", "TIKTOKEN", "CleanUp", "PieceType", "RunOrder"]

PieceType = Literal["normal", "unknown", "control", "user_defined", "unused", "byte"]
RunOrder = Literal["paper", "portable"]
CleanUp = Literal["gpt-sw3"]

OVERALL = "overall"
"""What results call all languages together."""

MULTILINGUAL = "multilingual"
"""The tokenizer of all languages; those of one language are called after it."""

CUT = "·"
"""What stands between the parts of a word that is shown as tokens cut it."""

TIKTOKEN = "tiktoken:"
"""Before the name of an encoding of tiktoken, where otherwise the path of a tokenizer stands."""
