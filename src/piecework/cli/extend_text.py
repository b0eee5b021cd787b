"""What `piecework extend` reads: the text to learn from, and the text for estimates."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from piecework.cli.terminal import Terminal
from piecework.errors import InputError

if TYPE_CHECKING:
    from piecework.corpus.readers import TextUnit
    from piecework.evaluation.text_sample import TextSample
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["LearningText", "read_counts", "read_documents"]


@dataclass(frozen=True)
class LearningText:
    """The text to learn from: its counts, and functions that give its other counts and samples."""

    training: Any
    every_language: Callable[[], Any]
    """The counts of all languages. They decide which old pieces are replaced."""
    own_samples: Callable[[], dict[str, TextSample]]
    kind: str
    all_learned: bool
    """Whether every language of the text is learned from."""
    paths: Sequence[str | os.PathLike[str]] = field(default_factory=list)

    def source(self) -> Sequence[str | os.PathLike[str]]:
        """The options that name this text."""
        return self.paths

    def shown_on(self, eval_data: Sequence[Path]) -> str:
        """What text the estimates are from."""
        return "the documents of --eval" if eval_data else self.kind

    def samples(
        self, terminal: Terminal, eval_data: Sequence[Path], *, unit: TextUnit, field: str
    ) -> dict[str, TextSample]:
        """The text for estimates, by language."""
        if not eval_data:
            return self.own_samples()
        from piecework.cli.documents import read_texts

        return _document_samples(read_texts(terminal, eval_data, language=None, unit=unit, field=field))


def read_counts(
    folder: Path, tokenizer: Tokenizer | ByteLevelTokenizer, languages: Sequence[str] | None
) -> LearningText:
    """The counts of a study, or a file of pre-token counts."""
    if folder.is_file():
        from piecework.counting.pre_tokens import PreTokenCounts

        if languages:
            raise InputError(f"--languages: {folder} is one table of counts without languages")
        counts = PreTokenCounts.load(folder)
        return LearningText(counts, lambda: counts, dict, "no text: give --eval", True, ["--data", "FILE"])
    from piecework.counting.store import Counts
    from piecework.evaluation.text_sample import unit_sample
    from piecework.tokenizer.independent_units import units_problem

    stored = Counts.load(folder)
    unknown = [language for language in languages or () if language not in stored.languages]
    if unknown:
        raise InputError(f"--languages: no {unknown[0]!r} in {folder}; it has {', '.join(stored.languages)}")

    def samples() -> dict[str, TextSample]:
        if units_problem(tokenizer):
            return {}
        tables = {language: stored.evaluation([language]) for language in stored.languages}
        return {language: unit_sample(table) for language, table in tables.items() if table.num_rows}

    training = stored.training(language=list(languages) if languages else None)
    all_learned = languages is None or {*languages} == {*stored.languages}
    source: list[str | os.PathLike[str]] = ["--counts", folder]
    return LearningText(training, stored.training, samples, "the evaluation counts of the study", all_learned, source)


def read_documents(
    terminal: Terminal,
    paths: Sequence[Path],
    tokenizer: Tokenizer | ByteLevelTokenizer,
    languages: Sequence[str] | None,
    *,
    unit: TextUnit,
    field: str,
    threads: int,
) -> LearningText:
    """Documents by language, counted as the tokenizer needs it."""
    from piecework.cli.documents import read_texts
    from piecework.training.extension import count_for

    texts = read_texts(terminal, paths, language=None, unit=unit, field=field)
    unknown = [language for language in languages or () if language not in texts]
    if unknown:
        raise InputError(f"--languages: no file names {unknown[0]!r}; the files name {', '.join(sorted(texts))}")

    def counted(chosen: Sequence[str]) -> Any:
        return count_for(tokenizer, [text for name in chosen for text in texts[name]], threads=threads)

    source = [part for path in paths for part in ("--data", path)]
    return LearningText(
        counted(languages or list(texts)),
        lambda: counted(list(texts)),
        lambda: _document_samples(texts),
        "the documents of --data, some of which were learned from",
        languages is None or {*languages} == {*texts},
        source,
    )


def _document_samples(texts: dict[str, list[str]]) -> dict[str, TextSample]:
    from piecework.evaluation.text_sample import document_sample

    return {language: document_sample(documents) for language, documents in sorted(texts.items())}
