"""SVG elements with escaped text and short numbers, and the approximate width of a text."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from markupsafe import Markup, escape

__all__ = ["FONT", "drawing", "element", "identified", "marker", "path", "text", "text_width"]

FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans','Liberation Sans',Arial,sans-serif"

# The prefix of ids in a picture outside a page.
_ANYWHERE = "picture"

# Characters that XML 1.0 cannot contain.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def element(name: str, *content: str, **attributes: str | float | None) -> Markup:
    """An element; `stroke_width` becomes stroke-width, None is omitted, text is escaped.

    >>> element("text", "a < b", x=1.25, font_weight=600, fill=None)
    Markup('<text x="1.2" font-weight="600">a &lt; b</text>')
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(each if isinstance(each, Markup) else escape(_NOT_XML.sub("\ufffd", each)) for each in content)
    return Markup(f"<{name}{written}>{inner}</{name}>") if inner else Markup(f"<{name}{written}/>")


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return escape(_NOT_XML.sub("\ufffd", value))
    return _number(value)


def _number(value: float) -> str:
    # A tenth of a pixel is enough, and hides rounding differences between machines.
    written = f"{value:.1f}".removesuffix(".0")
    return written if written != "-0" else "0"


def drawing(*content: str, width: float, height: float, title: str, description: str) -> Markup:
    """A whole picture with a title and a description for screen readers."""
    labels = Markup("").join(
        [
            element("title", title, id=f"{_ANYWHERE}-title"),
            element("desc", description, id=f"{_ANYWHERE}-desc"),
        ]
    )
    return element(
        "svg",
        labels,
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=f"{_ANYWHERE}-title",
        aria_describedby=f"{_ANYWHERE}-desc",
        font_family=FONT,
        font_size=12,
        fill="var(--ink)",
    )


def identified(picture: Markup, identity: str) -> Markup:
    """A picture whose ids start with `identity`, so that they are unique in a page.

    >>> identified(element("title", "a", id="picture-title"), "sizes")
    Markup('<title id="sizes-title">a</title>')
    """
    # Quotation marks occur only around attributes: in text they are escaped.
    return Markup(str(picture).replace(f'"{_ANYWHERE}-', f'"{escape(identity)}-'))


def text(content: str, x: float, y: float, **attributes: str | float | None) -> Markup:
    """Text that starts at x, with its baseline at y; `anchor` is start, middle or end."""
    attributes["text_anchor"] = attributes.pop("anchor", None)
    return element("text", content, x=x, y=y, **attributes)


def path(points: list[tuple[float, float]], **attributes: str | float | None) -> Markup:
    """A line through these points.

    >>> path([(0, 0), (10, 5.04)], stroke="var(--ink)")
    Markup('<path d="M0 0L10 5" fill="none" stroke="var(--ink)"/>')
    """
    steps = "L".join(f"{_number(x)} {_number(y)}" for x, y in points)
    return element("path", d=f"M{steps}", **{"fill": "none", **attributes}) if len(points) else Markup()


_OUTLINES = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
    "up": [(0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
    "down": [(0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
    "pentagon": [(0, -1.1), (1.05, -0.34), (0.65, 0.89), (-0.65, 0.89), (-1.05, -0.34)],
    "cross": [
        (-0.45, -1.15),
        (0.45, -1.15),
        (0.45, -0.45),
        (1.15, -0.45),
        (1.15, 0.45),
        (0.45, 0.45),
        (0.45, 1.15),
        (-0.45, 1.15),
        (-0.45, 0.45),
        (-1.15, 0.45),
        (-1.15, -0.45),
        (-0.45, -0.45),
    ],
}


def marker(shape: str, x: float, y: float, *, radius: float = 4.5, **attributes: str | float | None) -> Markup:
    """A mark of that shape at a point; all shapes have about the same size."""
    tooltip = attributes.pop("tooltip", None)
    inside = [element("title", str(tooltip))] if tooltip else []
    if shape == "circle":
        return element("circle", *inside, cx=x, cy=y, r=radius, **attributes)
    corners = " ".join(f"{_number(x + dx * radius)},{_number(y + dy * radius)}" for dx, dy in _OUTLINES[shape])
    return element("polygon", *inside, points=corners, **attributes)


def text_width(content: str, size: float = 12, *, bold: bool = False) -> float:
    """The approximate width of a text; fonts differ by some percent, so leave room.

    >>> text_width("il") < text_width("ab") < text_width("MW") < text_width("漢字")
    True
    """
    width = sum(map(_character_width, content))
    return width * size * (1.06 if bold else 1.0)


@cache
def _character_width(character: str) -> float:
    if character in "ijl.,:;'|!() ftrI-·":
        return 0.36
    if character in "mwMW%—":
        return 0.92
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.7 if character.isupper() else 0.61
