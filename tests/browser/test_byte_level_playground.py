"""Byte-level tokenizers in the playground, in a real browser: ids, boundaries at every size, merges from bytes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import piecework as pw
from browser.test_playground import answered, lane, opened, put, statistic
from browser.visits import Visitor
from cli.command import made_up_lines
from piecework.playground.catalogue import Catalogue
from piecework.playground.server import listen, serve_in_background

PROSE = [*made_up_lines(300), *["日本語の文字と日本語の本 👩\u200d👧 det är ’så’"] * 20]
TEXT = "för landet 日本語 👩\u200d👧 ’så’ 字  12345"


@pytest.fixture(scope="module")
def tokenizer() -> pw.ByteLevelTokenizer:
    recipe = pw.Recipe.byte_level(pre_tokenizer="o200k", vocab_size=700)
    return pw.train(pw.count_pre_tokens(PROSE, pre_tokenizer="o200k"), recipe)


@pytest.fixture(scope="module")
def address(tokenizer: pw.ByteLevelTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("bytes")
    tokenizer.save(folder / "bytes")
    tokenizer.resize(400).save(folder / "small")
    counts = pw.count_units({"sv": PROSE[:300], "ja": PROSE[300:]}, pre_tokenizer="o200k")
    catalogue = Catalogue.from_models({name: folder / name for name in ("bytes", "small")}, counts=counts)
    with serve_in_background(catalogue, listen(port=0)) as url:
        yield url


def test_tokens_sizes_and_merges(visit: Visitor, address: str, tokenizer: pw.ByteLevelTokenizer) -> None:
    _, page = opened(visit, address)
    put(page, TEXT)
    page.get_by_label("ids", exact=True).check()
    shown = lane(page, 0).locator(".tokens")
    expect(shown).to_have_text(" ".join(map(str, tokenizer.encode(TEXT))), use_inner_text=True)
    page.get_by_label("text", exact=True).check()
    slider = lane(page, 0).get_by_label("Vocabulary size", exact=True)
    number = lane(page, 0).get_by_label("Exact vocabulary size")
    for position in (0, 300, 700, 950, 1000):
        with answered(page):
            slider.fill(str(position))
        size = int(number.input_value())
        resized = tokenizer.resize(size)
        assert statistic(page, 0, "tokens") == str(len(resized.encode(TEXT)))
    # The same boundaries without a new answer: the page already has them for every size.
    for size in (258, 420, 640):
        number.fill(str(size))
        number.press("Tab")
        assert statistic(page, 0, "tokens") == str(len(tokenizer.resize(size).encode(TEXT)))
    expect(lane(page, 0).locator("[data-language=sv] dd")).not_to_have_text("–")
    expect(lane(page, 0).locator("[data-language=ja]")).to_have_count(0)  # written without spaces
    expect(lane(page, 0)).to_contain_text("Written without spaces, so no words: ja.")
    with answered(page):
        slider.fill("1000")
    lane(page, 0).locator(".token", has_text="日").first.click()
    expect(page.locator("#why-content strong")).to_have_text("日本語")
    expect(page.locator("#why-content svg")).to_contain_text("<0xE6>")
    expect(page.locator("#why-content table.steps tbody tr").first).to_be_visible()
    page.get_by_role("radio", name="bytes").check()
    expect(shown).to_contain_text("E6 97 A5")


def test_characters_in_parts_are_boxed(visit: Visitor, address: str, tokenizer: pw.ByteLevelTokenizer) -> None:
    _, page = opened(visit, address, width=390, height=800)
    put(page, "é 字 \U0001f995")
    parts = [tokenizer.encode(part) for part in ("é", " 字", " \U0001f995")]
    boxed = lane(page, 0).locator(".token.bytes")
    assert boxed.count() == sum(1 for ids in parts if any(number in tokenizer.byte_ids for number in ids))
    assert {int(each.get_attribute("data-tokens") or 1) for each in boxed.all()} <= {2, 3, 4, 5}
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
