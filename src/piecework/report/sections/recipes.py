"""The recipes of a study side by side: tokenizers of several kinds, trained on the same documents."""

from __future__ import annotations

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.report.blocks import Figure, Heading, Note, Section, Sheet
from piecework.report.charts import Dot, DotChart, DotRow
from piecework.report.charts.axes import value_text
from piecework.report.palette import language_looks
from piecework.report.scales import format_share
from piecework.report.study_data import StudyData

__all__ = ["recipes_section"]

FERTILITY, LENGTH = "word_fertility", "sequence_length"

Values = dict[tuple[str, str, str], float | None]


def recipes_section(data: StudyData) -> Section | None:
    """Dots over bars by language, and all estimates."""
    rows = data.rows("recipes")
    if not rows:
        return None
    names = list(dict.fromkeys(row["recipe"] for row in rows))
    kinds: dict[str, tuple[str, int]] = {row["recipe"]: (row["kind"], row["vocab_size"]) for row in rows}
    values: Values = {(row["metric"], row["language"], row["recipe"]): row["value"] for row in rows}
    blocks: tuple[Figure | Note | Sheet, ...] = (
        _figure(data, values, names),
        Note(
            "Every recipe has the same training and evaluation documents. A further recipe is a study of its own, in "
            "the folder recipes, with a report of its own. Fertility and continued words count tokens that start with "
            "a space, which the kinds use differently; the other metrics depend on the text alone."
        ),
        _sheet(data, values, kinds),
    )
    described = ", ".join(f"{name} is {kind} with {size:,} pieces" for name, (kind, size) in kinds.items())
    return Section("recipes", "Recipes side by side", f"Trained on the same documents: {described}.", blocks)


def _title(data: StudyData, values: Values, names: list[str]) -> str:
    """The largest difference from the first recipe, over all languages."""
    changes = {
        (language, name): value - 1
        for name in names[1:]
        for language in data.languages
        if (value := values.get((LENGTH, language, name))) is not None
    }
    if not changes:
        return "No text to compare on"
    language, name = max(changes, key=lambda each: abs(changes[each]))
    change = changes[language, name]
    more = "more" if change > 0 else "fewer"
    return (
        f"{data.name(language)} takes {format_share(abs(change))} {more} tokens with {name} than with the first recipe"
    )


def _figure(data: StudyData, values: Values, names: list[str]) -> Figure:
    looks = language_looks(names[1:])
    # Languages without spaces have no meaningful whitespace words: they are only in the table.
    languages = [each for each in data.spaced if values.get((FERTILITY, each, MULTILINGUAL)) is not None]
    rows = [
        DotRow(
            data.name(language),
            values[FERTILITY, language, MULTILINGUAL],
            tuple(
                Dot(name, value, looks[name])
                for name in names[1:]
                if (value := values.get((FERTILITY, language, name))) is not None
            ),
        )
        for language in languages
    ]
    title = _title(data, values, names)
    axis = "Tokens per whitespace word"
    description = f"{axis}, for text in each language, with each recipe. " + " ".join(
        f"{row.label}: {MULTILINGUAL} {value_text(row.bar, 'number')}"
        + "".join(f", {dot.label} {value_text(dot.value, 'number')}" for dot in row.dots)
        + "."
        for row in rows
    )
    how_to_read = (
        "One row per language of the text. The bar is the tokenizer of the study's first recipe, each mark that of a "
        "further one. Further left is better."
    )
    sheet = Sheet.build(
        f"{axis}: text by row, recipe by column",
        ["text", *(Heading(name, "number") for name in names)],
        [(data.name(each), *(values.get((FERTILITY, each, name)) for name in names)) for each in languages],
    )
    chart = DotChart(title, description, axis, MULTILINGUAL, tuple(rows), floor=1.0)
    return Figure("recipes-fertility", title, how_to_read, chart, sheet)


def _sheet(data: StudyData, values: Values, kinds: dict[str, tuple[str, int]]) -> Sheet:
    headings: list[Heading | str] = [
        "text",
        "recipe",
        "kind",
        Heading("pieces", "count"),
        Heading("tokens per word", "number", "per whitespace word"),
        Heading("split words", "share", "whitespace words of two or more tokens"),
        Heading("bytes per token", "number"),
        Heading("fertility", "number", "tokens per token that starts with a space"),
        Heading("continued words", "share"),
        Heading("sequence length", "number", "tokens divided by those of the first recipe"),
    ]
    metrics = (FERTILITY, "split_words", "bytes_per_token", "fertility", "continued_words", LENGTH)
    return Sheet.build(
        "All estimates of the recipes",
        headings,
        [
            (data.name(language), name, *kinds[name], *(values.get((metric, language, name)) for metric in metrics))
            for language in (OVERALL, *data.languages)
            if (LENGTH, language, MULTILINGUAL) in values
            for name in kinds
        ],
        name="recipes-estimates",
        title="All estimates",
    )
