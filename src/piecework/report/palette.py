"""Colours of the light and the dark theme by name; charts use CSS variables, so one drawing serves both."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

__all__ = [
    "DARK",
    "HEAT_STEPS",
    "LANGUAGE_COLOURS",
    "LIGHT",
    "MARKERS",
    "Look",
    "contrast",
    "css_variables",
    "inline_colours",
    "language_looks",
    "standing_alone",
]

LANGUAGE_COLOURS = 12
HEAT_STEPS = 7

# The hues of Okabe and Ito, moved in lightness until each has 3:1 on the page, and until the first seven are 0.1 apart
# in Oklab, and all twelve 0.06, for eyes without red or green cones as well (tests/report/test_palette.py computes it).
_LIGHT_LANGUAGES = [
    "#296cc9",
    "#b44a10",
    "#3da07e",
    "#670c6a",
    "#b28b08",
    "#3399cc",
    "#262a31",
    "#4a1800",
    "#571bb4",
    "#9e3b4e",
    "#454600",
    "#007b85",
]
_DARK_LANGUAGES = [
    "#367bd8",
    "#c55201",
    "#a0fdc5",
    "#ad5794",
    "#ebb91f",
    "#4bc2ff",
    "#a2a8b3",
    "#ce966e",
    "#9966fe",
    "#c54a64",
    "#e6eb75",
    "#80f2fb",
]
# From low to high; `heat-ink` is the text colour on each step.
_LIGHT_HEAT = ["#f2f5f9", "#dce7f3", "#bcd3ea", "#94b9dc", "#5f93c6", "#336fa9", "#1d4f86"]
_DARK_HEAT = ["#1d232c", "#20334a", "#234666", "#2a5f8c", "#3b7fb3", "#74abd6", "#b4d6f0"]


def _numbered(prefix: str, colours: Iterable[str]) -> dict[str, str]:
    return {f"{prefix}{number}": colour for number, colour in enumerate(colours, 1)}


LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "wash": "#f6f5f1",
    "ink": "#1c1e22",
    "soft": "#5b6068",
    "rule": "#e2e0da",
    "shade": "#d3d1ca",
    "axis": "#868b93",
    "accent": "#1f5c9e",
    "bar": "#4f7cac",
    "red": "#b3261e",
    "blue": "#1a51b8",
    "good": "#1b6e48",
    "bad": "#a8321f",
    **_numbered("language", _LIGHT_LANGUAGES),
    **_numbered("heat", _LIGHT_HEAT),
    **_numbered("heat-ink", ["#1c1e22"] * 4 + ["#0d0f12"] + ["#ffffff"] * 2),
}
"""Colours on white, by the names of their CSS variables."""

DARK: Mapping[str, str] = {
    "paper": "#14161a",
    "wash": "#1d2025",
    "ink": "#e9e7e2",
    "soft": "#a4a9b2",
    "rule": "#31353c",
    "shade": "#3c414a",
    "axis": "#757b85",
    "accent": "#86b7ec",
    "bar": "#6f9fd0",
    "red": "#ff8f85",
    "blue": "#8db6ff",
    "good": "#6fcf9f",
    "bad": "#ff9d85",
    **_numbered("language", _DARK_LANGUAGES),
    **_numbered("heat", _DARK_HEAT),
    **_numbered("heat-ink", ["#e9e7e2"] * 3 + ["#ffffff"] + ["#0b0d10"] * 3),
}
"""The same names in the dark."""

MARKERS = ("circle", "square", "diamond", "up", "down", "pentagon", "cross")
"""Shapes, so that colour is not the only difference."""

# Languages of the paper keep their colours in every study, and so does code.
_SLOTS = {"sv": 0, "en": 1, "no": 2, "nb": 2, "nn": 11, "da": 3, "is": 4, "fo": 5, "fi": 5, "code": 6}


@dataclass(frozen=True, slots=True)
class Look:
    """The colour (as CSS) and the shape of a language."""

    colour: str
    marker: str


def language_looks(languages: Iterable[str]) -> dict[str, Look]:
    """A colour and a shape for each language, independent of the order of `languages`.

    Up to twelve languages have a colour each; beyond that, colours repeat with another shape.

    >>> looks = language_looks(["sv", "en", "xx"])
    >>> looks["sv"]
    Look(colour='var(--language1)', marker='circle')
    >>> language_looks(["xx", "sv"])["xx"] == looks["xx"]
    True
    """
    names = sorted(set(languages))
    taken: dict[int, str] = {}
    slots: dict[str, int] = {}
    # Languages with a fixed slot first, or another language could take it.
    for name in sorted(names, key=lambda name: (name not in _SLOTS, name)):
        slot = _SLOTS.get(name, zlib.crc32(name.encode()) % LANGUAGE_COLOURS)
        while slot in taken:
            slot = (slot + 1) % LANGUAGE_COLOURS if len(taken) < LANGUAGE_COLOURS else slot + LANGUAGE_COLOURS
        taken[slot] = name
        slots[name] = slot
    return {
        name: Look(
            f"var(--language{slots[name] % LANGUAGE_COLOURS + 1})",
            MARKERS[(slots[name] + slots[name] // LANGUAGE_COLOURS) % len(MARKERS)],
        )
        for name in names
    }


def css_variables(theme: Mapping[str, str]) -> str:
    """The declarations of a theme's colours.

    >>> css_variables({"ink": "#000000"})
    '--ink:#000000'
    """
    return ";".join(f"--{name}:{colour}" for name, colour in theme.items())


def inline_colours(drawing: str, theme: Mapping[str, str] = LIGHT) -> Markup:
    """A drawing with literal colours: programs other than browsers do not know CSS variables.

    >>> inline_colours('<path fill="var(--ink)"/>')
    Markup('<path fill="#1c1e22"/>')
    """
    return Markup(re.sub(r"var\(--([\w-]+)\)", lambda match: theme[match[1]], drawing))


def standing_alone(drawing: str, theme: Mapping[str, str] = LIGHT) -> Markup:
    """A drawing for a file: literal colours, and a background.

    >>> standing_alone(Markup('<svg><desc></desc><path fill="var(--ink)"/></svg>'))
    Markup('<svg><desc></desc><rect width="100%" height="100%" fill="#ffffff"/><path fill="#1c1e22"/></svg>')
    """
    ground = '<rect width="100%" height="100%" fill="var(--paper)"/>'
    # As plain text, since Markup would escape what it puts in.
    return inline_colours(str(drawing).replace("</desc>", f"</desc>{ground}", 1), theme)


def contrast(first: str, second: str) -> float:
    """The contrast of two colours by WCAG 2, from 1 to 21.

    >>> round(contrast("#ffffff", "#000000"), 3)
    21.0
    """
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
