"""The tokenizers of the playground: by name, at any size, with the study they come from."""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from piecework.common.known_tokenizers import resolve_source
from piecework.common.terms import MULTILINGUAL
from piecework.errors import InputError
from piecework.playground.byte_level_cuts import SizedByteLevel
from piecework.playground.cuts import SizedTokenizer
from piecework.results.folder import TOKENIZERS_FOLDER, StudyFolder
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.byte_level import ByteLevelTokenizer
from piecework.tokenizer.load import load_tokenizer
from piecework.tokenizer.pieces import Group, piece_group
from piecework.tokenizer.tokens import Tokens
from piecework.tokenizer.trained import TrainedTokenizer
from piecework.training.frequencies import read_frequencies

if TYPE_CHECKING:
    from piecework.evaluation.units import UnitSource

__all__ = ["Catalogue", "LaneTokenizer", "NativeTokenizer"]

SPECIAL = re.compile(r"<\|.+\|>|<[a-z]+>|\[[A-Z]+\]")

KEPT_SIZES = 8
"""Resized tokenizers that are kept: two for each of four lanes. At 64,000 pieces each takes some 25 MB."""


class LaneTokenizer:
    """A tokenizer as a lane shows it: its tokens are known, its merges are not."""

    def __init__(self, tokenizer: AnyTokenizer) -> None:
        self._any = tokenizer
        self.vocab_size = tokenizer.vocab_size
        self.byte_ids = tokenizer.byte_ids
        """The ids of byte pieces, which are drawn in a box."""
        self.unknown_ids = tokenizer.unknown_ids

    @property
    def pieces(self) -> Sequence[str]:
        """The vocabulary in the order of ids."""
        return self._any.piece_texts

    @property
    def rows(self) -> list[tuple[str, float | None, Group]]:
        """Piece, score (or None) and group of each id, in order."""
        return [(text, None, self._group(number)) for number, text in enumerate(self.pieces)]

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text with their offsets."""
        return self._any.tokens_batch([text])[0]

    def _group(self, piece_id: int) -> Group:
        text = self.pieces[piece_id]
        if piece_id in self.unknown_ids or SPECIAL.fullmatch(text):
            return "special"
        return "byte" if piece_id in self.byte_ids else piece_group(text, "normal")


class ResizedTokenizers:
    """A cache of resized tokenizers, the most recently used ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], NativeTokenizer] = OrderedDict()

    def get(self, name: str, tokenizer: TrainedTokenizer, vocab_size: int) -> NativeTokenizer:
        """A tokenizer at a size."""
        with self._lock:
            if (name, vocab_size) not in self._kept:
                self._kept[name, vocab_size] = NativeTokenizer(tokenizer.resize(vocab_size), name=name)
                while len(self._kept) > KEPT_SIZES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end((name, vocab_size))
            return self._kept[name, vocab_size]


class NativeTokenizer(LaneTokenizer):
    """A tokenizer of ours, any SentencePiece BPE model, or a byte-level tokenizer: its merges and sizes are known."""

    def __init__(self, tokenizer: TrainedTokenizer, *, name: str) -> None:
        super().__init__(tokenizer)
        self.tokenizer = tokenizer
        self.smaller = ResizedTokenizers()
        """Shared by all tokenizers of a catalogue, so that one limit holds for all."""
        self._name = name
        self._lock = threading.Lock()
        self._sized: SizedTokenizer | SizedByteLevel | InputError | None = None

    @property
    def rows(self) -> list[tuple[str, float | None, Group]]:
        """Piece, score and group of each id, in order."""
        scored = not isinstance(self.tokenizer, ByteLevelTokenizer)
        return [(piece.text, piece.score if scored else None, piece.group) for piece in self.tokenizer.pieces]

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text with their offsets.

        If byte pieces spell a character, only the last one covers it. Byte-level tokens that share a character all
        cover it.
        """
        return self.tokenizer.token_columns(text)

    def sized(self) -> SizedTokenizer | SizedByteLevel:
        """The tokenizer with its smaller sizes; an InputError says why it has none."""
        with self._lock:
            if self._sized is None:
                try:
                    if isinstance(self.tokenizer, ByteLevelTokenizer):
                        self._sized = SizedByteLevel(self.tokenizer, name=self._name)
                    else:
                        self._sized = SizedTokenizer(self.tokenizer, name=self._name)
                except InputError as error:
                    self._sized = error
        if isinstance(self._sized, InputError):
            raise self._sized
        return self._sized

    @property
    def smallest(self) -> int | None:
        """The smallest vocabulary size, or None if there is only one."""
        try:
            return self.sized().sizes.smallest
        except InputError:
            return None

    def resized(self, vocab_size: int | None) -> NativeTokenizer:
        """The tokenizer at another size."""
        if vocab_size is None or vocab_size == self.vocab_size:
            return self
        self.sized()
        return self.smaller.get(self._name, self.tokenizer, vocab_size)


def load_lane_tokenizer(source: str | os.PathLike[str], *, name: str) -> LaneTokenizer:
    """Loads a tokenizer from a file or folder of any supported library, or an encoding of tiktoken."""
    return lane_tokenizer(load_tokenizer(source), name=name)


def lane_tokenizer(tokenizer: AnyTokenizer, *, name: str) -> LaneTokenizer:
    """A tokenizer for a lane, with its merges if they are known."""
    return (
        NativeTokenizer(tokenizer, name=name) if isinstance(tokenizer, TrainedTokenizer) else LaneTokenizer(tokenizer)
    )


class Catalogue:
    """Tokenizers by name, each loaded on first use.

    >>> import piecework as pw
    >>> tokenizer = pw.train(pw.count_words(["ha ha"]), pw.Recipe(vocab_size=8))
    >>> catalogue = Catalogue({"small": lambda: NativeTokenizer(tokenizer, name="small")})
    >>> catalogue.names, catalogue["small"].vocab_size
    (['small'], 8)
    """

    def __init__(
        self,
        loaders: Mapping[str, Callable[[], LaneTokenizer]],
        *,
        paths: Mapping[str, Path] | None = None,
        study: StudyFolder | None = None,
        counts: UnitSource | None = None,
    ) -> None:
        if not loaders:
            raise InputError("no tokenizer; give a study's folder, or .model files")
        self._loaders = dict(loaders)
        self._loaded: dict[str, LaneTokenizer] = {}
        self._smaller = ResizedTokenizers()
        self._lock = threading.Lock()
        self._paths = dict(paths or {})
        self.study = study
        self.known: list[str] = []
        """The tokenizers that `add_known` has added."""
        self._counts = counts

    @classmethod
    def from_study(cls, study: StudyFolder) -> Catalogue:
        """The tokenizers of a study."""

        def loader(name: str) -> Callable[[], LaneTokenizer]:
            return lambda: lane_tokenizer(study.tokenizer(name), name=name)

        def outside(name: str, source: str) -> Callable[[], LaneTokenizer]:
            return lambda: load_lane_tokenizer(source, name=name)

        paths = {name: study.folder / TOKENIZERS_FOLDER / name for name in study.tokenizers}
        loaders = {name: loader(name) for name in study.tokenizers}
        for name, further in study.recipes.items():
            paths[name] = further.folder / TOKENIZERS_FOLDER / MULTILINGUAL
            loaders[name] = _of_recipe(further, name)
        for name, source in study.study.analysis.tokenizers.items():
            paths[name] = Path(resolve_source(source, study.study.folder))
            loaders[name] = outside(name, str(paths[name]))
        return cls(loaders, paths=paths, study=study)

    @classmethod
    def from_models(
        cls, sources: Mapping[str, str | os.PathLike[str]], *, counts: UnitSource | None = None
    ) -> Catalogue:
        """Tokenizers by name, all loaded at once, so that a mistake is reported before the page opens."""
        loaded = {name: load_lane_tokenizer(source, name=name) for name, source in sources.items()}
        paths = {name: Path(source) for name, source in sources.items()}
        return cls({name: _given(tokenizer) for name, tokenizer in loaded.items()}, paths=paths, counts=counts)

    def add_known(self, sources: Mapping[str, str]) -> None:
        """Offer tokenizers that are already on this machine; they are loaded on first use."""

        def loader(name: str, source: str) -> Callable[[], LaneTokenizer]:
            return lambda: load_lane_tokenizer(source, name=name)

        for name, source in sources.items():
            if name not in self._loaders:
                self._loaders[name] = loader(name, source)
                self._paths[name] = Path(source)
                self.known.append(name)

    @property
    def names(self) -> list[str]:
        """The names of the tokenizers, in order."""
        return list(self._loaders)

    def __getitem__(self, name: str) -> LaneTokenizer:
        if name not in self._loaders:
            raise InputError(f'no tokenizer "{name}"; there is {", ".join(self._loaders)}')
        with self._lock:
            if name not in self._loaded:
                tokenizer = self._loaded[name] = self._loaders[name]()
                if isinstance(tokenizer, NativeTokenizer):
                    tokenizer.smaller = self._smaller
            return self._loaded[name]

    def native(self, name: str) -> NativeTokenizer:
        """A tokenizer whose merges are known, or an InputError."""
        tokenizer = self[name]
        if not isinstance(tokenizer, NativeTokenizer):
            raise InputError(f'"{name}" is a tokenizer of another library: its merges and sizes are not known')
        return tokenizer

    @cached_property
    def counts(self) -> UnitSource | None:
        """Counts to evaluate on, if there are any."""
        if self._counts is not None:
            return self._counts
        return self.study.counts if self.study is not None else None

    def counts_for(self, name: str) -> UnitSource | None:
        """Counts to evaluate a tokenizer on; a further recipe has its own."""
        if self._counts is None and self.study is not None and name in self.study.recipes:
            return self.study.recipes[name].counts
        return self.counts

    def path(self, name: str) -> str:
        """The path or name that a tokenizer was loaded from."""
        return str(self._paths.get(name, name))

    @cache  # noqa: B019  # one catalogue lives as long as its server
    def frequencies(self, name: str) -> Mapping[str, int] | None:
        """How often training saw the pair of each merge, if the study recorded it."""
        # Smaller sizes have the first merges of the multilingual tokenizer.
        source = MULTILINGUAL if self.study is not None and name.startswith(f"{MULTILINGUAL}-") else name
        path = self._paths.get(source)
        if path is None:
            return None
        return read_frequencies(path if path.is_dir() else path.parent)


def _of_recipe(study: StudyFolder, name: str) -> Callable[[], LaneTokenizer]:
    return lambda: lane_tokenizer(study.tokenizer(), name=name)


def _given(tokenizer: LaneTokenizer) -> Callable[[], LaneTokenizer]:
    return lambda: tokenizer
