"""The page: every section has the values of the tables, all data is escaped, and nothing is loaded from other hosts."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from piecework.pipeline.results import StudyResults
from piecework.report import notebook_html, write_figures, write_report
from piecework.report.page import TEMPLATES, render, study_figures
from report.html import Element, parse
from report.studies import HOSTILE_LANGUAGE, HOSTILE_NAME

SECTIONS = [
    "summary",
    "languages",
    "monolingual",
    "sizes",
    "vocabulary",
    "overlap",
    "examples",
    "corpus",
    "findings",
    "method",
]
FIGURES = [
    "cost",
    "metrics",
    "monolingual-cost",
    "monolingual-fertility",
    "monolingual-table",
    "monolingual-continued-words",
    "sizes-fertility",
    "sizes-continued-words",
    "sizes-gain",
    "lengths",
    "vocabulary-use",
    "overlap-pairs",
    "overlap-multilingual",
    "overlap-sizes",
    "overlap-sizes-tokens",
    "training-text",
]


@pytest.fixture(scope="module")
def source(hostile: StudyResults) -> str:
    return render(hostile)


@pytest.fixture(scope="module")
def page(source: str) -> Element:
    return parse(source)


def section(page: Element, name: str) -> Element:
    return next(each for each in page.all("section") if each.attributes["id"] == name)


def test_all_sections_and_figures(page: Element) -> None:
    sections = [each.attributes["id"] for each in page.all("section")]
    assert sections == SECTIONS
    assert [each.attributes["href"] for each in page.all("nav")[0].all("a")] == [f"#{name}" for name in SECTIONS]
    assert [each.attributes["id"] for each in page.all("figure")] == FIGURES


def test_every_figure_has_all_that_a_reader_needs(page: Element) -> None:
    for figure in page.all("figure"):
        title, how_to_read = figure.all("h3")[0].text, figure.all("figcaption")[0].all("p")[0].text
        assert len(title) > 15, title
        assert any(character.isdigit() for character in title), f"a finding has a number: {title}"
        assert len(how_to_read) > 30
        drawings = figure.all("svg")
        assert len(drawings) == 2
        for drawing in drawings:
            assert drawing.attributes["role"] == "img"
            assert drawing.children[0].name == "title"
            assert drawing.children[0].text == title
            assert len(drawing.children[1].text) > 20
        rows = figure.all("details")[0].all("tbody")[0].all("tr")
        assert rows
        assert all(len(row.children) == len(figure.all("thead")[0].all("th")) for row in rows)


def test_ids_are_unique_and_links_lead_somewhere(page: Element) -> None:
    ids = [each.attributes["id"] for each in page.walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        address = link.attributes["href"]
        assert address
        assert address.startswith("#")
        assert address[1:] in ids
    for drawing in page.all("svg"):
        assert {drawing.attributes["aria-labelledby"], drawing.attributes["aria-describedby"]} <= set(ids)


def test_names_and_texts_are_data(source: str, page: Element) -> None:
    scripts = page.all("script")
    assert len(scripts) == 1
    assert scripts[0].text == (TEMPLATES / "report.js").read_text(encoding="utf-8")
    assert len(page.all("style")) == 1
    assert page.all("img") == []
    assert page.all("b") == [each for each in page.all("b") if "x" not in each.text], "a language became an element"
    assert page.all("h1")[0].text == HOSTILE_NAME
    assert HOSTILE_LANGUAGE in page.all("nav")[0].text + section(page, "languages").text
    assert "alert(1)" in page.text
    assert "{{ 7*7 }}" in section(page, "examples").text
    assert "49" not in {each.text for each in page.all("span")}
    for each in page.walk():
        assert not [name for name in each.attributes if name.startswith("on")], each
        assert "javascript:" not in str(each.attributes.get("href"))
    assert "</script><script>" not in source


def test_pieces_that_are_markup_are_shown(page: Element) -> None:
    hovers = [str(each.attributes.get("title")) for each in page.all("span")]
    assert any("<0x0A>" in hover for hover in hovers)
    assert any("\\x07" in hover for hover in hovers)
    assert any("scr" in hover for hover in hovers)
    boxed = [each for each in page.all("span") if "y" in str(each.attributes.get("class")).split()]
    assert boxed
    assert all("<0x" in str(each.attributes["title"]) for each in boxed)


def test_nothing_comes_from_elsewhere(source: str, page: Element) -> None:
    policy = next(each.attributes["content"] for each in page.all("meta") if "http-equiv" in each.attributes)
    assert policy
    assert "default-src 'none'" in policy
    script = page.all("script")[0].text.encode()
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy
    assert page.all("link") == []
    assert not [each for each in page.walk() if "src" in each.attributes]
    outside = set(re.findall(r"https?://[^\"'<\s]+", source))
    assert outside == {"http://www.w3.org/2000/svg"}
    style = page.all("style")[0].text
    assert "@import" not in style
    assert "url(" not in style


def test_the_values_are_those_of_the_tables(hostile: StudyResults, page: Element) -> None:
    rows = hostile.tables["metrics"].where(tokenizer="multilingual", metric="fertility").rows()
    expected = {str(row["value"]) for row in rows if row["value"] is not None}
    figure = next(each for each in page.all("figure") if each.attributes["id"] == "metrics")
    printed = {row.children[1].attributes["data-value"] for row in figure.all("tbody")[0].all("tr")}
    assert printed == expected


def test_curves_are_exact_at_the_studys_sizes(hostile: StudyResults, page: Element) -> None:
    figure = next(each for each in page.all("figure") if each.attributes["id"] == "sizes-fertility")
    shown = [[str(cell.attributes["data-value"]) for cell in row.children] for row in figure.all("tbody")[0].all("tr")]
    assert [row[0] for row in shown] == ["400", "480", "560"]
    for column, language in enumerate(hostile.languages, 1):
        for row in shown:
            value = hostile.tables["metrics"].where(
                tokenizer="multilingual" if row[0] == "560" else f"multilingual-{row[0]}",
                metric="fertility",
                language=language,
            )
            assert float(row[column]) == pytest.approx(value.rows()[0]["value"], rel=1e-12)


def test_passages_put_together_are_the_text(hostile: StudyResults, page: Element) -> None:
    examples = section(page, "examples")
    texts = [each.text for each in examples.all("p") if each.attributes.get("class") == "text"]
    for row in hostile.tables["examples"].rows():
        # Characters that HTML cannot write are not in the page.
        assert row["text"] in texts
    counts = [each.text for each in examples.all("b")]
    assert counts == [f"{row['tokens']:,}" for row in hostile.tables["examples"].rows()]


def test_the_same_page_every_time(hostile: StudyResults, source: str, tmp_path: Path) -> None:
    write_report(hostile, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == source
    again = StudyResults.load(hostile.folder)
    assert render(again) == source
    assert len(source) < 1_500_000


def test_figures_as_files(hostile: StudyResults, tmp_path: Path) -> None:
    paths = write_figures(hostile, tmp_path / "figures")
    assert [path.name for path in paths] == [f"{name}.svg" for name in FIGURES]
    for path, figure in zip(paths, study_figures(hostile), strict=True):
        text = path.read_text(encoding="utf-8")
        assert "var(" not in text
        root = ElementTree.fromstring(text)
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert title.text == figure.title


def test_in_a_notebook(hostile: StudyResults) -> None:
    page = parse(notebook_html(hostile))
    assert page.all("script") == []
    assert len(page.all("svg")) == len(FIGURES)
    for figure in study_figures(hostile):
        assert figure.title in page.text
    assert "var(" not in notebook_html(hostile)
    assert HOSTILE_NAME in page.text


def test_what_is_missing_is_left_out(bare: StudyResults) -> None:
    page = parse(render(bare))
    assert [each.attributes["id"] for each in page.all("section")] == [
        name for name in SECTIONS if name not in ("monolingual", "overlap", "findings")
    ]
    corpus = next(each for each in page.all("section") if each.attributes["id"] == "corpus").text
    assert "No documents in made-up_empty." in corpus
    assert "No evaluation text in empty" in corpus
    assert "None" not in page.text
    assert "nan" not in page.text.lower().replace("finan", "")


def test_every_number_in_a_figure_is_finite(source: str) -> None:
    for drawing in re.findall(r"<svg.*?</svg>", source, re.DOTALL):
        assert not re.search(r"\b(nan|inf|None)\b", drawing)
