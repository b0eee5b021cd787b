"""SentencePiece as the oracle: its training from lines in memory, and what its models say about a text."""

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sentencepiece
from sentencepiece import sentencepiece_model_pb2


class HasSentencePieceArguments(Protocol):
    def sentencepiece_arguments(self) -> dict[str, Any]: ...


# Arguments that a recipe always gives. Without them, SentencePiece's defaults would differ from ours.
PLAIN = {"model_type": "bpe", "normalization_rule_name": "identity", "remove_extra_whitespaces": False}


def sp_train(lines: Iterable[str | bytes], recipe: HasSentencePieceArguments) -> bytes:
    """The .model that SentencePiece trains. Its iterator strips "\\r" from a line's end; a file keeps it."""
    return sp_train_with(lines, **recipe.sentencepiece_arguments())


def sp_train_with(lines: Iterable[str | bytes], **arguments: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, minloglevel=2, **arguments
    )
    return model.getvalue()


def sp_train_file(path: Path, recipe: HasSentencePieceArguments) -> bytes:
    """The same from a file, without the file's name, which SentencePiece writes into the model."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=str(path), model_writer=buffer, minloglevel=2, **recipe.sentencepiece_arguments()
    )
    model = parse(buffer.getvalue())
    model.trainer_spec.ClearField("input")
    return bytes(model.SerializeToString())


def parse(model: bytes) -> Any:
    return sentencepiece_model_pb2.ModelProto.FromString(model)  # type: ignore[attr-defined]


def assert_same_model(ours: bytes, theirs: bytes) -> None:
    """Equal bytes. If they differ, the error says where. (pytest's own comparison of megabytes takes minutes.)"""
    if ours == theirs:
        return
    mine, other = parse(ours), parse(theirs)
    for index, (a, b) in enumerate(zip(mine.pieces, other.pieces, strict=False)):
        assert a == b, f"piece {index} differs"
    assert len(mine.pieces) == len(other.pieces)
    assert mine.trainer_spec == other.trainer_spec
    assert mine.normalizer_spec == other.normalizer_spec
    raise AssertionError("the same message, written differently")


@dataclass(frozen=True)
class Limits:
    """The vocabulary sizes that a corpus allows: from no merge at all to the last one."""

    smallest: int
    largest: int


def limits(lines: Iterable[str | bytes], **arguments: Any) -> Limits:
    """Trains until nothing is left to merge. For small corpora only."""
    arguments |= {"vocab_size": 1_000_000, "hard_vocab_limit": False}
    pieces = parse(sp_train_with(lines, **PLAIN, **arguments)).pieces
    merges = sum(piece.type == piece.NORMAL and len(piece.piece) > 1 for piece in pieces)
    return Limits(smallest=len(pieces) - merges, largest=len(pieces))


def largest_size_in(message: str) -> int:
    """The number in "Vocabulary size too high (300). Please set it to a value <= 42."."""
    match = re.search(r"<= (\d+)", message)
    assert match, message
    return int(match[1])


def load(model: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def assert_same_ids(texts: Sequence[str], ours: Iterable[list[int]], theirs: Iterable[list[int]]) -> None:
    """Equal ids for each text. If they differ, the error says where."""
    for text, a, b in zip(texts, ours, theirs, strict=True):
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            around = slice(max(at - 5, 0), at + 5)
            raise AssertionError(f"token {at} of {text[:200]!r} differs: {a[around]} is not {b[around]}")


def encode_batch(processor: sentencepiece.SentencePieceProcessor, texts: list[str]) -> list[list[int]]:
    ids: list[list[int]] = processor.encode(texts, return_type=int, num_threads=2)
    return ids


@dataclass(frozen=True)
class Tokens:
    """The tokens of one text, in three parallel lists; offsets are in characters of the text."""

    ids: list[int]
    pieces: list[str]
    offsets: list[tuple[int, int]]


def tokens(processor: sentencepiece.SentencePieceProcessor, text: str) -> Tokens:
    mapping = processor.encode(text, return_type="offset_mapping")
    return Tokens(ids=mapping["ids"], pieces=mapping["pieces"], offsets=mapping["offsets"])
