"""The characters of counted text: by subset, and added up."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import piecework as pw
from piecework.evaluation.characters import TextCharacters, add_characters, count_characters
from piecework.evaluation.units import EvaluationUnits

TEXTS = st.lists(st.text(alphabet="ab å漢\n\t.", min_size=1), max_size=4)


@given(TEXTS, TEXTS)
def test_characters_of_parts_add_up(first: list[str], second: list[str]) -> None:
    batches = [
        [("", batch) for _, batch in pw.count_units({"sv": texts}).evaluation_batches()] for texts in (first, second)
    ]
    together = count_characters([*batches[0], *batches[1]]).get("", TextCharacters({}, {}))
    added = add_characters(part for each in batches for part in count_characters(each).values())
    assert added == together
    assert list(added.counts) == list(together.counts)  # the order in which characters occur first
    assert added.counts == Counter("".join([*first, *second]))


@pytest.mark.parametrize("by", ["language", "subset"])
def test_units_have_the_characters_of_each_subset(by: str) -> None:
    counts = pw.count_units({"sv": ["en ros\n\när en ros"], "zh": ["玫瑰 ros"]})
    units = EvaluationUnits(counts, ["eval"], counts.languages, by=by)  # type: ignore[arg-type]
    found = {subset.language: text for subset, text in units.characters.items()}
    assert found["sv"].counts["\n"] == 2
    assert found["sv"].runs == {("\n", 2): 1}
    assert units.unspaced_shares == {"sv": 0.0, "zh": 0.4}
