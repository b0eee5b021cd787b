"""The words that several folders share: kinds of pieces, orders of whitespace runs."""

from typing import Literal

__all__ = ["PieceType", "RunOrder"]

PieceType = Literal["normal", "unknown", "control", "user_defined", "unused", "byte"]
RunOrder = Literal["paper", "portable"]
