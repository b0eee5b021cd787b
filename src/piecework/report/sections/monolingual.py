"""The multilingual tokenizer compared with the monolingual ones."""

from __future__ import annotations

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow, HeatCell, HeatChart
from piecework.report.charts.axes import Format, value_text
from piecework.report.scales import format_number, format_share
from piecework.report.study_data import StudyData

__all__ = ["monolingual_section"]


def monolingual_section(data: StudyData) -> Section | None:
    """Per language, a bar for the multilingual and a dot for each monolingual tokenizer; then a heat map."""
    # With one language, both tokenizers are the same.
    if not data.monolingual or len(data.values("fertility")) < 2:
        return None
    blocks: list[Figure | Sheet | Note] = [
        _dots(data, "fertility", "monolingual-fertility", "Tokens per word", 1.0, "number", _own_title(data)),
        _heat(data),
        _dots(
            data,
            "continued_words",
            "monolingual-continued-words",
            "Words of two or more tokens",
            0.0,
            "share",
            _continued_title(data),
        ),
    ]
    lead = (
        "Each monolingual tokenizer has the same recipe and vocabulary size, but is trained on one language. So it "
        "shows "
        "what sharing the vocabulary costs, and how well a tokenizer serves a language that it was not trained on."
    )
    return Section("monolingual", "Compared with monolingual tokenizers", lead, tuple(blocks))


def _own_title(data: StudyData) -> str:
    best, second, cases, cost = 0, 0, 0, []
    for language in data.monolingual:
        values = _by_tokenizer(data, "fertility", language)
        if language in values and MULTILINGUAL in values:
            order = sorted(values, key=lambda name: values[name])
            cases += 1
            best += order[0] == language
            second += order[1:2] == [MULTILINGUAL] if order[0] == language else order[0] == MULTILINGUAL
            cost.append(values[MULTILINGUAL] / values[language] - 1)
    if not cases:
        return "No evaluation text for the monolingual tokenizers"
    each = "every language" if best == cases else f"{best} of {cases} languages"
    return (
        f"In {each} its own tokenizer is best; sharing the vocabulary costs {format_share(min(cost))} "
        f"to {format_share(max(cost))} more tokens"
    )


def _continued_title(data: StudyData) -> str:
    gaps = {}
    for language in data.monolingual:
        values = _by_tokenizer(data, "continued_words", language)
        if language in values and MULTILINGUAL in values:
            gaps[language] = (values[language], values[MULTILINGUAL])
    if not gaps:
        return "No evaluation text for the monolingual tokenizers"
    widest = max(gaps, key=lambda name: gaps[name][1] - gaps[name][0])
    own, shared = gaps[widest]
    return (
        f"{format_share(shared, decimals=0)} of the {data.inline_name(widest)} words are split; with its own "
        f"monolingual tokenizer, {format_share(own, decimals=0)}"
    )


def _by_tokenizer(data: StudyData, metric: str, language: str) -> dict[str, float]:
    names = [MULTILINGUAL, *data.monolingual]
    found = {name: data.estimate(metric, language, name).value for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _dots(data: StudyData, metric: str, name: str, axis: str, floor: float, kind: Format, title: str) -> Figure:
    rows = []
    for language in data.languages:
        values = _by_tokenizer(data, metric, language)
        dots = tuple(
            Dot(data.name(other), values[other], data.looks[other], other == language)
            for other in data.monolingual
            if other in values
        )
        rows.append(DotRow(data.name(language), values.get(MULTILINGUAL), dots))
    chart = DotChart(
        title,
        f"{axis}, for text in each language, with the multilingual tokenizer and with each monolingual one. "
        + " ".join(
            f"{row.label}: multilingual {value_text(row.bar, kind)}"
            + "".join(f", {dot.label} {value_text(dot.value, kind)}" for dot in row.dots)
            + "."
            for row in rows
        ),
        axis,
        "multilingual",
        tuple(rows),
        floor=floor,
        kind=kind,
    )
    how_to_read = (
        "One row per language of the text. The bar is the multilingual tokenizer, each mark a monolingual one in the "
        "colour and shape of its language; the ring marks the language's own tokenizer. Further left is better."
    )
    sheet_kind: Kind = "share" if kind == "share" else "number"
    columns = [MULTILINGUAL, *data.monolingual]
    sheet = Sheet.build(
        f"{axis}: text by row, tokenizer by column",
        ["text", *(Heading(_tokenizer(data, column), sheet_kind) for column in columns)],
        [
            (data.name(language), *(data.estimate(metric, language, column).value for column in columns))
            for language in data.languages
        ],
    )
    return Figure(name, title, how_to_read, chart, sheet)


def _heat(data: StudyData) -> Figure:
    columns = [MULTILINGUAL, *data.monolingual]
    languages = [language for language in data.languages if data.estimate("fertility", language).value is not None]
    values = {
        (language, column): data.estimate("fertility", language, column).value
        for language in languages
        for column in columns
    }
    best = {
        language: min(value for (row, _), value in values.items() if row == language and value is not None)
        for language in languages
    }
    excess = {key: value / best[key[0]] - 1 for key, value in values.items() if value is not None}
    worst = max(excess, key=lambda key: (excess[key], key))
    largest = max(excess[worst], 1e-9)
    title = (
        f"Worst case: on {data.inline_name(worst[0])} text, {_made_for(data, worst[1])} needs "
        f"{format_number(1 + excess[worst])} times the tokens of the best one"
    )
    cells = tuple(
        tuple(
            HeatCell(values[row, column], excess.get((row, column), 0.0) / largest, marked=row == column)
            for column in columns
        )
        for row in languages
    )
    chart = HeatChart(
        title,
        "Fertility of each tokenizer on text in each language; the values are in the table below.",
        "text in",
        "tokenizer",
        tuple(data.name(language) for language in languages),
        tuple(_tokenizer(data, column) for column in columns),
        cells,
    )
    how_to_read = (
        "Tokens per word of the tokenizer (column) on the text (row). A darker cell is further from the best "
        "tokenizer of "
        "its row. A frame marks the tokenizer that was trained on the language of the row."
    )
    sheet = Sheet.build(
        "Fertility: text by row, tokenizer by column",
        ["text", *(Heading(_tokenizer(data, column), "number") for column in columns)],
        [(data.name(language), *(values[language, column] for column in columns)) for language in languages],
    )
    return Figure("monolingual-table", title, how_to_read, chart, sheet)


def _tokenizer(data: StudyData, name: str) -> str:
    return data.name(name) if name in data.languages else name


def _made_for(data: StudyData, name: str) -> str:
    return f"the {data.inline_name(name)} tokenizer" if name in data.languages else f"{name}"
