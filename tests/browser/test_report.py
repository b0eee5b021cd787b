"""The report in a real browser: it shows everything, loads nothing else, fits a phone, prints, and needs no script."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.visits import Visitor
from piecework.report import write_report
from report.studies import HOSTILE_NAME, HOSTILE_TEXT, run_study

SIX = ["sv", "en", "no", "da", "is", "code"]
STUDIES = {
    "six": (SIX, {"name": HOSTILE_NAME, "texts": {"code": [f"{HOSTILE_TEXT}\n{HOSTILE_TEXT} {n}" for n in range(40)]}}),
    "one": (["sv"], {}),
    "twelve": ([f"language {number}" for number in range(11)] + ["a language with a rather long name"], {}),
    "bare": (["sv", "empty"], {"monolingual": False, "vocab_sizes": []}),
    "thirty": ([f"l{number}" for number in range(30)], {"documents": 40, "vocab_size": 900, "vocab_sizes": [600, 900]}),
}
SECTIONS = ["summary", "languages", "sizes", "vocabulary", "examples", "corpus", "method"]

every = pytest.mark.parametrize("address", list(STUDIES), indirect=True)
six = pytest.mark.parametrize("address", ["six"], indirect=True)


# In each picture: texts that reach out of the frame, and pairs of texts that cover each other.
CLASHES = """() => [...document.querySelectorAll('figure .chart svg')]
  .filter(svg => svg.getClientRects().length)
  .flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
    const outside = texts.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 2 || box.bottom > frame.bottom + 2).map(([text]) => `outside: ${text}`);
    const covered = texts.flatMap(([first, a], index) => texts.slice(index + 1)
        .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
        .map(([second]) => `covered: ${first} / ${second}`));
    return [...outside, ...covered].map(what => `${svg.closest('figure').id}: ${what}`);
  })"""


# Texts of the page with too little contrast to their background. Texts in charts are tested with the palette instead.
FAINT = """() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (rgb) => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(element).backgroundColor);
      if (a) return [r, g, b];
    }
  };
  const opacity = (element) => element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1;
  return [...document.querySelectorAll('body *:not(svg *, script)')]
    .filter(each => each.getClientRects().length && [...each.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .map(each => {
      const ground = behind(each), share = opacity(each);
      const ink = channels(getComputedStyle(each).color).slice(0, 3).map((v, i) => v * share + ground[i] * (1 - share));
      const [dark, light] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
      return [(light + 0.05) / (dark + 0.05), each.tagName, each.textContent.slice(0, 40)];
    }).filter(([contrast]) => contrast < 4.5);
}"""


# Opens everything that is folded.
UNFOLD = "() => document.querySelectorAll('details').forEach(each => { each.open = true; })"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"": tmp_path_factory.mktemp("reports")}


@pytest.fixture
def address(pages: dict[str, Path], request: pytest.FixtureRequest) -> str:
    """The report of a study. The study runs when its report is first needed."""
    name = request.param
    if name not in pages:
        languages, settings = STUDIES[name]
        results = run_study(pages[""] / name, languages, **settings)
        pages[name] = pages[""] / f"{name}.html"
        write_report(results, pages[name])
    return pages[name].as_uri()


@every
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_everything_is_there_and_fits(address: str, visit: Visitor, width: int, scheme: str) -> None:
    visited = visit(address, width=width, color_scheme=scheme)
    page = visited.page
    assert visited.requests == [address]
    sections = page.eval_on_selector_all("main > section", "all => all.map(each => each.id)")
    assert [name for name in sections if name in SECTIONS] == SECTIONS
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = ".chart.narrow" if width == 390 else ".chart.wide"
    figures = page.locator("figure").count()
    assert figures >= 7
    assert page.locator(f"figure {drawn} svg:visible").count() == figures
    assert page.locator("figure .chart svg:visible").count() == figures
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 22, 26)")
    assert page.evaluate(CLASHES) == []
    assert page.evaluate(FAINT) == []


@pytest.mark.parametrize("address", ["twelve"], indirect=True)
@pytest.mark.parametrize("width", [320, 360, 800, 1160, 1920])
def test_no_scrolling_sideways(address: str, visit: Visitor, width: int) -> None:
    page = visit(address, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wider = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.parentElement.id)"
    # Charts that would be too small to read keep their size, and scroll in their own box.
    page.evaluate(UNFOLD)
    assert set(page.eval_on_selector_all(".chart", wider)) <= {"monolingual-table"}


@pytest.mark.parametrize("address", ["six", "twelve"], indirect=True)
def test_it_is_short_with_few_languages_too(address: str, visit: Visitor) -> None:
    assert visit(address, width=1280).page.evaluate("document.documentElement.scrollHeight") <= 12_000


@pytest.mark.parametrize("address", ["thirty"], indirect=True)
def test_many_languages_are_short_and_answered_first(address: str, visit: Visitor) -> None:
    page = visit(address, width=1280, height=900).page
    assert page.evaluate("document.documentElement.scrollHeight") <= 12_000
    answer = page.locator("#cost h3").bounding_box()
    chart = page.locator("#cost .chart.wide svg").bounding_box()
    assert answer
    assert chart
    assert answer["y"] + answer["height"] < 250
    assert chart["y"] + chart["height"] <= 900
    labels = page.locator("#cost .chart.wide svg text").all_text_contents()
    assert {f"L{number}" for number in range(30)} <= set(labels)
    page.evaluate(UNFOLD)
    # Each language has a panel with its name. Thirty lines in one chart would cross.
    names = page.locator("#sizes-fertility .chart.wide svg text").all_text_contents()
    assert {f"L{number}" for number in range(30)} <= set(names)


@six
def test_passages_are_three_lines_until_opened(address: str, visit: Visitor) -> None:
    page = visit(address).page
    tokens = page.locator(".passage > .tokens").first
    line = tokens.evaluate("each => parseFloat(getComputedStyle(each).lineHeight)")
    assert tokens.evaluate("each => each.clientHeight") <= 3 * line + 2
    page.locator(".passage > details > summary").first.click()
    assert tokens.evaluate("each => each.scrollHeight <= each.clientHeight")
    page.locator(".passage > details").first.get_by_role("heading", name="Original", exact=True).wait_for()


@six
def test_tooltips_follow_the_pointer(address: str, visit: Visitor) -> None:
    page = visit(address).page
    page.locator("#sizes-fertility .chart.wide").scroll_into_view_if_needed()
    page.locator("#sizes-fertility .chart.wide .tip").nth(10).hover()
    tip = page.locator(".floating")
    assert tip.is_visible()
    lines = tip.inner_text().splitlines()
    assert lines[0].startswith("Vocabulary size: ")
    values = [float(line.rpartition(": ")[2]) for line in lines[1:]]
    assert len(values) == 6
    assert values == sorted(values, reverse=True)
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_right_to_left_text(visit: Visitor, tmp_path: Path) -> None:
    texts = {"he": [f"{word} שלום עולם זה טקסט %(count)s מספר {word}" for word in ("אחד", "שתיים", "שלוש") * 30]}
    results = run_study(tmp_path / "study", ["sv", "he"], texts=texts, vocab_size=400, vocab_sizes=[])
    write_report(results, tmp_path / "report.html")
    page = visit((tmp_path / "report.html").as_uri()).page
    page.evaluate(UNFOLD)
    for selector in (".tokens", ".text"):
        directions = page.eval_on_selector_all(
            f"{selector}[lang=he]", "all => all.map(each => getComputedStyle(each).direction)"
        )
        assert directions
        assert set(directions) == {"rtl"}
    assert page.locator(".tokens[lang=sv]").first.evaluate("each => getComputedStyle(each).direction") == "ltr"


@every
def test_without_scripts(address: str, visit: Visitor) -> None:
    page = visit(address, java_script_enabled=False).page
    assert page.locator("button").count() == 0
    assert page.locator("figure .chart.wide svg").first.is_visible()
    details = page.locator("figure details").first
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    page.locator("nav a", has_text="Method").click()
    assert page.locator("#method h2").is_visible()


@every
def test_prints_to_a_sensible_number_of_pages(address: str, visit: Visitor) -> None:
    page = visit(address, color_scheme="dark").page
    printed = page.pdf(prefer_css_page_size=True)
    count = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 4 <= count <= 20
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        page.locator(".fold:visible, figure details:visible, nav:visible, .tools:visible, .theme:visible").count() == 0
    )
    # A4 without its margins, at 96 pixels per inch: wider elements would be cut off.
    page.set_viewport_size({"width": 672, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 672


@six
def test_data_stays_data(address: str, visit: Visitor) -> None:
    page = visit(address).page
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.reload()
    assert page.inner_text("h1") == HOSTILE_NAME
    assert HOSTILE_NAME in page.title()
    assert page.locator("img").count() == 0
    assert "</script><script>alert(1)</script>" in page.inner_text("#examples")
    assert said == []


@six
def test_sorting(address: str, visit: Visitor) -> None:
    page = visit(address).page
    table = page.locator("#all-metrics table")

    def column(number: int) -> list[str]:
        return table.locator(f"tbody tr > :nth-child({number})").all_inner_texts()

    heading = table.locator("thead th").nth(1)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = [float(value) for value in column(2)]
    assert values == sorted(values, reverse=True)
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [float(value) for value in column(2)] == sorted(values)
    table.locator("thead th button").first.click()
    assert column(1) == sorted(column(1), key=str.lower)
    assert heading.get_attribute("aria-sort") is None


@six
def test_copying_the_data(address: str, visit: Visitor) -> None:
    page = visit(address, permissions=["clipboard-read", "clipboard-write"]).page
    page.locator("#cost").get_by_role("button", name="Copy CSV").click()
    page.get_by_role("button", name="Copied").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0] == "language,value,95 % interval from,to"
    assert len(lines) == 6
    name, value, low, high = lines[1].split(",")
    assert float(low) < float(value) < float(high)
    assert len(value) > 8, "figures are copied in full"
    shown = page.locator("#cost tbody tr").first.locator("td").first
    assert shown.get_attribute("data-value") == value
    assert name


@six
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_saving_a_chart(address: str, visit: Visitor, scheme: str, tmp_path: Path) -> None:
    page = visit(address, color_scheme=scheme).page
    with page.expect_download() as download:
        page.locator("#sizes-fertility").get_by_role("button", name="Save SVG").click()
    assert download.value.suggested_filename == "sizes-fertility.svg"
    download.value.save_as(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert "var(" not in text
    root = ElementTree.fromstring(text)
    ground = root.find("{http://www.w3.org/2000/svg}rect")
    assert ground is not None
    assert ground.get("fill") == ("#ffffff" if scheme == "light" else "#14161a")


@six
def test_choosing_light_or_dark(address: str, visit: Visitor) -> None:
    page = visit(address, color_scheme="light").page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.get_by_role("button", name="Dark colours").click()
    assert ground() == "rgb(20, 22, 26)"
    page.reload()
    assert ground() == "rgb(20, 22, 26)"
    page.get_by_role("button", name="Light colours").click()
    assert ground() == "rgb(255, 255, 255)"


@six
def test_by_keyboard(address: str, visit: Visitor) -> None:
    page = visit(address).page
    page.keyboard.press("Tab")
    assert _focused(page) == "Skip to content"
    page.keyboard.press("Tab")
    assert _focused(page) == "Summary"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


@six
def test_names_for_screen_readers(address: str, visit: Visitor) -> None:
    page = visit(address).page
    page.evaluate(UNFOLD)
    pictures = page.get_by_role("img")
    assert pictures.count() == page.locator("figure").count()
    for number in range(pictures.count()):
        title = page.locator("figure h3").nth(number).text_content() or ""
        title = title.replace("\u00a0", " ")
        assert page.get_by_role("img", name=title, exact=True).count() >= 1
    for name in ("Contents", "Summary", "The vocabulary size"):
        assert page.get_by_label(name).count() >= 1


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))
