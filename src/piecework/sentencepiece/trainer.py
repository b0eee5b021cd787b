"""SentencePiece's trainer for BPE: the same arguments, files and bytes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from piecework.common.recorded_files import update_recorded
from piecework.corpus.streams import ByteStream, whole_lines
from piecework.counting.words import WordCounter, WordCounts
from piecework.errors import InputError, PieceworkError, VocabularyTooLargeError
from piecework.sentencepiece.arguments import parse_arguments, split_flags
from piecework.study.recipe import Recipe
from piecework.tokenizer.tokenizer import Tokenizer
from piecework.training.trainer import train

__all__ = ["SentencePieceTrainer", "TrainedModel", "train_model"]

Progress = Callable[[int, int], None]

_BLOCK_BYTES = 8 << 20
_MAX_SENTENCE_LENGTH = 4192
# SentencePiece's own defaults. They are not written into the model's specs.
_DEFAULTS = {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True}
# Without effect on the merges of given sentences. SentencePiece checks the limits of some, and writes these into the
# model.
_NO_EFFECT: dict[str, tuple[float, float] | None] = {
    "input": None,
    "input_sentence_size": None,
    "model_prefix": None,
    "num_sub_iterations": (1, 10),
    "num_threads": (1, 1024),
    "seed_sentencepiece_size": None,
    "shrinking_factor": (0.5, 0.95),
    "shuffle_input_sentence": None,
    "vocabulary_output_piece_score": None,
}
# SentencePiece ignores these.
_IGNORED = {
    "accept_language",
    "differential_privacy_clipping_threshold",
    "differential_privacy_noise_level",
    "enable_differential_privacy",
    "mining_sentence_size",
    "self_test_sample_size",
    "train_extremely_large_corpus",
    "training_sentence_size",
}
# Accepted with these values only; for any other the reason says why.
_ONLY: dict[str, tuple[tuple[object, ...], str]] = {
    "model_type": (("bpe",), "Piecework trains BPE models; other models need the package sentencepiece"),
    "input_format": (("", "text", "tsv"), "the formats are text and tsv"),
    "use_all_vocab": ((False,), "it is for word and character models"),
    "seed_sentencepieces_file": (("",), "it is for unigram models"),
}


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """What training writes: the two files, and how many lines it left out."""

    model: bytes
    """The `.model` file."""
    vocab: bytes
    """The `.vocab` file."""
    long_lines: int
    """Lines longer than `max_sentence_length`, which are left out as in SentencePiece."""
    dropped_lines: int
    """Lines with ▅, SentencePiece's own mark for unknown characters."""


class ModelWriter(Protocol):
    """What a trained model is written to, such as `io.BytesIO`."""

    def write(self, data: bytes, /) -> object:
        """Takes the bytes of the model."""


def train_model(
    arguments: Mapping[str, object],
    *,
    sentences: Iterable[str | bytes] | None = None,
    progress: Progress | None = None,
) -> TrainedModel:
    """Train on the files in `arguments["input"]`, or on `sentences`, as `spm_train` does with these arguments.

    Raises what the package `sentencepiece` raises: ValueError for a value that cannot be parsed, RuntimeError for a
    setting that cannot be used, and NotImplementedError, which is a RuntimeError, for what Piecework does not have.

    >>> trained = train_model({"model_type": "bpe", "vocab_size": 9, "normalization_rule_name": "identity",
    ...     "remove_extra_whitespaces": False}, sentences=["ha hade"])
    >>> trained.vocab.decode().split("\\n")[3]
    'ha\\t-0'
    """
    given = parse_arguments(arguments)
    if given.get("normalization_rule_name") == "":
        del given["normalization_rule_name"]  # an empty name is the default's, in SentencePiece too
    settings = _settings(given)
    if (sentences is None) == (not given.get("input")):
        raise RuntimeError("give either input or sentence_iterator: files, or an iterator of sentences")
    try:
        recipe = Recipe(**{**_DEFAULTS, **settings})
        longest = given.get("max_sentence_length", _MAX_SENTENCE_LENGTH)
        is_tsv = given.get("input_format") == "tsv"
        texts: Iterable[str | bytes] = _file_blocks(given["input"]) if sentences is None else map(_stripped, sentences)
        counter = WordCounter(max_sentence_length=longest, normalization=recipe.normalization(), split=recipe.split())
        if size := _sentence_limit(given):
            usable = _usable(_single_lines(texts), longest, is_tsv=is_tsv)
            texts = _sample(usable, size, shuffle=given.get("shuffle_input_sentence", True))
        counts = _count_weighted(_single_lines(texts), counter) if is_tsv else _count(texts, counter)
        tokenizer = train(counts, recipe, progress=progress)
    except VocabularyTooLargeError as error:
        raise RuntimeError(
            f"Vocabulary size too high ({recipe.vocab_size}). Please set it to a value <= {error.largest}."
        ) from error
    except PieceworkError as error:
        raise RuntimeError(str(error)) from error
    return TrainedModel(
        _model_bytes(tokenizer, given),
        _vocab_bytes(tokenizer, with_scores=given.get("vocabulary_output_piece_score", True)),
        long_lines=counts.long_lines,
        dropped_lines=counts.dropped_lines,
    )


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are settings of a recipe; what cannot be honoured is refused."""
    settings: dict[str, Any] = {}
    for name, value in {"model_type": "unigram", **given}.items():
        limits = _NO_EFFECT.get(name)
        if limits is not None and not limits[0] <= value <= limits[1]:
            raise RuntimeError(f"{name} = {value!r} is not between {limits[0]} and {limits[1]}")
        if name in _ONLY and value not in _ONLY[name][0]:
            raise NotImplementedError(f"{name} = {value!r} is not supported: {_ONLY[name][1]}")
        if name in Recipe.model_fields:
            settings[name] = value
        elif name not in {*_ONLY, *_NO_EFFECT, *_IGNORED}:
            raise NotImplementedError(f"{name} = {value!r} is not supported for BPE")
    return settings


def _file_blocks(paths: list[str]) -> Iterator[bytes]:
    """The files in blocks of whole lines. A file's last line ends with the file.

    SentencePiece reads a last line without a line break once more for each empty file after it, except the last file.
    """
    last_line = b""
    for number, path in enumerate(paths, 1):
        is_empty = True
        for block in whole_lines(iter(ByteStream(Path(path))), _BLOCK_BYTES, max_line_bytes=sys.maxsize):
            is_empty, last_line = False, block.data[block.data.rfind(b"\n", 0, -1) + 1 :]
            yield block.data
        if is_empty and number < len(paths) and not last_line.endswith(b"\n"):
            yield last_line


def _sentence_limit(given: Mapping[str, Any]) -> int:
    """The most sentences to take; 0 for all."""
    size = int(given.get("input_sentence_size", 0))
    if 0 < size <= 100:
        raise RuntimeError(f"input_sentence_size = {size} must be 0 or more than 100")
    return max(size, 0)


def _sample(sentences: Iterable[bytes], size: int, *, shuffle: bool) -> Iterator[bytes]:
    """The first sentences. With `shuffle` all of them; more than `size` are refused."""
    rest = iter(sentences)
    yield from islice(rest, size)
    if shuffle and next(rest, None) is not None:
        raise NotImplementedError(
            f"input_sentence_size = {size} with shuffle_input_sentence = true is not supported for more sentences than"
            " that: SentencePiece draws another sample in each process, whatever the seed. Counting needs little"
            " memory: leave it out to train on all sentences, or set shuffle_input_sentence=false for the first ones"
        )


def _count(texts: Iterable[str | bytes], counter: WordCounter) -> WordCounts:
    batch: list[str | bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _BLOCK_BYTES or len(batch) >= 65_536:
            counter.add(batch)
            batch, size = [], 0
    counter.add(batch)
    return counter.finish()


def _count_weighted(lines: Iterable[bytes], counter: WordCounter) -> WordCounts:
    """Count lines of the format tsv."""
    for line in lines:
        sentence, count = _weighted(line)
        counter.add([sentence], copies=count)
    return counter.finish()


def _weighted(line: bytes) -> tuple[bytes, int]:
    """A line of the format tsv: a sentence, a tab, how often it counts."""
    parts = line.split(b"\t")
    if len(parts) != 2:
        raise RuntimeError(
            f"input_format = tsv needs a sentence, a tab and a count: {line[:100].decode(errors='replace')}"
        )
    if not re.fullmatch(rb"\s*\+?[0-9]+\s*", parts[1]) or not 1 <= int(parts[1]) < 1 << 63:
        raise RuntimeError(f"input_format = tsv: the count {parts[1].decode(errors='replace')!r} is not 1 or more")
    return parts[0], int(parts[1])


def _single_lines(texts: Iterable[str | bytes]) -> Iterator[bytes]:
    """The lines of the texts that are not empty."""
    for text in texts:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        yield from (line for line in data.split(b"\n") if line)


def _usable(lines: Iterable[bytes], max_sentence_length: int, *, is_tsv: bool) -> Iterator[bytes]:
    """The sentences that count towards `input_sentence_size`: neither empty, nor too long, nor with ▅."""
    for line in lines:
        sentence = _weighted(line)[0] if is_tsv else line
        if sentence and len(sentence) <= max_sentence_length and "▅".encode() not in sentence:
            yield line


def _stripped(sentence: str | bytes) -> str | bytes:
    """A sentence without the line break at its end. A line break inside is refused: no word can contain it."""
    if not isinstance(sentence, str | bytes):
        raise ValueError(f"the iterator must return str or bytes, not {type(sentence).__name__}")
    sentence = sentence.rstrip("\r\n") if isinstance(sentence, str) else sentence.rstrip(b"\r\n")
    if ("\n" in sentence) if isinstance(sentence, str) else (b"\n" in sentence):
        raise NotImplementedError("a sentence has a line break inside; give each line as a sentence of its own")
    return sentence


def _model_bytes(tokenizer: Tokenizer, given: Mapping[str, Any]) -> bytes:
    """The model with the specs that SentencePiece writes: every argument that was given, and no other."""
    specs = deepcopy(tokenizer._specs)
    for name, value in given.items():
        if name in Recipe.model_fields or name == "model_type" or name in _IGNORED:
            continue
        spec = specs.trainer_spec if name in specs.trainer_spec.DESCRIPTOR.fields_by_name else specs.normalizer_spec
        if isinstance(value, list):
            getattr(spec, name).extend(value)
        else:
            setattr(spec, name, value)
    if "vocab_size" not in given:
        specs.trainer_spec.ClearField("vocab_size")
    if "remove_extra_whitespaces" not in given:
        specs.normalizer_spec.ClearField("remove_extra_whitespaces")
    data: bytes = specs.SerializeToString(deterministic=True)
    return tokenizer._vocabulary.to_bytes() + data


def _vocab_bytes(tokenizer: Tokenizer, *, with_scores: bool) -> bytes:
    if with_scores:
        return tokenizer._vocabulary.vocab_text()
    return "".join(f"{text}\n" for text in tokenizer._texts).encode()


class SentencePieceTrainer:
    """`sentencepiece.SentencePieceTrainer` for BPE models.

    >>> import io
    >>> model = io.BytesIO()
    >>> SentencePieceTrainer.train(
    ...     sentence_iterator=iter(["ha hade"]), model_writer=model, model_type="bpe", vocab_size=9,
    ...     normalization_rule_name="identity", remove_extra_whitespaces=False,
    ... )
    >>> model.getvalue()[:9]
    b'\\n\\x0e\\n\\x05<unk>'
    """

    @staticmethod
    def train(
        arg: str | None = None,
        logstream: BinaryIO | None = None,  # noqa: ARG004  # accepted, as there is nothing to log
        *,
        sentence_iterator: Iterator[str | bytes] | None = None,
        sentence_reader: Iterator[str | bytes] | None = None,
        model_writer: ModelWriter | None = None,
        **arguments: object,
    ) -> bool | None:
        """Train from keywords, or from a string of flags such as "--input=a.txt --model_prefix=m --model_type=bpe".

        The model goes to `model_writer`, or to the files `model_prefix`.model and .vocab. There is no log, so nothing
        is written to `logstream`.
        """
        for name in ("pretokenizer", "normalizer"):
            if arguments.pop(name, None) is not None:
                raise NotImplementedError(f"{name} is not supported: training reads word counts")
        arguments.pop("allow_inconsistent_pretokenization", None)
        if isinstance(arg, str):
            sentence_iterator = sentence_reader = model_writer = None
            arguments = dict(split_flags(arg))
        arguments.pop("minloglevel", None)
        sentences = sentence_iterator if sentence_iterator is not None else sentence_reader
        if sentences is not None and not isinstance(sentences, Iterator):
            raise TypeError(f"sentence_iterator must be an iterator, not {type(sentences).__name__}; write iter(...)")
        prefix = str(arguments.get("model_prefix", ""))
        if (model_writer is None) == (not prefix):
            raise RuntimeError("give either model_prefix or model_writer: names of files, or an object to write to")
        trained = train_model(arguments, sentences=sentences)
        if model_writer is not None:
            model_writer.write(trained.model)
            return None
        try:
            update_recorded({Path(f"{prefix}.model"): trained.model, Path(f"{prefix}.vocab"): trained.vocab})
        except InputError as error:
            raise RuntimeError(str(error)) from error
        return True if isinstance(arg, str) else None

    Train = train
