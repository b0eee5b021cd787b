"""The answer of a study in one figure: the cost of each language, with intervals."""

from __future__ import annotations

from collections.abc import Mapping

from piecework.common.terms import MULTILINGUAL, OVERALL
from piecework.corpus.languages import CODE
from piecework.report.blocks import Figure, Heading, Sheet
from piecework.report.charts import Bar, BarChart
from piecework.report.charts.axes import value_text
from piecework.report.study_data import Estimate, StudyData, list_of

__all__ = ["cost_figure", "cost_order"]

MOST_NAMED = 6


def cost_order(data: StudyData) -> list[str]:
    """The languages with text, most expensive first; then those that tokens per word cannot compare."""
    comparable = list(reversed(data.values_per_word("fertility")))
    return comparable + [name for name in data.values("fertility") if name not in comparable]


def cost_figure(data: StudyData) -> Figure | None:
    """The premium on parallel text; without it, tokens per word; without words, characters per token."""
    premiums = data.rows("parallel", tokenizer=MULTILINGUAL, metric="premium")
    if premiums:
        pivot = data.inline_name(premiums[0]["pivot"])
        estimates = {row["language"]: Estimate(row["value"], row["low"], row["high"]) for row in premiums}
        axis = f"Tokens for the same text, divided by those of {pivot}"
        return _figure(data, estimates, axis, topic="premium", floor=0.0)
    per_word = data.values_per_word("fertility")
    if per_word:
        names = [*per_word, *([OVERALL] if len(per_word) > 1 and len(per_word) == len(data.languages) else [])]
        estimates = {name: data.estimate("fertility", name) for name in names}
        return _figure(data, estimates, "Tokens per word", topic="languages", floor=1.0)
    estimates = {name: data.estimate("characters_per_token", name) for name in data.values("characters_per_token")}
    return _figure(data, estimates, "Characters per token", topic="", floor=0.0) if estimates else None


def _figure(data: StudyData, estimates: Mapping[str, Estimate], axis: str, *, topic: str, floor: float) -> Figure:
    lower_is_better = bool(topic)
    order = sorted(
        (name for name, each in estimates.items() if each.value is not None and name != OVERALL),
        key=lambda name: ((estimates[name].value or 0) * (-1 if lower_is_better else 1), name),
    )
    order += [OVERALL] if OVERALL in estimates else []
    bars = tuple(
        Bar(data.name(name), each.value, each.low, each.high, data.colour(name))
        for name in order
        for each in [estimates[name]]
    )
    headline = next((row for row in data.rows("summary") if row["topic"] == topic), None)
    # A percent sign stays on the line of its number.
    title = headline["sentence"].removesuffix(".").replace(" %", "\u00a0%") if headline else _title(bars, axis)
    listed = ", ".join(f"{bar.label} {value_text(bar.value, 'number')}" for bar in bars)
    chart = BarChart(title, f"{axis}: {listed}.", axis, bars, floor=floor)
    sheet = Sheet.build(
        axis,
        ["language", Heading("value", "number"), Heading("95 % interval from", "number"), Heading("to", "number")],
        [(bar.label, bar.value, bar.low, bar.high) for bar in bars],
    )
    return Figure("cost", title, _how_to_read(data, axis, topic, headline, bars), chart, sheet)


def _how_to_read(
    data: StudyData, axis: str, topic: str, headline: Mapping[str, str] | None, bars: tuple[Bar, ...]
) -> str:
    better = "Lower" if topic else "Higher"
    sentences = [f"{axis}: the multilingual tokenizer on held-out text, with 95 % intervals. {better} is better."]
    if topic == "premium":
        sentences = [f"{axis}. The same sentences in every language, with 95 % intervals. Lower is better."]
    elif headline and headline["certainty"].startswith("95 %"):
        sentences.append(f"The difference has a {headline['certainty']}.")
    if few := [bar.label for bar in bars if bar.low is None]:
        named = list_of(few) if len(few) <= MOST_NAMED else f"{len(few)} languages"
        sentences.append(f"{named} {'has' if len(few) == 1 else 'have'} too few documents for an interval.")
    left_out = [name for name in data.values("fertility") if name not in data.per_word]
    if topic == "languages" and left_out:
        unspaced = [name for name in data.unspaced if name in left_out]
        if unspaced:
            verb = "is" if len(unspaced) == 1 else "are"
            sentences.append(f"{data.sentence_list(unspaced)} {verb} left out: no spaces between words.")
        if CODE in left_out:
            sentences.append("Code is left out: its words are not words of a language.")
    return " ".join(sentences)


def _title(bars: tuple[Bar, ...], axis: str) -> str:
    first = bars[0]
    return f"{axis}: {first.label} {value_text(first.value, 'number')}" + (
        f", {bars[-1].label} {value_text(bars[-1].value, 'number')}" if len(bars) > 1 else ""
    )
