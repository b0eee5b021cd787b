"""What extending changed: estimates by language and by number of pieces, and words that are split differently."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from piecework.cli.output import indented, new_table, stdout_console

if TYPE_CHECKING:
    from piecework.corpus.parallel_text import ParallelText
    from piecework.evaluation.growth import Growth
    from piecework.evaluation.tables import Table
    from piecework.evaluation.text_sample import TextSample
    from piecework.training.new_piece import Extended

__all__ = ["ExtensionEstimates", "estimate_extension", "show_estimates"]

_WORDS = 5


@dataclass(frozen=True)
class ExtensionEstimates:
    """The numbers of an extension."""

    growths: Mapping[str, Growth]
    added: int
    replaced: bool
    words: Table | None
    """Frequent words that are split differently."""
    parallel: Table | None
    unasked: Sequence[str]
    """Languages that were not learned from."""

    def listed(self) -> list[int]:
        """The numbers of new pieces to show: 0, then all of them halved several times."""
        if self.replaced:
            return []
        return sorted({0, self.added, *(self.added >> shift for shift in range(1, 6))})

    def rows(self) -> list[dict[str, Any]]:
        """A row for each language: tokens per word and bytes per token before and after, with intervals."""
        rows = []
        for language, found in self.growths.items():
            words, size, before = float(found.words.sum()), float(found.bytes.sum()), float(found.before.sum())
            after = float(found.tokens[:, -1].sum())
            rows.append(
                {
                    "language": language,
                    "tokens_per_word_before": before / words if words else None,
                    "interval_before": found.interval_before(),
                    "tokens_per_word_after": after / words if words else None,
                    "interval_after": found.interval(self.added),
                    "bytes_per_token_before": size / before if before else None,
                    "bytes_per_token_after": size / after if after else None,
                    "length": after / before if before else None,
                    "interval_length": found.length_interval(),
                }
            )
        return rows

    def curve(self) -> list[dict[str, Any]]:
        """Tokens per word for the listed numbers of pieces."""
        return [
            {
                "added": number,
                "language": language,
                "tokens_per_word": float(found.tokens_per_word()[number]),
                "interval": found.interval(number),
            }
            for language, found in self.growths.items()
            for number in self.listed()
        ]

    def record(self) -> dict[str, Any]:
        """All numbers for programs; growth.csv has every number of pieces."""
        return {
            "languages": self.rows(),
            "curve": self.curve(),
            "changed_words": self.words.rows() if self.words is not None else [],
            **({"parallel": self.parallel.rows()} if self.parallel is not None else {}),
        }

    def csv(self) -> str:
        """Tokens per word of each language for every number of added pieces."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["added", *self.growths])
        columns = [found.tokens_per_word().tolist() for found in self.growths.values()]
        if columns and not self.replaced:
            writer.writerows([number, *values] for number, values in enumerate(zip(*columns, strict=True)))
        return out.getvalue()


def estimate_extension(
    extended: Extended[Any],
    samples: Mapping[str, TextSample],
    parallel: ParallelText | None,
    *,
    changed: Sequence[str] | None,
    threads: int,
) -> ExtensionEstimates:
    """Encode the samples once, and derive every number."""
    from piecework.evaluation.cut_words import cut_words
    from piecework.evaluation.growth import growth
    from piecework.evaluation.parallel import evaluate_parallel

    both = {"before": extended.base, "after": extended.tokenizer}
    unasked = [language for language in samples if changed is not None and language not in changed]
    words = {language: samples[language].words() for language in unasked or samples}
    return ExtensionEstimates(
        growth(extended, samples, threads=threads),
        len(extended.added),
        bool(extended.dropped),
        cut_words(both, words, limit=_WORDS) if words else None,
        evaluate_parallel(both, parallel.lines, pivot=parallel.pivot) if parallel else None,
        unasked,
    )


def show_estimates(found: ExtensionEstimates, *, shown_on: str) -> None:
    """Write the tables to stdout."""
    from rich.console import Group
    from rich.text import Text

    if not found.growths:
        stdout_console().print("no text for estimates: give --eval FILE")
        return
    parts: list[Any] = [Text("Before and after", style="bold"), indented(_languages(found)), ""]
    if found.listed():
        parts += [Text("Tokens per word by number of new pieces", style="bold"), indented(_curve(found)), ""]
    if found.parallel is not None:
        from piecework.cli.evaluation_tables import parallel_table

        parts += [Text("Premium on parallel text", style="bold"), *map(indented, parallel_table(found.parallel)), ""]
    if found.words is not None and found.words.rows():
        title = "Frequent words that are split differently"
        if found.unasked:
            title += f", in languages that were not learned from ({', '.join(found.unasked)})"
        parts += [Text(title, style="bold"), indented(_words(found.words)), ""]
    parts.append(Text(f"on {shown_on}; 95 % intervals in brackets", style="dim"))
    stdout_console().print(Group(*parts))


def _value(value: float | None, interval: tuple[float, float] | None = None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def _languages(found: ExtensionEstimates) -> Any:
    table = new_table()
    for name in ("language", "tokens per word", "after", "bytes per token", "after", "tokens after / before"):
        table.add_column(name, justify="left" if name == "language" else "right", no_wrap=True)
    for row in found.rows():
        table.add_row(
            row["language"],
            _value(row["tokens_per_word_before"], row["interval_before"]),
            _value(row["tokens_per_word_after"], row["interval_after"]),
            _value(row["bytes_per_token_before"]),
            _value(row["bytes_per_token_after"]),
            _value(row["length"], row["interval_length"]),
        )
    return table


def _curve(found: ExtensionEstimates) -> Any:
    table = new_table()
    table.add_column("language")
    for number in found.listed():
        table.add_column(f"+{number:,}", justify="right")
    for language, each in found.growths.items():
        values = each.tokens_per_word()
        table.add_row(language, *(f"{values[number]:.3f}" for number in found.listed()))
    return table


def _words(words: Table) -> Any:
    table = new_table()
    for name in ("language", "word", "count", "before", "after"):
        table.add_column(name, justify="right" if name == "count" else "left")
    rows = words.rows()
    for before, after in zip(rows[::2], rows[1::2], strict=True):
        table.add_row(before["language"], before["word"], f"{before['count']:,}", before["cut"], after["cut"])
    return table
