"""One tokenizer: load, save, resize, pickle, show."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from weakref import ref

from piecework._core import CoreModelError, Vocabulary
from piecework.common.files import check_output
from piecework.common.recorded_files import read_recorded, write_recorded
from piecework.errors import InputError, ModelError
from piecework.tokenizer.assembly import WHITESPACE_RUNS, VocabularyParts, assemble, disassemble
from piecework.tokenizer.base import BaseTokenizer
from piecework.tokenizer.hf_files import hf_files
from piecework.tokenizer.schema import check_bpe, parse_specs
from piecework.tokenizer.token_view import TokenView

__all__ = ["Tokenizer"]

_MODEL_FILES = ("tokenizer.model", "tokenizer.vocab")


class Tokenizer(BaseTokenizer):
    """A BPE tokenizer, ours or any SentencePiece BPE model, with the ids that SentencePiece gives.

    >>> import piecework as pw
    >>> counts = pw.count_words(["den som väntar på något gott väntar aldrig för länge"])
    >>> tokenizer = pw.train(counts, pw.Recipe(vocab_size=40))
    >>> tokenizer.encode_pieces("som väntar")
    ['▁', 's', 'om', '▁väntar']
    >>> tokenizer.decode(tokenizer.encode("som väntar"))
    'som väntar'
    """

    _resized_from: ref[Tokenizer] | None = None
    extended_from: int | None = None
    """The size of the tokenizer that this one extends, if known: smaller sizes go down to it."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The tokenizer in a `.model` file, or in a folder that holds a `tokenizer.model`."""
        path = Path(path)
        if path.is_dir():
            path = path / "tokenizer.model"
        try:
            data = read_recorded(path)
        except FileNotFoundError as error:
            is_json = (path.parent / "tokenizer.json").is_file()
            hint = (
                "; the folder has a tokenizer.json: ByteLevelTokenizer.load reads a byte-level one" if is_json else ""
            )
            raise InputError(f"{path}: no such model file{hint}") from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        return cls.from_bytes(data, source=str(path))

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "the model") -> Self:
        """The tokenizer in the bytes of a `.model` file."""
        return cls._from_specs(parse_specs(data, source=source), data, source=source)

    @classmethod
    def _from_specs(cls, specs: Any, data: bytes, *, source: str) -> Self:
        """The tokenizer in the bytes of a model whose specs are parsed."""
        check_bpe(specs, source=source)
        try:
            vocabulary = Vocabulary.read(data)
        except CoreModelError as error:
            raise ModelError(f"{source}: {error}") from error
        tokenizer = cls(vocabulary, specs, source=source, model_bytes=data)
        tokenizer._encoder  # noqa: B018  # refuses a damaged model here, not at the first text
        return tokenizer

    def save(self, folder: str | Path, *, force: bool = False, chat_template: str | None = None) -> Path:
        """Write the model for SentencePiece and for `transformers` into `folder`; gives the model's path.

        `AutoTokenizer.from_pretrained(folder)` then gives the same ids. `chat_template` is a Jinja template for its
        `apply_chat_template`. A model that `transformers` cannot express is saved for SentencePiece alone, with a
        warning.

        >>> import tempfile, piecework as pw
        >>> model = pw.train(["ha hade"], vocab_size=9).save(tempfile.mkdtemp())
        >>> sorted(path.name for path in model.parent.iterdir())[:3]
        ['SHA256SUMS', 'special_tokens_map.json', 'tokenizer.json']
        """
        folder = Path(folder)
        contents = {"tokenizer.model": self.model_bytes, "tokenizer.vocab": self._vocabulary.vocab_text()}
        try:
            contents |= hf_files(self, chat_template=chat_template)
        except ModelError as error:
            warnings.warn(f"{folder}: saved for SentencePiece alone: {error}", stacklevel=2)
        check_output(folder, _MODEL_FILES, force=force)  # the usual refusal names these two
        write_recorded(folder, contents, force=force)
        return folder / "tokenizer.model"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.model_bytes, self._source, self.frequencies, self.extended_from)

    def __repr__(self) -> str:
        groups = ", ".join(f"{group.count:,} {group.name}" for group in self.groups())
        return f"Tokenizer({self.vocab_size:,} pieces: {groups})"

    def _repr_html_(self) -> str:
        """A table of the vocabulary's groups, for notebooks."""
        rows = "".join(
            f"<tr><td>{group.name}</td><td>{group.count:,}</td>"
            f"<td>{' '.join(f'<code>{html.escape(text)}</code>' for text in group.examples)}</td></tr>"
            for group in self.groups()
        )
        return (
            f"<p><b>Tokenizer</b> with {self.vocab_size:,} pieces ({self.kind})</p>"
            f"<table><tr><th>group</th><th>pieces</th><th>examples</th></tr>{rows}</table>"
        )

    def show(self, text: str) -> TokenView:
        """The tokens of `text` as a notebook shows them: the text with a background for each token.

        >>> import piecework as pw
        >>> pw.train(["ha hade"], vocab_size=9).show("ha hah")
        ▁ ha ▁ ha h  (5 tokens)
        """
        return TokenView(text, tuple(self.tokens(text)))

    @cached_property
    def _parts(self) -> VocabularyParts:
        """The parts that the vocabulary is assembled from. Resizing to several sizes reads them once."""
        return disassemble(self._vocabulary, self._texts)

    @property
    def _is_as_trained(self) -> bool:
        """Whether training can have made the vocabulary, so that it has smaller sizes."""
        try:
            self._parts  # noqa: B018
        except InputError:
            return False
        return True

    def resize(self, vocab_size: int) -> Tokenizer:
        """The tokenizer that training at `vocab_size` would give, without training: merges nest.

        A vocabulary that is not as training makes it, because it was edited for example, is refused.

        >>> import piecework as pw
        >>> counts = pw.count_words(["a rose is a rose is a rose"])
        >>> large, small = (pw.train(counts, pw.Recipe(vocab_size=size)) for size in (15, 12))
        >>> large.resize(12).model_bytes == small.model_bytes
        True
        """
        if self.extended_from is not None:
            return self._without_last(vocab_size)
        if self._specs.trainer_spec.auto_character_coverage:
            raise InputError(
                f"cannot resize to {vocab_size:,}: the model was trained with auto_character_coverage, where a smaller"
                " size is no part of a larger one; train at that size"
            )
        try:
            parts = self._parts
        except InputError as error:
            raise InputError(f"cannot resize to {vocab_size:,}: {error}") from error
        fixed = len(parts.meta) + len(parts.characters) + (len(WHITESPACE_RUNS) if parts.runs else 0)
        kept = vocab_size - fixed
        if kept > len(parts.merges):
            raise InputError(f"cannot resize to {vocab_size:,}: the vocabulary has {self.vocab_size:,} pieces")
        if kept < 0:
            raise InputError(f"cannot resize to {vocab_size:,}: special pieces and characters alone take {fixed:,}")
        merges = parts.merges[:kept]
        vocabulary, texts = assemble(replace(parts, merges=merges))
        specs = deepcopy(self._specs)
        specs.ClearField("self_test_data")  # samples of the ids of this size
        specs.trainer_spec.vocab_size = len(texts)
        known = self.frequencies
        frequencies = None if known is None else {merge: known[merge] for merge in merges if merge in known}
        resized = Tokenizer(vocabulary, specs, frequencies=frequencies, texts=texts)
        resized._resized_from = ref(self)
        return resized

    def _without_last(self, vocab_size: int) -> Tokenizer:
        """An extended tokenizer with fewer new pieces: the last ids are those of the pieces that were learned last."""
        smallest = self.extended_from or 0
        if not smallest <= vocab_size <= self.vocab_size:
            raise InputError(
                f"cannot resize to {vocab_size:,}: the tokenizer extends one of {smallest:,} pieces to"
                f" {self.vocab_size:,}; choose a size between them"
            )
        specs = deepcopy(self._specs)
        specs.ClearField("self_test_data")
        specs.trainer_spec.vocab_size = vocab_size
        texts, scores = self._texts[:vocab_size], self._vocabulary.scores[:vocab_size]
        vocabulary = Vocabulary(texts, scores, list(self._vocabulary.types[:vocab_size]))
        resized = Tokenizer(vocabulary, specs, texts=texts)
        resized._resized_from, resized.extended_from = ref(self), smallest
        return resized


def _unpickle(
    data: bytes, source: str, frequencies: Mapping[str, int] | None, extended_from: int | None = None
) -> Tokenizer:
    tokenizer = Tokenizer.from_bytes(data, source=source)
    tokenizer.extended_from = extended_from
    tokenizer.frequencies = frequencies
    return tokenizer
