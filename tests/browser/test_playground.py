"""The playground in a real browser: what a person types, points at, slides, searches and copies."""

import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sentencepiece
from playwright.sync_api import Locator, Page, expect

import piecework as pw
from browser.visits import Visit, Visitor
from cli.command import made_up_lines
from piecework.playground.catalogue import Catalogue
from piecework.playground.server import listen, serve_in_background
from playground.examples import LINES

expect.set_options(timeout=15_000)  # other tests run beside these

CODE = LINES[:5] * 10
PROSE = made_up_lines(300)
PERMISSIONS = ["clipboard-read", "clipboard-write"]
SAMPLES = ["sv", "en", "no", "da", "is", "code", "numbers", "emoji", "indentation"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("playground")
    recipe = pw.Recipe.gpt_sw3(vocab_size=700)
    pw.train(pw.count_words([*PROSE, *CODE]), recipe).save(folder / "both")
    pw.train(pw.count_words(PROSE), recipe.model_copy(update={"vocab_size": 600})).save(folder / "prose")
    pw.train(pw.count_words(CODE), recipe.model_copy(update={"vocab_size": 420})).save(folder / "code")
    return folder


@pytest.fixture(scope="module")
def tokenizers(folder: Path) -> dict[str, pw.Tokenizer]:
    return {name: pw.Tokenizer.load(folder / name) for name in ("both", "prose", "code")}


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    counts = pw.count_units({"prose": PROSE, "code": CODE})
    catalogue = Catalogue.from_models({name: folder / name for name in ("both", "prose", "code")}, counts=counts)
    with serve_in_background(catalogue, listen(port=0)) as url:
        yield url


@contextmanager
def answered(page: Page) -> Iterator[None]:
    """The code in the block changes the lanes. When the block ends, the page has drawn them."""
    body = page.locator("body")  # not wait_for_function: the page's security policy forbids it
    before = body.get_attribute("data-answers")
    yield
    expect(body).not_to_have_attribute("data-answers", str(before), timeout=20_000)


def opened(visit: Visitor, address: str, **options: object) -> tuple[Visit, Page]:
    made = visit(address, permissions=PERMISSIONS, **options)
    made.page.wait_for_selector("body[data-answers]")
    return made, made.page


def reload(page: Page) -> None:
    page.wait_for_timeout(400)  # the address is written a quarter of a second after the last change
    page.reload()
    page.wait_for_selector("body[data-answers]")


def put(page: Page, text: str) -> None:
    with answered(page):
        page.fill("#text", text)


def paste(page: Page, text: str) -> None:
    page.evaluate(
        """text => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        const paste = new ClipboardEvent("paste", {clipboardData: data, cancelable: true});
        document.getElementById("text").dispatchEvent(paste);
    }""",
        text,
    )


def copied(page: Page, kind: str) -> str:
    page.click("#copy")
    page.get_by_role("menuitem", name=kind).click()
    expect(page.locator("#toast")).to_contain_text(f"Copied as {kind}")
    return str(page.evaluate("navigator.clipboard.readText()"))


def lane(page: Page, number: int) -> Locator:
    return page.locator(".lane").nth(number)


def statistic(page: Page, number: int, name: str) -> str:
    entry = (
        lane(page, number).locator(".statistics div").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$")))
    )
    return entry.locator("dd").inner_text()


def oracle(folder: Path, name: str) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(str(folder / name / "tokenizer.model"))


def test_typing_updates_every_lane(visit: Visitor, address: str, folder: Path) -> None:
    _, page = opened(visit, address)
    page.get_by_label("ids", exact=True).check()
    put(page, "")
    page.locator("#text").press_sequentially("för land 12 😀")
    for number, name in enumerate(("both", "prose")):
        wanted = oracle(folder, name).encode("för land 12 😀")
        expect(lane(page, number).locator(".tokens")).to_have_text(" ".join(map(str, wanted)), use_inner_text=True)
        assert statistic(page, number, "tokens") == str(len(wanted))
        assert statistic(page, number, "tokens per word") == f"{len(wanted) / 4:.2f}"
    expect(page.locator("#text-statistics")).to_have_text("13 characters, 4 words, 17 bytes")


def test_ids_are_sentencepieces(
    visit: Visitor, address: str, folder: Path, tokenizers: dict[str, pw.Tokenizer]
) -> None:
    _, page = opened(visit, address)
    processors = [oracle(folder, name) for name in ("both", "prose")]

    def check(text: str) -> None:
        content = json.loads(copied(page, "JSON"))
        assert content["text"] == text
        for found, processor in zip(content["lanes"], processors, strict=True):
            assert found["ids"] == processor.encode(text)
            tokens = tokenizers[found["tokenizer"]].tokens(text)
            assert found["offsets"] == [[token.start, token.end] for token in tokens]
            assert found["pieces"] == [tokenizers[found["tokenizer"]].pieces[token.id].text for token in tokens]

    for sample in SAMPLES:
        with answered(page):
            page.get_by_role("button", name=sample, exact=True).click()
        check(page.input_value("#text"))
    for text in (
        "שלום עולם \u202b123\u202c مرحبا بالعالم",
        unicodedata.normalize("NFD", "ärtsoppa på Åland é ñ") + " Z\u0351\u0327\u032ca\u0300lgo",
        "👩‍👩‍👧‍👦🇸🇪👍🏽",
        "  \t \n\n  x ▁▁ y\u00a0z  ",
    ):
        put(page, text)
        check(text)


def test_a_hundred_thousand_characters(visit: Visitor, address: str, folder: Path) -> None:
    _, page = opened(visit, address)
    text = "\n".join(PROSE * 20)[:99_000]
    text += "😀" * (100_000 - len(text))
    with answered(page):
        page.get_by_role("button", name="Add a lane").click()
    with answered(page):
        page.get_by_role("button", name="Add a lane").click()
    put(page, "")
    with answered(page):
        paste(page, text)
    content = json.loads(copied(page, "JSON"))
    for found, name in zip(content["lanes"], ("both", "prose", "code", "both"), strict=True):
        assert found["ids"] == oracle(folder, name).encode(text)
    # Only what can be seen is drawn token by token.
    assert page.locator(".token").count() < 8000
    assert lane(page, 0).locator(".tokens").inner_text() == text
    # One more character is refused with a message, and the lanes stay as they were.
    page.evaluate("document.getElementById('text').value += 'x'")
    page.locator("#text").dispatch_event("input")
    expect(page.locator("#message")).to_contain_text("100,001 characters; the limit is 100,000")
    assert page.input_value("#text") == text


def test_ten_megabytes_are_refused_politely(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    put(page, "för")
    paste(page, "x" * 10_000_000)
    expect(page.locator("#message")).to_have_text(
        "What you pasted has 10,000,000 characters; the limit is 100,000. The text has not changed."
    )
    assert page.input_value("#text") == "för"
    put(page, "för land")
    expect(page.locator("#message")).to_have_text("")


def test_files_are_opened_and_dropped(visit: Visitor, address: str, tmp_path: Path) -> None:
    _, page = opened(visit, address)
    (tmp_path / "a.txt").write_text("från en fil\r\nmed två rader", encoding="utf-8", newline="")
    with answered(page):
        page.set_input_files("#file", tmp_path / "a.txt")
    assert page.input_value("#text") == "från en fil\nmed två rader"
    drop = """([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name));
        window.dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true, bubbles: true}));
    }"""
    with answered(page):
        page.evaluate(drop, ["b.txt", "släppt här"])
    assert page.input_value("#text") == "släppt här"
    page.evaluate(drop, ["large.txt", "x" * 500_000])
    expect(page.locator("#message")).to_contain_text("large.txt has 500,000 bytes")
    assert page.input_value("#text") == "släppt här"


def test_text_is_shown_and_never_run(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    nasty = "<img src=x onerror=alert(1)> </script><script>alert(2)</script> &amp; \"'`{{7*7}}"
    page.on("dialog", lambda _: pytest.fail("the text was run"))
    for view in ("text", "ids", "pieces", "bytes"):
        page.get_by_label(view, exact=True).check()
        put(page, nasty + view)
    page.get_by_label("text", exact=True).check()
    put(page, nasty)
    assert lane(page, 0).locator(".tokens").inner_text() == nasty
    lane(page, 0).locator(".token").nth(1).click()
    expect(page.locator("#why-content strong")).to_have_text("<img")
    page.uncheck("#differences")
    expect(page.locator("#words-table")).to_contain_text("onerror=alert(1)>")
    assert page.locator("main img, main script").count() == 0
    picture = copied(page, "SVG")
    assert "&lt;" in picture
    assert "<img" not in picture
    reload(page)
    assert page.input_value("#text") == nasty


def test_the_slider_cuts_as_resize_does(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    text = "för landet  og 12 sæver 😀    print(argument) verklighetheting\n\tx"
    put(page, text)
    both = tokenizers["both"]
    counts = pw.count_units({"prose": PROSE, "code": CODE})
    slider = lane(page, 0).get_by_label("Vocabulary size", exact=True)
    number = lane(page, 0).get_by_label("Exact vocabulary size")
    for position in (0, 250, 600, 990):
        with answered(page):
            slider.fill(str(position))
        size = int(number.input_value())
        smaller = both.resize(size)
        expect(lane(page, 0).locator(".statistics dd").first).to_have_text(f"{len(smaller.encode(text)):,}")
        evaluation = pw.evaluate({"smaller": smaller}, counts, metrics=["fertility"])
        for row in evaluation.metrics.rows():
            shown = lane(page, 0).locator(f'.languages [data-language="{row["language"]}"] dd')
            expect(shown).to_have_text(f"{row['value']:.3f}")
    content = json.loads(copied(page, "JSON"))
    assert content["lanes"][0]["ids"] == smaller.encode(text)
    # While the slider is dragged, the page itself cuts the text: at every size like the resized tokenizer.
    cut = """async ([text, sizes]) => {
        const {cutAt} = await import("/page/cut.js"), {ask} = await import("/page/api.js");
        const cuts = await ask("cuts", {text, tokenizer: "both"});
        return sizes.map(size => { const cut = cutAt(cuts, text.length, size); return [cut.tokens, cut.ends]; });
    }"""
    sizes = list(range(int(number.get_attribute("min") or 0), both.vocab_size + 1, 13))
    for size, (tokens, ends) in zip(sizes, page.evaluate(cut, [text, sizes]), strict=True):
        found = both.resize(size).tokens(text)
        assert tokens == len(found)
        utf16 = [len(text[: token.end].encode("utf-16-le")) // 2 for token in found if not is_part(token)]
        assert ends == utf16


def is_part(token: pw.Token) -> bool:
    """Whether a token is a byte of a character, but not its last."""
    return token.start == token.end and token.piece.startswith("<0x")


def test_words_break_while_the_slider_is_dragged(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    put(page, "\n".join(PROSE[:12]))
    tokens = int(statistic(page, 0, "tokens"))
    expect(lane(page, 0).locator(".languages [data-language]")).to_have_count(2)  # otherwise the page would move later
    expect(lane(page, 1).locator(".languages [data-language]")).to_have_count(2)
    box = lane(page, 0).get_by_label("Vocabulary size", exact=True).bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    page.mouse.down()
    seen = [tokens]
    for step in range(1, 9):
        page.mouse.move(box["x"] + box["width"] * (1 - step / 10), box["y"] + box["height"] / 2)
        page.wait_for_timeout(40)
        seen.append(int(statistic(page, 0, "tokens").replace(",", "")))
    expect(lane(page, 0).locator(".statistics dd").first).not_to_have_text(str(tokens))
    seen.append(int(statistic(page, 0, "tokens").replace(",", "")))
    page.mouse.up()
    assert seen == sorted(seen)
    assert seen[-1] > 1.3 * tokens


def test_pointing_links_the_lanes(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    text = "landet skavering för enskamoverki"
    put(page, text)
    chosen = tokenizers["both"].tokens(text)[2]
    lane(page, 0).locator(".token").nth(2).hover()
    marked = page.evaluate("[...CSS.highlights.get('hot')].map(range => range.toString()).join('|')")
    for part in (marked.split("|")[0], "".join(marked.split("|")[1:])):
        assert part == text[chosen.start : chosen.end]
    for number, name in enumerate(("both", "prose")):
        wanted = [
            text[token.start : token.end]
            for token in tokenizers[name].tokens(text)
            if token.start < chosen.end and token.end > chosen.start
        ]
        assert [each.text_content() for each in lane(page, number).locator(".hot").all()] == wanted
    expect(page.locator("#hovered")).to_contain_text(f"id {chosen.id}")
    page.get_by_label("ids", exact=True).check()
    lane(page, 1).locator(".token").nth(0).hover()
    assert lane(page, 0).locator(".hot").count() >= 1
    page.mouse.move(5, 5)
    expect(page.locator(".hot")).to_have_count(0)


def test_why_shows_the_merges(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    put(page, "og förska land")
    token = tokenizers["both"].tokens("og förska land")[1]
    lane(page, 0).locator(".token").nth(1).click()
    expect(page.locator("#why-content strong")).to_have_text("förska")
    pieces = page.locator(".steps .strong").all_text_contents()
    assert token.piece in pieces
    ranks = [int(rank.replace(",", "")) for rank in page.locator(".steps tbody td:nth-child(3)").all_text_contents()]
    smallest = tokenizers["both"].pieces
    merges = [piece.text for piece in smallest if piece.group == "regular"]
    assert [merges[rank - 1] for rank in ranks] == pieces
    assert page.locator("#why svg .node").count() == len("▁förska") + len(pieces)


def test_differences_only(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    text = "land og land print argument argument argument og verskahet verskahet " * 3
    put(page, text)
    page.wait_for_timeout(150)

    def cut(name: str, word: str) -> list[int]:
        return [token.end for token in tokenizers[name].tokens(f"x {word}")][:-1]

    words = {word: text.split().count(word) for word in text.split()}
    # The first word of a text has the prefix in front, which is no different from a space.
    different = {word: count for word, count in words.items() if cut("both", word) != cut("prose", word)}
    rows = page.locator("#words-table tbody tr")
    assert (
        dict(
            zip(rows.locator("th").all_text_contents(), map(int, rows.locator("td.n").all_text_contents()), strict=True)
        )
        == different
    )
    counts = list(map(int, rows.locator("td.n").all_text_contents()))
    assert counts == sorted(counts, reverse=True)
    page.uncheck("#differences")
    expect(rows).to_have_count(len(words))


def test_the_state_survives_a_reload(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    text = "ett långt stycke text, " * 40 + "\n<b>&#x41; 😀 100 % + ?=#"
    put(page, text)
    with answered(page):
        page.get_by_role("button", name="Add a lane").click()
    with answered(page):
        lane(page, 0).get_by_label("Tokenizer").select_option("code")
    with answered(page):
        lane(page, 1).get_by_label("Exact vocabulary size").fill("500")
        lane(page, 1).get_by_label("Exact vocabulary size").press("Enter")
    page.get_by_label("pieces", exact=True).check()
    page.check("#whitespace")
    page.uncheck("#differences")
    page.select_option("#words-order", "cost")
    before = [lane(page, i).locator(".tokens").inner_text() for i in range(3)]
    reload(page)
    assert page.input_value("#text") == text
    assert [lane(page, i).get_by_label("Tokenizer").input_value() for i in range(3)] == ["code", "prose", "code"]
    assert lane(page, 1).get_by_label("Exact vocabulary size").input_value() == "500"
    assert [lane(page, i).locator(".tokens").inner_text() for i in range(3)] == before
    assert page.is_checked("#whitespace")
    assert not page.is_checked("#differences")
    assert page.input_value("#words-order") == "cost"
    assert page.get_by_label("pieces", exact=True).is_checked()


@pytest.mark.parametrize(
    "fragment", ["text=%zz&lanes=%", "z=!!!!", "lanes=nothing;;@@9&view=x&metric=y", "%00&&&=", "z=AAAA"]
)
def test_damaged_addresses(visit: Visitor, address: str, fragment: str) -> None:
    _, page = opened(visit, f"{address}#{fragment}")
    expect(page.locator(".token").first).to_be_visible()


def test_with_the_keyboard_alone(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        name, outline = page.evaluate("""() => {
            const element = document.activeElement;
            const shown = element.matches("[type=radio]") ? element.nextElementSibling : element;
            const name = element.getAttribute("aria-label") ?? element.textContent.trim();
            return [name, element === document.body ? "body" : getComputedStyle(shown).outlineStyle];
        }""")
        assert outline != "none", name
        reached.add(name)
    for name in ("Words", "Vocabulary", "Copy as…", "sv", "Tokenizer", "Vocabulary size", "Search pieces", "Pieces"):
        assert name in reached, reached
    lane(page, 0).locator(".tokens").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(lane(page, 0).locator(".current")).to_have_count(1)
    assert lane(page, 1).locator(".hot").count() >= 1
    expect(page.locator("#hovered")).to_contain_text("id ")
    page.keyboard.press("Enter")
    expect(page.locator("#why-content .why-word")).to_be_visible()
    page.locator("#copy").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("Copied as JSON")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "copy"


def test_everything_has_a_name(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    nameless = page.evaluate("""() => {
        const named = "button, input, select, textarea, [role=grid], [role=img], svg, [tabindex='0']";
        const name = e => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim();
        const all = [...document.querySelectorAll(named)].filter(e => !e.closest("[hidden]"));
        return all.filter(e => !name(e) && !e.labels?.length).map(e => e.outerHTML.slice(0, 120));
    }""")
    assert nameless == []


def test_copied_python_gives_the_ids(
    visit: Visitor, address: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, page = opened(visit, address)
    text = "för \"land\"\n\\n 😀 'x' \u2028 {}"
    put(page, text)
    with answered(page):
        lane(page, 1).get_by_label("Exact vocabulary size").fill("450")
        lane(page, 1).get_by_label("Exact vocabulary size").press("Enter")
    # The answer may belong to the previous text.
    for _ in range(50):
        program = copied(page, "Python")
        if ".resize(450)" in program:
            break
        page.wait_for_timeout(200)
    exec(compile(program, "copied", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[1] == str(oracle(folder, "both").encode(text))
    assert printed[3] == str(pw.Tokenizer.load(folder / "prose").resize(450).encode(text))


def test_vocabulary_browser(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    page.get_by_role("button", name="Vocabulary", exact=True).click()
    expect(page.locator("#vocabulary-statistics")).to_have_text("700 pieces")
    rows = page.locator(".vrows .vrow")
    page.locator(".viewport").evaluate("element => element.scrollTop = element.scrollHeight")
    last = page.locator(".vrow[aria-rowindex='701'] .c-id")
    expect(last).to_have_text("699")
    assert rows.count() < 80
    search = page.get_by_label("Search pieces")
    search.fill("för")
    wanted = [piece.text for piece in tokenizers["both"].pieces if "för" in piece.text]
    expect(page.locator("#vocabulary-statistics")).to_have_text(f"{len(wanted)} pieces")
    shown = page.locator(".vrows .c-piece").all_text_contents()
    assert len(shown) > 20
    assert shown == wanted[: len(shown)]
    page.get_by_label("Regular expression").check()
    search.fill("^▁.$")
    wanted = [piece.text for piece in tokenizers["both"].pieces if re.fullmatch("▁.", piece.text)]
    expect(page.locator("#vocabulary-statistics")).to_have_text(f"{len(wanted)} pieces")


def test_an_expression_that_is_none(visit: Visitor, address: str) -> None:
    made, page = opened(visit, address)
    page.get_by_role("button", name="Vocabulary", exact=True).click()
    page.get_by_label("Regular expression").check()
    page.get_by_label("Search pieces").fill("(")
    expect(page.locator("#vocabulary .error")).to_contain_text("not a valid regular expression")
    assert all("400" in error for error in made.errors)  # the browser reports each refusal
    made.errors.clear()
    page.get_by_label("Search pieces").fill("a")
    expect(page.locator("#vocabulary .error")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read(visit: Visitor, address: str, width: int, scheme: str) -> None:
    _, page = opened(visit, address, width=width, height=844, color_scheme=scheme)
    with answered(page):
        page.get_by_role("button", name="emoji", exact=True).click()
    lane(page, 0).locator(".token").nth(3).click()
    page.locator("#vocabulary").scroll_into_view_if_needed()
    expect(page.locator(".vrows .vrow").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # The card clips wide elements, so the width of the page does not show them.
    search = page.locator("#search")
    edges = search.evaluate("form => [form, ...form.querySelectorAll('*')].map(e => e.getBoundingClientRect().right)")
    assert max(edges) <= edges[0] + 1
    pairs = [
        ("--ink", "--card"),
        ("--soft", "--card"),
        ("--soft", "--paper"),
        ("--red", "--card"),
        ("--blue", "--card"),
    ]
    pairs += [("--red", "--near"), ("--blue", "--near"), ("--red", "--hot"), ("--blue", "--hot"), ("--error", "--card")]
    pairs += [("--good", "--card"), ("--on-accent", "--accent")]
    for front, back in pairs:
        assert contrast(page, front, back) >= 4.5, (front, back, scheme)


def contrast(page: Page, front: str, back: str) -> float:
    """The contrast ratio of WCAG."""

    def luminance(name: str) -> float:
        value = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name)", name).strip()
        channels = [int(value[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(front), luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_colours_can_be_chosen(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Colours: system").click()
    page.get_by_role("button", name="Colours: light").click()
    assert page.evaluate(background) != light
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()


def test_bytes_of_a_character_are_counted(visit: Visitor, address: str, tokenizers: dict[str, pw.Tokenizer]) -> None:
    _, page = opened(visit, address)
    put(page, "land 漢 og")
    assert sum(token.piece.startswith("<0x") for token in tokenizers["both"].tokens("land 漢 og")) == 3
    boxed = lane(page, 0).locator(".token.bytes")
    expect(boxed).to_have_count(1)
    expect(boxed).to_have_attribute("data-tokens", "3")
    boxed.hover()
    expect(page.locator("#hovered")).to_contain_text("tokens of this character 3")
    page.uncheck("#differences")
    expect(page.locator("#words-table [data-tokens='3']").first).to_have_text("漢")


def test_states_without_text(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    put(page, "land og")
    lane(page, 0).locator(".token").first.click()
    expect(page.locator("#why-content .why-word")).to_be_visible()
    with answered(page):
        page.get_by_role("button", name="Clear").click()
    expect(lane(page, 0).locator(".tokens")).to_have_attribute("data-state", "empty")
    expect(page.locator("#why-content .hint")).to_be_visible()
    expect(page.locator("#words-table")).to_have_text("No words yet.")
    assert page.evaluate("document.activeElement.id") == "text"
    page.get_by_role("button", name="Vocabulary", exact=True).click()
    page.get_by_label("Search pieces").fill("no such piece at all")
    expect(page.locator("#vocabulary-statistics")).to_have_text("0 pieces")


def test_right_to_left_text(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    put(page, "שלום עולם\nland og")
    # Tokens that are drawn anew have no boxes for a moment.
    page.wait_for_function("() => document.querySelector('.token')?.getBoundingClientRect().width > 0", timeout=20_000)
    page.wait_for_timeout(300)
    boxes = (
        lane(page, 0)
        .locator(".token")
        .evaluate_all(
            "all => all.map((e) => [e.textContent, ...['left', 'top'].map(side => e.getBoundingClientRect()[side])])"
        )
    )
    hebrew = [box for box in boxes if any("\u0590" <= character <= "\u05ff" for character in box[0])]
    swedish = [box for box in boxes if box[0].strip().isascii() and box[0].strip()]
    assert hebrew[0][1] > hebrew[-1][1], "from right to left"
    assert swedish[0][1] < swedish[-1][1], "from left to right"
    assert hebrew[0][2] < swedish[0][2]
    # The tree runs the same way: the first letter stands on the right.
    lane(page, 0).locator(".token", has_text="ם").first.click()
    expect(page.locator("#why-content .why-word")).to_be_visible()
    leaves = page.locator("#why svg .node text").evaluate_all(
        "all => all.map(each => [each.textContent, Number(each.getAttribute('x'))])"
    )
    letters = [x for text, x in leaves if len(text) == 1 and "\u0590" <= text <= "\u05ff"]
    assert letters == sorted(letters, reverse=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_long_word_has_a_tree_that_scrolls(visit: Visitor, address: str) -> None:
    _, page = opened(visit, address)
    put(page, "landförskaverkihetingarsælømokitinurasklandförskaverkihetingarsælømokitinurask")
    lane(page, 0).locator(".token").nth(1).click()
    tree = page.locator("#why .tree")
    expect(tree).to_be_visible()
    assert tree.evaluate("each => each.clientHeight") <= 400
    assert tree.evaluate("each => each.scrollWidth > each.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
