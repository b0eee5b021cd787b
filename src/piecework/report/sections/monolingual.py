"""The multilingual tokenizer compared with the monolingual ones."""

from __future__ import annotations

from piecework.common.terms import MULTILINGUAL
from piecework.report.blocks import Figure, Heading, Kind, Note, Section, Sheet
from piecework.report.charts import Bar, BarChart, HeatCell, HeatChart, RangeChart, RangeRow
from piecework.report.charts.axes import MANY_ROWS, Format, value_text
from piecework.report.scales import format_number, format_share
from piecework.report.study_data import StudyData, list_of

__all__ = ["monolingual_section"]

MOST_NAMED = 6


def monolingual_section(data: StudyData) -> Section | None:
    """What sharing the vocabulary costs, all tokenizers on all languages, and the same as a heat map."""
    # With one language, both tokenizers are the same.
    if not data.monolingual or len(data.values("fertility")) < 2:
        return None
    many = len(data.languages) > MANY_ROWS
    blocks: list[Figure | Sheet | Note] = [
        *_cost(data),
        _ranges(data, "fertility", "monolingual-fertility", "Tokens per word", 1.0, "number", folded=many),
        _heat(data, folded=many),
        _ranges(
            data,
            "continued_words",
            "monolingual-continued-words",
            "Words of two or more tokens",
            0.0,
            "share",
            folded=True,
        ),
    ]
    lead = (
        "Each monolingual tokenizer has the same recipe and vocabulary size, but is trained on one language. So it "
        "shows what sharing costs, and how well a tokenizer serves a language that it was not trained on."
    )
    if data.smaller_monolingual:
        lead += f" Some are smaller, because their text has no more pieces: {_smaller(data)}."
    return Section("monolingual", "Compared with monolingual tokenizers", lead, tuple(blocks))


def _cost(data: StudyData) -> list[Figure]:
    """The extra tokens of the multilingual tokenizer. It compares tokens, not words, so it holds without spaces too."""
    extra = {}
    for language in data.monolingual:
        shared, own = (data.estimate("bytes_per_token", language, name).value for name in (MULTILINGUAL, language))
        if shared and own is not None:
            extra[language] = own / shared - 1
    if not extra:
        return []
    order = sorted(extra, key=lambda name: (-extra[name], name))
    best = sum(_is_best(data, language) for language in extra)
    each = "every language" if best == len(extra) else f"{best} of {len(extra)} languages"
    low, high = format_share(extra[order[-1]]), format_share(extra[order[0]])
    title = f"Sharing the vocabulary costs {data.inline_name(order[0])} {high} more tokens"
    if len(order) > 1:
        title += f", {data.inline_name(order[-1])} {low}" if low != high else f", as {data.inline_name(order[-1])}"
    bars = tuple(Bar(data.name(name), extra[name], colour=data.colour(name)) for name in order)
    axis = "Extra tokens of the multilingual tokenizer"
    listed = ", ".join(f"{bar.label} {format_share(bar.value)}" for bar in bars)
    floor = min(0.0, *extra.values())
    chart = BarChart(title, f"{axis}: {listed}.", axis, bars, floor=floor, kind="share")
    sheet = Sheet.build(axis, ["language", Heading("extra tokens", "share")], [(bar.label, bar.value) for bar in bars])
    how_to_read = (
        "Tokens of the multilingual tokenizer compared with the language's own monolingual tokenizer. "
        f"Lower is better. For {each}, the monolingual tokenizer is the best of all."
    )
    return [Figure("monolingual-cost", title, how_to_read, chart, sheet)]


def _is_best(data: StudyData, language: str) -> bool:
    values = _by_tokenizer(data, "fertility", language)
    return language in values and values[language] == min(values.values())


def _by_tokenizer(data: StudyData, metric: str, language: str) -> dict[str, float]:
    names = [MULTILINGUAL, *data.monolingual]
    found = {name: data.estimate(metric, language, name).value for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _ranges(data: StudyData, metric: str, name: str, axis: str, floor: float, kind: Format, *, folded: bool) -> Figure:
    rows = []
    languages = [language for language in data.languages if language not in data.unspaced] or data.languages
    for language in languages:
        values = _by_tokenizer(data, metric, language)
        others = tuple(
            (data.name(other), values[other]) for other in data.monolingual if other in values and other != language
        )
        rows.append(RangeRow(data.name(language), values.get(MULTILINGUAL), values.get(language), others))
    title = _ranges_title(data, metric, kind)
    description = f"{axis}, for text in each language, with the multilingual tokenizer and with each monolingual one. "
    description += " ".join(
        f"{row.label}: multilingual {value_text(row.shared, kind)}, its own {value_text(row.own, kind)}"
        + "".join(f", {other} {value_text(value, kind)}" for other, value in row.others)
        + "."
        for row in rows
    )
    labels = ("multilingual", "own tokenizer", "other monolingual tokenizers")
    chart = RangeChart(title, description, axis, *labels, tuple(rows), floor=floor, kind=kind)
    how_to_read = (
        "One row per language of the text. Each tick is a tokenizer of another language; an arrow means that more lie "
        "beyond the axis. Further left is better. Hover over a mark for its value."
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
    return Figure(name, title, how_to_read, chart, sheet, folded)


def _ranges_title(data: StudyData, metric: str, kind: Format) -> str:
    """The language with the widest gap between the multilingual and its own tokenizer."""
    gaps = {}
    for language in data.monolingual:
        values = _by_tokenizer(data, metric, language)
        if language in values and MULTILINGUAL in values and language not in data.unspaced:
            gaps[language] = (values[language], values[MULTILINGUAL])
    if not gaps:
        return "No evaluation text for the monolingual tokenizers"
    widest = max(gaps, key=lambda name: gaps[name][1] - gaps[name][0])
    own, shared = (value_text(value, kind) for value in gaps[widest])
    unit = "tokens per word" if kind == "number" else "of the words are split"
    return f"Largest difference, {data.inline_name(widest)}: {shared} {unit}; with its own tokenizer, {own}"


def _heat(data: StudyData, *, folded: bool) -> Figure:
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
        "Tokens per word of the tokenizer (column) on the text (row). The stronger the colour of a cell, the "
        "further it is from the best tokenizer of its row. A frame marks the tokenizer that was trained on "
        "the language of the row."
    )
    if data.unspaced:
        how_to_read += (
            f" Compare only within a row for {data.sentence_list(data.unspaced)}, which are written without spaces."
        )
    sheet = Sheet.build(
        "Fertility: text by row, tokenizer by column",
        ["text", *(Heading(_tokenizer(data, column), "number") for column in columns)],
        [(data.name(language), *(values[language, column] for column in columns)) for language in languages],
    )
    return Figure("monolingual-table", title, how_to_read, chart, sheet, folded)


def _smaller(data: StudyData) -> str:
    """The smallest tokenizers that are smaller than the others, and the number of the rest."""
    order = sorted(data.smaller_monolingual.items(), key=lambda item: (item[1], item[0]))
    named = [f"{data.inline_name(name)} ({size:,} pieces)" for name, size in order[:MOST_NAMED]]
    rest = len(order) - len(named)
    return list_of([*named, f"{rest} more"] if rest else named)


def _tokenizer(data: StudyData, name: str) -> str:
    return data.name(name) if name in data.languages else name


def _made_for(data: StudyData, name: str) -> str:
    return f"the {data.inline_name(name)} tokenizer" if name in data.languages else f"the {name} tokenizer"
