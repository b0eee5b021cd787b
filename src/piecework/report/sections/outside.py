"""The multilingual tokenizer compared with tokenizers from elsewhere."""

from __future__ import annotations

from typing import Any

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow
from piecework.report.charts.axes import value_text
from piecework.report.palette import language_looks
from piecework.report.scales import format_number, format_share
from piecework.report.study_data import StudyData

__all__ = ["outside_section"]

FERTILITY, LENGTH = "word_fertility", "sequence_length"
WORDS_PER_LANGUAGE = 6

Values = dict[tuple[str, str, str], float | None]


def outside_section(data: StudyData) -> Section | None:
    """Dots over bars by language, all estimates, and words that are split differently."""
    rows = data.rows("outside")
    if not rows:
        return None
    sizes: dict[str, tuple[int, str]] = {row["tokenizer"]: (row["vocab_size"], row["kind"]) for row in rows}
    values: Values = {(row["metric"], row["language"], row["tokenizer"]): row["value"] for row in rows}
    languages = [language for language in data.languages if (FERTILITY, language, MULTILINGUAL) in values]
    blocks: list[Figure | Sheet | Note] = [
        _dots(data, values, list(sizes), languages),
        Note(
            "Other kinds of tokenizers mark words in other ways, so this section counts whitespace words. Each word is "
            "encoded on its own; on whole documents a tokenizer that merges across spaces can differ slightly."
        ),
        _sheet(data, rows, sizes, languages),
    ]
    if words := _words(data, list(sizes)):
        blocks.append(words)
    lead = "The multilingual tokenizer and other tokenizers, of any kind and size, on the same text."
    return Section("outside", "Compared with other tokenizers", lead, tuple(blocks))


def _title(data: StudyData, values: Values, names: list[str], languages: list[str]) -> str:
    """The largest difference from the multilingual tokenizer, over all text or in the only language."""
    language = OVERALL if (LENGTH, OVERALL, MULTILINGUAL) in values else languages[0]
    lengths = {name: value for name in names[1:] if (value := values[LENGTH, language, name]) is not None}
    if not lengths:
        return "No text to compare on"
    worst, best = max(lengths, key=lambda name: lengths[name]), min(lengths, key=lambda name: lengths[name])
    text = data.inline_name(language)
    if lengths[best] < 1:
        return f"On {text}, {best} needs {format_share(1 - lengths[best])} fewer tokens than the multilingual tokenizer"
    return f"On {text}, {worst} needs {format_number(lengths[worst])} times the tokens of the multilingual tokenizer"


def _dots(data: StudyData, values: Values, names: list[str], languages: list[str]) -> Figure:
    looks = language_looks(names[1:])
    rows = []
    for language in languages:
        by_name = {name: values[FERTILITY, language, name] for name in names}
        dots = tuple(
            Dot(name, value, looks[name]) for name, value in by_name.items() if name in looks and value is not None
        )
        rows.append(DotRow(data.name(language), by_name[MULTILINGUAL], dots))
    title = _title(data, values, names, languages)
    description = "Tokens per whitespace word, for text in each language, with each tokenizer. " + " ".join(
        f"{row.label}: multilingual {value_text(row.bar, 'number')}"
        + "".join(f", {dot.label} {value_text(dot.value, 'number')}" for dot in row.dots)
        + "."
        for row in rows
    )
    axis = "Tokens per whitespace word"
    chart = DotChart(title, description, axis, "multilingual", tuple(rows), floor=1.0)
    how_to_read = (
        "One row per language of the text. The bar is the multilingual tokenizer, each mark another tokenizer. Further "
        "left is better; larger vocabularies are expected there."
    )
    sheet = Sheet.build(
        f"{axis}: text by row, tokenizer by column",
        ["text", *(Heading(name, "number") for name in names)],
        [(data.name(each), *(values[FERTILITY, each, name] for name in names)) for each in languages],
    )
    return Figure("outside-fertility", title, how_to_read, chart, sheet)


def _sheet(
    data: StudyData, rows: list[dict[str, Any]], sizes: dict[str, tuple[int, str]], languages: list[str]
) -> Sheet:
    values = {(row["tokenizer"], row["language"], row["metric"]): row["value"] for row in rows}
    wanted = [language for language in (OVERALL, *languages) if (MULTILINGUAL, language, LENGTH) in values]
    headings: list[Heading | str] = [
        "tokenizer",
        "kind",
        Heading("pieces", "count"),
        "text",
        Heading("tokens per word", "number", "per whitespace word"),
        Heading("split words", "share", "whitespace words of two or more tokens"),
        Heading("bytes per token", "number"),
        Heading("unknown", "share", "share of unknown tokens"),
        Heading("sequence length", "number", "tokens divided by those of the multilingual tokenizer"),
    ]
    metrics = (FERTILITY, "split_words", "bytes_per_token", "unknown_rate", LENGTH)
    return Sheet.build(
        "All estimates of the comparison",
        headings,
        [
            (name, kind, size, data.name(language), *(values[name, language, metric] for metric in metrics))
            for name, (size, kind) in sizes.items()
            for language in wanted
        ],
        name="outside-estimates",
        title="All estimates",
    )


def _words(data: StudyData, names: list[str]) -> Sheet | None:
    rows = data.rows("outside_words")
    lines: list[tuple[Any, ...]] = []
    listed: dict[str, int] = {}
    for start in range(0, len(rows), len(names)):
        group = rows[start : start + len(names)]
        language = group[0]["language"]
        listed[language] = listed.get(language, 0) + 1
        if listed[language] <= WORDS_PER_LANGUAGE:
            lines.append((data.name(language), group[0]["word"], group[0]["count"], *(row["cut"] for row in group)))
    if not lines:
        return None
    headings: list[Heading | str] = ["text", "word", Heading("count", "count"), *names]
    return Sheet.build(
        "Frequent words; a dot marks each token boundary",
        headings,
        lines,
        name="outside-words",
        title="Words that are split differently",
    )
