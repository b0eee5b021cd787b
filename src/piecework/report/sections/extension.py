"""The tokenizer that the study extends, and the extended one: what each language needs before and after."""

from __future__ import annotations

from piecework.common.terms import BASE, MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow
from piecework.report.charts.axes import value_text
from piecework.report.palette import language_looks
from piecework.report.scales import format_share
from piecework.report.study_data import Estimate, StudyData

__all__ = ["extension_section"]

FERTILITY, BYTES = "word_fertility", "bytes_per_token"


def extension_section(data: StudyData) -> Section | None:
    """Tokens per word before and after, all estimates, and the premium; None if the study extends nothing."""
    settings = data.results.run["settings"].get("extend")
    languages = [language for language in data.languages if data.estimate(FERTILITY, language, BASE).value is not None]
    if not settings or not languages:
        return None
    old = next(row["vocab_size"] for row in data.rows("metrics", tokenizer=BASE))
    lead = (
        f"This study extends {settings['base']}, a tokenizer of {old:,} pieces, to {data.vocab_size:,} pieces. Old"
        " pieces keep their ids. The monolingual tokenizers of this report extend it on one language each."
    )
    blocks: list[Figure | Sheet | Note] = [_figure(data, languages), _estimates(data, languages)]
    if premiums := _premiums(data):
        blocks.append(premiums)
    return Section("extension", "Before and after extending", lead, tuple(blocks))


def _figure(data: StudyData, languages: list[str]) -> Figure:
    look = language_looks(["before"])["before"]
    rows, saved = [], {}
    for language in languages:
        before, after = (data.estimate(FERTILITY, language, name).value for name in (BASE, MULTILINGUAL))
        dots = () if before is None else (Dot("before", before, look),)
        rows.append(DotRow(data.name(language), after, dots))
        if before and after is not None:
            saved[language] = 1 - after / before
    most = max(saved, key=lambda language: saved[language])
    title = f"{data.name(most)} needs {format_share(saved[most])} fewer tokens per word than before, the largest gain"
    description = "Tokens per whitespace word before and after extending. " + " ".join(
        f"{row.label}: after {value_text(row.bar, 'number')}"
        + "".join(f", before {value_text(dot.value, 'number')}" for dot in row.dots)
        + "."
        for row in rows
    )
    axis = "Tokens per whitespace word"
    chart = DotChart(title, description, axis, "after", tuple(rows), floor=1.0)
    how_to_read = (
        "One row per language. The bar is the extended tokenizer, the mark the old one. Further left is better."
    )
    sheet = Sheet.build(
        f"{axis}, before and after",
        ["text", Heading("before", "number"), Heading("after", "number")],
        [
            (data.name(each), *(data.estimate(FERTILITY, each, name).value for name in (BASE, MULTILINGUAL)))
            for each in languages
        ],
    )
    return Figure("extension-fertility", title, how_to_read, chart, sheet)


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def _estimates(data: StudyData, languages: list[str]) -> Sheet:
    lines = []
    for language in languages:
        words = [data.estimate(FERTILITY, language, name) for name in (BASE, MULTILINGUAL)]
        sizes = [data.estimate(BYTES, language, name) for name in (BASE, MULTILINGUAL)]
        cells = [part for each in words for part in (each.value, _interval(each))]
        lines.append((data.name(language), *cells, *(each.value for each in sizes)))
    headings: list[Heading | str] = [
        "text",
        Heading("tokens per word before", "number"),
        "95 % interval",
        Heading("after", "number"),
        "95 % interval after",
        Heading("bytes per token before", "number"),
        Heading("bytes per token after", "number"),
    ]
    caption = "Estimates of the old and of the extended tokenizer; languages that should not change are included"
    return Sheet.build(caption, headings, lines, name="extension-estimates", title="All estimates")


def _premiums(data: StudyData) -> Sheet | None:
    found = {
        (row["tokenizer"], row["language"]): row
        for row in data.rows("parallel", metric="premium")
        if row["tokenizer"] in (BASE, MULTILINGUAL)
    }
    languages = [language for name, language in found if name == BASE]
    if not languages:
        return None
    rows = [
        (data.name(each), *(found[name, each][key] for key in ("numerator", "value") for name in (BASE, MULTILINGUAL)))
        for each in languages
    ]
    headings: list[Heading | str] = [
        "text",
        Heading("tokens before", "count"),
        Heading("tokens after", "count"),
        Heading("premium before", "number", "tokens divided by those of the pivot language"),
        Heading("premium after", "number", "tokens divided by those of the pivot language"),
    ]
    return Sheet.build("The same text in every language", headings, rows, name="extension-premium", title="Premium")
