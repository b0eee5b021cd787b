"""The multilingual tokenizer beside those of one language each."""

from __future__ import annotations

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow, HeatCell, HeatChart
from piecework.report.charts.axes import Format, value_text
from piecework.report.readings import Readings
from piecework.report.scales import format_number, format_share

__all__ = ["monolingual_section"]


def monolingual_section(readings: Readings) -> Section | None:
    """Per language, an outlined bar and a dot for each monolingual tokenizer; then the figures as a table of shades."""
    # One language alone has the same tokenizer twice.
    if not readings.monolingual or len(readings.values("fertility")) < 2:
        return None
    blocks: list[Figure | Sheet | Note] = [
        _dots(readings, "fertility", "monolingual-fertility", "Tokens per word", 1.0, "number", _own_title(readings)),
        _heat(readings),
        _dots(
            readings,
            "continued_words",
            "monolingual-continued-words",
            "Words of more than one token",
            0.0,
            "share",
            _continued_title(readings),
        ),
    ]
    lead = (
        "Each monolingual tokenizer has the same recipe and the same number of pieces, all of them for one language. "
        "So it shows how far the multilingual one is from the best that its size allows, and how well a tokenizer "
        "serves a language that it has never seen."
    )
    return Section("monolingual", "Multilingual and monolingual", lead, tuple(blocks))


def _own_title(readings: Readings) -> str:
    best, second, cases, cost = 0, 0, 0, []
    for language in readings.monolingual:
        values = _by_tokenizer(readings, "fertility", language)
        if language in values and MULTILINGUAL in values:
            order = sorted(values, key=lambda name: values[name])
            cases += 1
            best += order[0] == language
            second += order[1:2] == [MULTILINGUAL] if order[0] == language else order[0] == MULTILINGUAL
            cost.append(values[MULTILINGUAL] / values[language] - 1)
    if not cases:
        return "There is no evaluation text for the monolingual tokenizers"
    each = "every language" if best == cases else f"{best} of {cases} languages"
    return (
        f"In {each} the tokenizer made for it is best; sharing the vocabulary costs {format_share(min(cost))} "
        f"to {format_share(max(cost))} more tokens"
    )


def _continued_title(readings: Readings) -> str:
    gaps = {}
    for language in readings.monolingual:
        values = _by_tokenizer(readings, "continued_words", language)
        if language in values and MULTILINGUAL in values:
            gaps[language] = (values[language], values[MULTILINGUAL])
    if not gaps:
        return "There is no evaluation text for the monolingual tokenizers"
    widest = max(gaps, key=lambda name: gaps[name][1] - gaps[name][0])
    own, shared = gaps[widest]
    return (
        f"Of {readings.inline_name(widest)} words, {format_share(shared, decimals=0)} take more than one token; "
        f"with a tokenizer of its own {format_share(own, decimals=0)} would"
    )


def _by_tokenizer(readings: Readings, metric: str, language: str) -> dict[str, float]:
    names = [MULTILINGUAL, *readings.monolingual]
    found = {name: readings.figure(metric, language, name).value for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _dots(readings: Readings, metric: str, name: str, axis: str, floor: float, kind: Format, title: str) -> Figure:
    rows = []
    for language in readings.languages:
        values = _by_tokenizer(readings, metric, language)
        dots = tuple(
            Dot(readings.name(other), values[other], readings.looks[other], other == language)
            for other in readings.monolingual
            if other in values
        )
        rows.append(DotRow(readings.name(language), values.get(MULTILINGUAL), dots))
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
    reading = (
        "A row is text in one language. The outlined bar is the multilingual tokenizer, each mark a monolingual one in "
        "its language's colour and shape; the ringed mark was made for this language. Further left is better."
    )
    sheet_kind: Kind = "share" if kind == "share" else "number"
    columns = [MULTILINGUAL, *readings.monolingual]
    sheet = Sheet.of(
        f"{axis}: text in the rows, tokenizers in the columns",
        ["text", *(Heading(_tokenizer(readings, column), sheet_kind) for column in columns)],
        [
            (readings.name(language), *(readings.figure(metric, language, column).value for column in columns))
            for language in readings.languages
        ],
    )
    return Figure(name, title, reading, chart, sheet)


def _heat(readings: Readings) -> Figure:
    columns = [MULTILINGUAL, *readings.monolingual]
    languages = [
        language for language in readings.languages if readings.figure("fertility", language).value is not None
    ]
    values = {
        (language, column): readings.figure("fertility", language, column).value
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
        f"The poorest fit: {_made_for(readings, worst[1])} needs {format_number(1 + excess[worst])} times "
        f"the tokens of the best on {readings.inline_name(worst[0])} text"
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
        "Fertility of each tokenizer on text in each language; the figures are in the table below.",
        "text in",
        "tokenizer",
        tuple(readings.name(language) for language in languages),
        tuple(_tokenizer(readings, column) for column in columns),
        cells,
    )
    reading = (
        "Tokens per word: a row is text in one language, a column a tokenizer. The stronger a shade, the more tokens "
        "than with the best tokenizer of the row. Framed cells are tokenizers on the language that they were made for."
    )
    sheet = Sheet.of(
        "Fertility: text in the rows, tokenizers in the columns",
        ["text", *(Heading(_tokenizer(readings, column), "number") for column in columns)],
        [(readings.name(language), *(values[language, column] for column in columns)) for language in languages],
    )
    return Figure("monolingual-table", title, reading, chart, sheet)


def _tokenizer(readings: Readings, name: str) -> str:
    return readings.name(name) if name in readings.languages else name


def _made_for(readings: Readings, name: str) -> str:
    return f"the tokenizer of {readings.inline_name(name)}" if name in readings.languages else f"{name}"
