"""The metrics of each language side by side, by both definitions of a word, and by category."""

from __future__ import annotations

from piecework.common.terms import OVERALL
from piecework.corpus.languages import CODE
from piecework.evaluation.metrics import Metric, all_metrics
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import BarColumn, BarColumns, HeatCell, HeatChart, Value
from piecework.report.charts.axes import MANY_ROWS, Format, value_text
from piecework.report.scales import format_number, format_share
from piecework.report.sections.cost import cost_order
from piecework.report.study_data import StudyData

__all__ = ["SHARES", "languages_section"]

SHARES = {
    "continued_words",
    "split_words",
    "unknown_rate",
    "byte_rate",
    "vocabulary_utilisation",
    "renyi_efficiency",
    "single_token_types",
}
"""Metrics between 0 and 1, printed in percent."""

PER_WORD = {"fertility", "continued_words", "word_fertility", "split_words"}
COLUMNS = (
    ("fertility", "Tokens per word", "paper's words", 1.0),
    ("continued_words", "Split words", "paper's words", 0.0),
    ("word_fertility", "Tokens per word", "whitespace words", 1.0),
    ("bytes_per_token", "Bytes per token", "higher is better", 0.0),
    ("characters_per_token", "Characters/token", "higher is better", 0.0),
)


def languages_section(data: StudyData) -> Section | None:
    """The main metrics as columns of bars; by category as a heat map; then all metrics in a table."""
    if not data.values("fertility"):
        return None
    blocks: list[Figure | Sheet | Note] = [_columns(data), *_categories(data), _all_metrics(data)]
    lead = (
        "The multilingual tokenizer on held-out text. The paper's words start with ▁, after ASCII punctuation is "
        "removed; "
        "whitespace words are the text between spaces, unchanged. On code the two differ a lot."
    )
    return Section("languages", "The languages", lead, tuple(blocks))


def _columns(data: StudyData) -> Figure:
    known = {row["metric"] for row in data.rows("metrics")}
    chosen = [column for column in COLUMNS if column[0] in known]
    order = [*cost_order(data), *([OVERALL] if len(data.values("fertility")) > 1 else [])]
    columns = []
    for metric, title, detail, floor in chosen:
        values = []
        for language in order:
            estimate = data.estimate(metric, language)
            if metric in PER_WORD and (language in data.unspaced or (language == OVERALL and data.unspaced)):
                values.append(Value(None))
            else:
                values.append(Value(estimate.value, estimate.low, estimate.high))
        columns.append(BarColumn(title, tuple(values), detail, floor, _format(metric)))
    title = _title(data)
    names = tuple(data.name(language) for language in order)
    chart = BarColumns(
        title,
        " ".join(
            f"{column.title} ({column.detail}): "
            + ", ".join(
                f"{name} {value_text(value.value, column.kind)}"
                for name, value in zip(names, column.values, strict=True)
            )
            + "."
            for column in columns
        ),
        names,
        tuple(columns),
        tuple(data.colour(language) for language in order),
    )
    headings: list[Heading | str] = ["language"]
    for metric, label, detail, _ in chosen:
        kind = _kind(metric)
        headings += [Heading(f"{label}, {detail}", kind), Heading("from", kind), Heading("to", kind)]
    sheet = Sheet.build(
        "The main metrics with their 95 % intervals",
        headings,
        [
            (name, *(number for column in columns for number in _numbers(column.values[index])))
            for index, name in enumerate(names)
        ],
    )
    how_to_read = (
        "One row per language, one column per metric, each with its own scale. Hover over a bar for its 95 % interval. "
        "A broken bar is longer than its column. Columns about words and tokens: lower is better."
    )
    return Figure("metrics", title, how_to_read, chart, sheet)


def _numbers(value: Value) -> tuple[float | None, float | None, float | None]:
    return value.value, value.low, value.high


def _title(data: StudyData) -> str:
    """The most and the least split language."""
    values = data.values_per_word("continued_words")
    if not values:
        lengths = data.values("characters_per_token")
        return f"{data.name(next(reversed(lengths)))} has {format_number(max(lengths.values()))} characters per token"
    least, most = next(iter(values)), next(reversed(values))
    low, high = (format_share(values[name], decimals=0) for name in (least, most))
    title = f"{high} of the {data.inline_name(most)} words are split"
    return title if low == high else f"{title}, {low} of the {data.inline_name(least)} ones"


def _categories(data: StudyData) -> list[Figure]:
    """Tokens per word by language and category, if there is more than one category."""
    rows = [row for row in data.rows("categories", metric="fertility") if row["language"] not in data.unspaced]
    values = {(row["language"], row["category"]): row["value"] for row in rows if row["value"] is not None}
    categories = sorted({category for _, category in values})
    languages = [name for name in cost_order(data) if any((name, category) in values for category in categories)]
    comparable = {key: value for key, value in values.items() if key[0] in data.per_word}
    compared = sorted({category for _, category in comparable})
    if len(compared) < 2:
        return []
    low, high = min(comparable.values()), max(comparable.values())
    # A few documents are too little for a title.
    certain = {(row["language"], row["category"]) for row in rows if row["low"] is not None}
    compared_in_title = [key for key in comparable if key in certain] or list(comparable)
    costly = max(compared_in_title, key=lambda key: (comparable[key], key))
    cheap = min(compared_in_title, key=lambda key: (comparable[key], key))
    title = (
        f"Most expensive: {data.inline_name(costly[0])} {costly[1]}, {format_number(comparable[costly])} tokens per "
        f"word; cheapest: {data.inline_name(cheap[0])} {cheap[1]}, {format_number(comparable[cheap])}"
    )
    cells = tuple(
        tuple(
            HeatCell(value, (value - low) / max(high - low, 1e-9)) if value is not None else HeatCell(None)
            for category in compared
            for value in [comparable.get((language, category))]
        )
        for language in languages
        if language in data.per_word
    )
    names = tuple(data.name(language) for language in languages if language in data.per_word)
    chart = HeatChart(
        title,
        "Tokens per word by language and category; the values are in the table below.",
        "language",
        "category",
        names,
        tuple(compared),
        cells,
    )
    sheet = Sheet.build(
        "Tokens per word by language and category",
        ["language", *(Heading(category, "number") for category in categories)],
        [(data.name(name), *(values.get((name, category)) for category in categories)) for name in languages],
    )
    how_to_read = (
        "Tokens per word of the multilingual tokenizer by language (row) and category (column). The stronger the "
        "colour, the more expensive."
        + (" The title leaves out cells with few documents." if len(compared_in_title) < len(comparable) else "")
        + (" The table also has code." if CODE in languages else "")
    )
    return [Figure("categories", title, how_to_read, chart, sheet, folded=len(languages) > MANY_ROWS)]


def _all_metrics(data: StudyData) -> Sheet:
    known = {row["metric"] for row in data.rows("metrics")}
    metrics = [metric for metric in all_metrics() if metric.name in known]
    headings = [
        Heading(_heading(metric), _kind(metric.name), f"{metric.formula}. {_better(metric)}") for metric in metrics
    ]
    rows = [
        (data.name(language), *(data.estimate(metric.name, language).value for metric in metrics))
        for language in [*data.languages, *([OVERALL] if len(data.languages) > 1 else [])]
    ]
    return Sheet.build(
        "All metrics of the multilingual tokenizer. Click a heading to sort. Formulas are under Method.",
        ["language", *headings],
        rows,
        name="all-metrics",
        title="All metrics",
    )


def _heading(metric: Metric) -> str:
    arrow = {"lower": " ↓", "higher": " ↑", "none": ""}[metric.direction]
    return f"{metric.title}{arrow}"


def _format(metric: str) -> Format:
    return "share" if metric in SHARES else "number"


def _kind(metric: str) -> Kind:
    return "share" if metric in SHARES else "number"


def _better(metric: Metric) -> str:
    return {"lower": "Lower is better.", "higher": "Higher is better.", "none": ""}[metric.direction]
