"""The number of bytes of text that each id stands for, to compute bits per byte from the loss of a model."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt

from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["token_bytes", "token_bytes_file"]


def token_bytes(tokenizer: Tokenizer | ByteLevelTokenizer) -> npt.NDArray[np.int32]:
    """For each id, the number of UTF-8 bytes that it stands for; 0 for special, unknown and unused ids.

    The bytes of a text's tokens add up to the bytes of the text. With a dummy prefix there is one more: the space that
    encoding adds. Bits per byte are the sum of losses in nats over this sum, divided by ln 2.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["få får får får"]), pw.Recipe(vocab_size=10))
    >>> lengths = token_bytes(tokenizer)
    >>> int(lengths[tokenizer.encode("får får")].sum()), len("får får".encode())
    (10, 9)
    """
    if isinstance(tokenizer, ByteLevelTokenizer):
        special = {*tokenizer.model.special_tokens.values()}
        return np.array(
            [0 if number in special else len(text) for number, text in enumerate(tokenizer._texts_of_ids)], np.int32
        )
    lengths = [_length(text, kind) for text, kind in zip(tokenizer._texts, tokenizer._types, strict=True)]
    return np.array(lengths, np.int32)


def _length(text: str, kind: str) -> int:
    if kind == "byte":
        return 1
    return len(text.replace(SPACE, " ").encode()) if kind in ("normal", "user_defined") else 0


def token_bytes_file(tokenizer: Tokenizer | ByteLevelTokenizer) -> bytes:
    """The same as the content of a `.npy` file, which `numpy.load` and `torch.from_numpy` read."""
    written = io.BytesIO()
    np.save(written, token_bytes(tokenizer))
    return written.getvalue()
