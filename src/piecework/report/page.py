"""Renders the sections into one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import jinja2
from markupsafe import Markup

from piecework.common.files import replace_atomically
from piecework.report.blocks import Figure, Note, Section, Sheet
from piecework.report.charts import NARROW, WIDE
from piecework.report.palette import DARK, LIGHT, css_variables, inline_colours, standing_alone
from piecework.report.sections.alternatives import alternatives_section
from piecework.report.sections.corpus import corpus_section
from piecework.report.sections.examples import examples_section
from piecework.report.sections.extension import extension_section
from piecework.report.sections.findings import findings_section
from piecework.report.sections.languages import languages_section
from piecework.report.sections.method import method_section
from piecework.report.sections.monolingual import monolingual_section
from piecework.report.sections.outside import outside_section
from piecework.report.sections.overlap import overlap_section
from piecework.report.sections.recipes import recipes_section
from piecework.report.sections.sizes import sizes_section
from piecework.report.sections.summary import Summary, make_summary
from piecework.report.sections.vocabulary import vocabulary_section
from piecework.report.study_data import StudyData
from piecework.report.svg import identified

if TYPE_CHECKING:
    from piecework.results.folder import StudyFolder

__all__ = ["notebook_html", "write_figures", "write_report"]

TEMPLATES = Path(__file__).parent / "templates"

SECTIONS = (
    extension_section,
    languages_section,
    recipes_section,
    monolingual_section,
    alternatives_section,
    sizes_section,
    vocabulary_section,
    overlap_section,
    outside_section,
    examples_section,
    corpus_section,
    findings_section,
    method_section,
)


def write_report(results: StudyFolder, path: Path, *, figures: Path | None = None) -> list[Path]:
    """Write the report of a study to one HTML file, and its charts into the folder `figures`; return the files."""
    data = StudyData(results)
    summary, sections = make_summary(data), list(_sections(data))
    page = _page(summary, sections)
    with replace_atomically(path) as temporary:
        # A file name in the corpus may be invalid UTF-8.
        temporary.write_bytes(page.encode("utf-8", "replace"))
    return [path, *(_write_charts(_figures(summary, sections), figures) if figures is not None else ())]


def write_figures(results: StudyFolder, folder: Path) -> list[Path]:
    """Write every chart as an SVG file of its own, in light colours, and return the files."""
    return _write_charts(study_figures(results), folder)


def _write_charts(figures: Iterable[Figure], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures:
        path = folder / f"{figure.name}.svg"
        with replace_atomically(path) as temporary:
            temporary.write_text(standing_alone(_drawn(figure, WIDE)) + "\n", encoding="utf-8")
        written.append(path)
    return written


def study_figures(results: StudyFolder) -> list[Figure]:
    """The charts of a study, in the order of the report."""
    data = StudyData(results)
    return _figures(make_summary(data), _sections(data))


def notebook_html(results: StudyFolder) -> str:
    """The findings and charts of a study for a notebook: no script, light colours."""
    data = StudyData(results)
    template = _environment().get_template("notebook.html.j2")
    page = template.render(summary=make_summary(data), sections=list(_sections(data)))
    return str(inline_colours(page))


def render(results: StudyFolder) -> str:
    """The report as HTML."""
    data = StudyData(results)
    return _page(make_summary(data), list(_sections(data)))


def _figures(summary: Summary, sections: Iterable[Section]) -> list[Figure]:
    """All figures in the order of the page."""
    first = [summary.figure] if summary.figure is not None else []
    return [*first, *(figure for section in sections for figure in section.figures)]


def _page(summary: Summary, sections: Sequence[Section]) -> str:
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            summary=summary,
            sections=sections,
            # Both are files of this package, and neither has "</".
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=Markup(style),
            light=css_variables(LIGHT),
            dark=css_variables(DARK),
        )
    )


def _sections(data: StudyData) -> Iterator[Section]:
    """The sections for which the study has data."""
    return (section for make in SECTIONS if (section := make(data)) is not None)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.tests |= {
        "figure": lambda block: isinstance(block, Figure),
        "sheet": lambda block: isinstance(block, Sheet),
        "note": lambda block: isinstance(block, Note),
    }
    environment.filters["bound"] = _bound
    environment.globals["svg"] = _svg
    return environment


def _svg(figure: Figure, size: Any) -> Markup:
    width = {"wide": WIDE, "narrow": NARROW}[size]
    return identified(_drawn(figure, width), f"{figure.name}-{size}")


# Each chart is used twice: in the page and as a file.
_DRAWN: WeakKeyDictionary[Figure, dict[int, Markup]] = WeakKeyDictionary()


def _drawn(figure: Figure, width: int) -> Markup:
    drawings = _DRAWN.setdefault(figure, {})
    if width not in drawings:
        drawings[width] = figure.chart.svg(width=width)
    return drawings[width]


def _bound(sentence: str) -> str:
    """The sentence with non-breaking spaces before percent signs.

    >>> _bound("40 % more")
    '40\\xa0% more'
    """
    return sentence.replace(" %", "\u00a0%")
