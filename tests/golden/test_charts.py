"""Charts are drawn as the committed pictures show; `PIECEWORK_UPDATE_GOLDEN=1 pytest tests/golden` draws them anew."""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from golden.sample_charts import CHARTS
from piecework.report.charts import NARROW, WIDE
from piecework.report.palette import inline_colours

FOLDER = Path(__file__).parent / "charts"
UPDATE = bool(os.environ.get("PIECEWORK_UPDATE_GOLDEN"))
SVG = "{http://www.w3.org/2000/svg}"

cases = pytest.mark.parametrize(("name", "width"), [(name, width) for name in CHARTS for width in (WIDE, NARROW)])


@cases
def test_drawn_as_before(name: str, width: int) -> None:
    path = FOLDER / f"{name}-{width}.svg"
    drawn = inline_colours(CHARTS[name].svg(width=width)) + "\n"
    if UPDATE:
        path.write_text(drawn, encoding="utf-8")
    assert path.exists(), "no such picture yet; look at it after PIECEWORK_UPDATE_GOLDEN=1 pytest tests/golden"
    assert drawn == path.read_text(encoding="utf-8")


def test_no_picture_is_left_over() -> None:
    wanted = {f"{name}-{width}.svg" for name in CHARTS for width in (WIDE, NARROW)}
    assert {path.name for path in FOLDER.iterdir()} == wanted


@cases
def test_has_a_name_and_stays_within_its_frame(name: str, width: int) -> None:
    root = ElementTree.fromstring(CHARTS[name].svg(width=width))
    assert root.get("role") == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == CHARTS[name].title
    assert description.text
    assert root.get("aria-labelledby") == title.get("id")
    assert root.get("aria-describedby") == description.get("id")
    right, bottom = map(float, (root.get("width", ""), root.get("height", "")))
    assert right == width or name.startswith("heat")
    for each in root.iter(f"{SVG}rect"):
        x, y, wide, high = (float(each.get(key, "")) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + wide <= right + 0.1, each.attrib
        assert 0 <= y <= y + high <= bottom, each.attrib
        assert wide >= 0, each.attrib
    for each in root.iter(f"{SVG}text"):
        assert 0 <= float(each.get("x", "")) <= right
        assert 0 <= float(each.get("y", "")) <= bottom


@cases
def test_drawn_the_same_twice(name: str, width: int) -> None:
    assert CHARTS[name].svg(width=width) == CHARTS[name].svg(width=width)
