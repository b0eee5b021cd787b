"""The ids that are put before and after each document."""

from __future__ import annotations

from piecework.errors import InputError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["ids_around"]

# Names of the token that ends or starts a document: the files of byte-level tokenizers do not say which it is.
ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<｜end▁of▁sentence｜>", "<eos>", "<|eos|>")
STARTS = ("<|begin_of_text|>", "<s>", "<｜begin▁of▁sentence｜>", "<bos>", "<|bos|>")


def ids_around(
    tokenizer: Tokenizer | ByteLevelTokenizer,
    *,
    bos: str | None,
    eos: str | None,
    prepend_bos: bool,
    append_eos: bool,
) -> tuple[list[int], list[int]]:
    """The ids before and after each document. A piece that is named is added, with or without its flag.

    >>> import piecework as pw
    >>> tokenizer = pw.train(["ha hade"], vocab_size=9)
    >>> ids_around(tokenizer, bos=None, eos=None, prepend_bos=False, append_eos=True)
    ([], [2])
    """
    before = [_special_id(tokenizer, "bos", bos)] if prepend_bos or bos is not None else []
    after = [_special_id(tokenizer, "eos", eos)] if append_eos or eos is not None else []
    return before, after


def _special_id(tokenizer: Tokenizer | ByteLevelTokenizer, kind: str, name: str | None) -> int:
    if isinstance(tokenizer, ByteLevelTokenizer):
        special = tokenizer.model.special_tokens
        names = ENDS if kind == "eos" else STARTS
        own = next((special[text] for text in names if text in special), None)
    else:
        special = {
            piece.text: piece.id for piece in tokenizer._meta_pieces if piece.type in ("control", "user_defined")
        }
        own = tokenizer.eos_id if kind == "eos" else tokenizer.bos_id
    if name is not None:
        own = special.get(name)
    if own is None:
        known = ", ".join(special) or "none"
        missing = f'"{name}" is no special piece' if name is not None else f"the vocabulary has no {kind} piece"
        raise InputError(f"{missing}; its special pieces are {known}: name one with --{kind} PIECE")
    return own
