"""Every colour has enough contrast where it is used, also for colour-blind readers, in the light and the dark theme."""

import math
from itertools import combinations

import pytest

from piecework.report.palette import (
    DARK,
    HEAT_STEPS,
    LANGUAGE_COLOURS,
    LIGHT,
    MARKERS,
    contrast,
    inline_colours,
    language_looks,
)

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
LANGUAGES = [f"language{number}" for number in range(1, LANGUAGE_COLOURS + 1)]

# Machado, Oliveira and Fernandes (2009): colours as people without red cones, and without green cones, see them.
SIGHTS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def test_themes_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()


@THEMES
@pytest.mark.parametrize("ground", ["paper", "wash"])
@pytest.mark.parametrize("ink", ["ink", "soft", "accent", "red", "blue", "good", "bad"])
def test_text_can_be_read(theme: dict[str, str], ink: str, ground: str) -> None:
    assert contrast(theme[ink], theme[ground]) >= 4.5


@THEMES
@pytest.mark.parametrize("step", range(1, HEAT_STEPS + 1))
def test_figures_on_shades_can_be_read(theme: dict[str, str], step: int) -> None:
    assert contrast(theme[f"heat{step}"], theme[f"heat-ink{step}"]) >= 4.5


@THEMES
@pytest.mark.parametrize("mark", ["axis", "bar", *LANGUAGES])
def test_marks_can_be_seen(theme: dict[str, str], mark: str) -> None:
    assert contrast(theme[mark], theme["paper"]) >= 3


@THEMES
@pytest.mark.parametrize("sight", SIGHTS)
def test_languages_can_be_told_apart(theme: dict[str, str], sight: str) -> None:
    seen = [_seen(theme[name], sight) for name in LANGUAGES]
    assert min(math.dist(first, second) for first, second in combinations(seen[:7], 2)) >= 0.1
    # Neighbours beyond the first seven differ in their shape as well.
    assert min(math.dist(first, second) for first, second in combinations(seen, 2)) >= 0.06


@THEMES
def test_shades_grow(theme: dict[str, str]) -> None:
    away = [contrast(theme[f"heat{step}"], theme["paper"]) for step in range(1, HEAT_STEPS + 1)]
    assert away == sorted(away)


@pytest.mark.parametrize("count", [1, 6, 12, 30])
def test_every_language_has_a_look_of_its_own(count: int) -> None:
    names = [*["sv", "en", "no", "da", "is", "code"][:count], *(f"language {number}" for number in range(count - 6))]
    looks = language_looks(names)
    assert len(set(looks.values())) == count
    assert looks == language_looks(reversed(names))
    if count <= LANGUAGE_COLOURS:
        assert len({look.colour for look in looks.values()}) == count
    assert {look.marker for look in looks.values()} <= set(MARKERS)


def test_languages_keep_their_colours_in_every_study() -> None:
    assert language_looks(["sv", "fi"])["sv"] == language_looks(["sv", "de", "code", "en"])["sv"]


def test_inline_colours_leaves_no_variable() -> None:
    assert inline_colours('<a fill="var(--heat-ink3)" b="var(--language12)"/>', DARK) == (
        f'<a fill="{DARK["heat-ink3"]}" b="{DARK["language12"]}"/>'
    )


def _seen(colour: str, sight: str) -> tuple[float, float, float]:
    """The colour in Oklab, a space in which equal distances look about equal."""
    encoded = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in encoded]
    red, green, blue = (
        min(max(sum(factor * value for factor, value in zip(row, linear, strict=True)), 0), 1) for row in SIGHTS[sight]
    )
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )
