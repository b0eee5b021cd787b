"""The multilingual tokenizer beside tokenizers that the study did not make."""

from __future__ import annotations

from typing import Any

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow
from piecework.report.charts.axes import value_text
from piecework.report.palette import language_looks
from piecework.report.readings import Readings
from piecework.report.scales import format_number, format_share

__all__ = ["outside_section"]

FERTILITY, LENGTH = "word_fertility", "sequence_length"
WORDS_SHOWN = 6

Figures = dict[tuple[str, str, str], float | None]


def outside_section(readings: Readings) -> Section | None:
    """Dots over bars by language, the figures, and words that are not cut alike."""
    rows = readings.rows("outside")
    if not rows:
        return None
    sizes: dict[str, tuple[int, str]] = {row["tokenizer"]: (row["vocab_size"], row["kind"]) for row in rows}
    figures: Figures = {(row["metric"], row["language"], row["tokenizer"]): row["value"] for row in rows}
    languages = [language for language in readings.languages if (FERTILITY, language, MULTILINGUAL) in figures]
    blocks: list[Figure | Sheet | Note] = [
        _dots(readings, figures, list(sizes), languages),
        Note(
            "Tokenizers of other kinds mark words in other ways, so words here are runs of what is not whitespace. "
            "The counts of the evaluation text are what they were measured on, word by word; on whole documents a "
            "tokenizer that looks across spaces may differ a little."
        ),
        _sheet(readings, rows, sizes, languages),
    ]
    if words := _words(readings, list(sizes)):
        blocks.append(words)
    lead = "How the multilingual tokenizer does beside others that are in use, whatever their kind and size."
    return Section("outside", "Beside other tokenizers", lead, tuple(blocks))


def _title(readings: Readings, figures: Figures, names: list[str], languages: list[str]) -> str:
    """Who needs most tokens beside the multilingual one, over all text or in the one language."""
    of = OVERALL if (LENGTH, OVERALL, MULTILINGUAL) in figures else languages[0]
    lengths = {name: value for name in names[1:] if (value := figures[LENGTH, of, name]) is not None}
    if not lengths:
        return "There is no text to compare on"
    worst, best = max(lengths, key=lambda name: lengths[name]), min(lengths, key=lambda name: lengths[name])
    text = readings.inline_name(of)
    if lengths[best] < 1:
        return f"On {text}, {best} needs {format_share(1 - lengths[best])} fewer tokens than the multilingual tokenizer"
    return f"On {text}, {worst} needs {format_number(lengths[worst])} times the tokens of the multilingual tokenizer"


def _dots(readings: Readings, figures: Figures, names: list[str], languages: list[str]) -> Figure:
    looks = language_looks(names[1:])
    rows = []
    for language in languages:
        values = {name: figures[FERTILITY, language, name] for name in names}
        dots = tuple(
            Dot(name, value, looks[name]) for name, value in values.items() if name in looks and value is not None
        )
        rows.append(DotRow(readings.name(language), values[MULTILINGUAL], dots))
    title = _title(readings, figures, names, languages)
    description = "Tokens per whitespace word, for text in each language, with each tokenizer. " + " ".join(
        f"{row.label}: multilingual {value_text(row.bar, 'number')}"
        + "".join(f", {dot.label} {value_text(dot.value, 'number')}" for dot in row.dots)
        + "."
        for row in rows
    )
    axis = "Tokens per whitespace word"
    chart = DotChart(title, description, axis, "multilingual", tuple(rows), floor=1.0)
    reading = (
        "A row is text in one language. The outlined bar is the multilingual tokenizer, each mark another one. Further "
        "left is better; a larger vocabulary is expected to lie further left."
    )
    sheet = Sheet.of(
        f"{axis}: text in the rows, tokenizers in the columns",
        ["text", *(Heading(name, "number") for name in names)],
        [(readings.name(each), *(figures[FERTILITY, each, name] for name in names)) for each in languages],
    )
    return Figure("outside-fertility", title, reading, chart, sheet)


def _sheet(
    readings: Readings, rows: list[dict[str, Any]], sizes: dict[str, tuple[int, str]], languages: list[str]
) -> Sheet:
    figures = {(row["tokenizer"], row["language"], row["metric"]): row["value"] for row in rows}
    wanted = [language for language in (OVERALL, *languages) if (MULTILINGUAL, language, LENGTH) in figures]
    headings: list[Heading | str] = [
        "tokenizer",
        "kind",
        Heading("pieces", "count"),
        "text",
        Heading("tokens per word", "number", "per whitespace word"),
        Heading("split words", "share", "whitespace words of two or more tokens"),
        Heading("bytes per token", "number"),
        Heading("unknown", "share", "tokens that are the unknown piece"),
        Heading("sequence length", "number", "tokens as a share of the multilingual tokenizer's"),
    ]
    metrics = (FERTILITY, "split_words", "bytes_per_token", "unknown_rate", LENGTH)
    return Sheet.of(
        "All figures of the comparison",
        headings,
        [
            (name, kind, size, readings.name(language), *(figures[name, language, metric] for metric in metrics))
            for name, (size, kind) in sizes.items()
            for language in wanted
        ],
        name="outside-figures",
        title="All figures",
    )


def _words(readings: Readings, names: list[str]) -> Sheet | None:
    rows = readings.rows("outside_words")
    lines: list[tuple[Any, ...]] = []
    shown: dict[str, int] = {}
    for start in range(0, len(rows), len(names)):
        group = rows[start : start + len(names)]
        language = group[0]["language"]
        shown[language] = shown.get(language, 0) + 1
        if shown[language] <= WORDS_SHOWN:
            lines.append((readings.name(language), group[0]["word"], group[0]["count"], *(row["cut"] for row in group)))
    if not lines:
        return None
    headings: list[Heading | str] = ["text", "word", Heading("count", "count"), *names]
    return Sheet.of(
        "Frequent words that are not cut alike, with a dot at each cut",
        headings,
        lines,
        name="outside-words",
        title="Words that are not cut alike",
    )
