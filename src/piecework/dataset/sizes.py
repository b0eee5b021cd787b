"""Maps the tokens of a vocabulary to those of a smaller one, so that one encoding gives the ids of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from piecework._core import Encoder, SmallerIds
from piecework.errors import InputError
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.pieces import SPACE
from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["nested_sizes", "smaller_ids"]


AnySize = Tokenizer | ByteLevelTokenizer


def nested_sizes(tokenizer: AnySize, sizes: Sequence[int]) -> list[AnySize]:
    """The tokenizer in each size; an InputError for a size that does not nest."""
    resized: list[AnySize] = []
    for size in sizes:
        if size == tokenizer.vocab_size:
            resized.append(tokenizer)
            continue
        resized.append(tokenizer.resize(size))
        if isinstance(tokenizer, ByteLevelTokenizer):
            merges = tokenizer.model.merges
            is_nested = merges is not None and len({merged for _, _, merged in merges}) == len(merges)
            if not is_nested or tokenizer.model.whole_pre_tokens:
                raise InputError(
                    f"sizes: {size:,} and {tokenizer.vocab_size:,} cannot be written in one pass, because tokens of "
                    "this tokenizer are not made by merges alone; run the command once for each size"
                )
            continue
        normalizer, trainer = tokenizer._specs.normalizer_spec, tokenizer._specs.trainer_spec
        mixed = next((p.text for p in tokenizer.pieces if SPACE in p.text[1:] and p.text.strip(SPACE)), None)
        if normalizer.remove_extra_whitespaces or trainer.treat_whitespace_as_suffix or mixed is not None:
            raise InputError(
                f"sizes: {size:,} and {tokenizer.vocab_size:,} cannot be written in one pass, because pieces of this "
                "model reach across words; run the command once for each size"
            )
    return resized


def smaller_ids(tokenizer: AnySize, small: AnySize) -> SmallerIds:
    """The ids of each token of the tokenizer in its own smaller size `small`.

    A token falls apart as its text does when it is encoded alone (docs/tokenize.md has the argument).
    """
    if isinstance(tokenizer, ByteLevelTokenizer):
        assert isinstance(small, ByteLevelTokenizer)
        return _smaller_bytes(tokenizer, small)
    assert isinstance(small, Tokenizer)
    alone = _without_prefix(small)
    texts = [piece.text if piece.type == "normal" else "" for piece in tokenizer.pieces]
    ids = alone.encode_batch(texts, 1)
    for piece in tokenizer.pieces:
        if piece.type != "normal":
            number = small.piece_to_id(piece.text)
            assert number is not None  # special pieces are in every size
            ids[piece.id] = [number]
    spaces = [len(text) if text and not text.strip(SPACE) else 0 for text in texts]
    return SmallerIds(ids, spaces=spaces, runs=alone)


def _without_prefix(tokenizer: Tokenizer) -> Encoder:
    """The tokenizer's encoder for text that is normalised, without a dummy prefix."""
    specs = deepcopy(tokenizer._specs)
    specs.normalizer_spec.add_dummy_prefix = False
    specs.normalizer_spec.precompiled_charsmap = b""
    return Tokenizer(tokenizer._vocabulary, specs)._encoder


def _smaller_bytes(tokenizer: ByteLevelTokenizer, small: ByteLevelTokenizer) -> SmallerIds:
    """Tokens are bytes here, and not always text, so they are taken apart merge by merge."""
    made = {merged: (left, right) for left, right, merged in tokenizer.model.merges or ()}
    kept = {merged for _, _, merged in small.model.merges or ()}
    ids: list[list[int] | None] = [None] * tokenizer.vocab_size

    def parts(number: int) -> list[int]:
        found = ids[number]
        if found is None:
            if number not in made:
                found = [number]
            else:
                left, right = map(parts, made[number])
                stands = number in kept and len(left) == len(right) == 1
                found = [number] if stands else left + right
            ids[number] = found
        return found

    return SmallerIds([parts(number) for number in range(tokenizer.vocab_size)], spaces=[], runs=None)
