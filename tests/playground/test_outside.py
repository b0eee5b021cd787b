"""Lanes of other libraries' tokenizers: their ids, and offsets that the page can draw."""

from pathlib import Path

import pytest
import sentencepiece
import tokenizers

import piecework as pw
from piecework.playground.catalogue import Catalogue
from piecework.playground.lanes import Utf16Offsets, lane
from playground.examples import LINES, texts

FILES = {"byte-level": "byte-level.json", "unigram": "unigram.model"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    byte_level = tokenizers.ByteLevelBPETokenizer()
    byte_level.train_from_iterator(LINES, vocab_size=320, min_frequency=1, show_progress=False)
    byte_level.save(str(folder / "byte-level.json"))
    with (folder / "unigram.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(LINES), model_writer=file, model_type="unigram", vocab_size=64, minloglevel=2
        )
    return folder


def test_ids_are_theirs_and_offsets_cover_every_character(folder: Path) -> None:
    catalogue = Catalogue.from_models({name: folder / FILES[name] for name in FILES})
    rust = tokenizers.Tokenizer.from_file(str(folder / "byte-level.json"))
    unigram = sentencepiece.SentencePieceProcessor(str(folder / "unigram.model"))
    for text in texts(40, seed=11):
        found = {name: lane(catalogue[name], text, Utf16Offsets(text)) for name in catalogue.names}
        assert found["byte-level"]["ids"].tolist() == rust.encode(text).ids
        assert found["unigram"]["ids"].tolist() == unigram.encode(text)
        units = len(text.encode("utf-16-le")) // 2
        covered = set()
        at = 0
        byte_level = found["byte-level"]
        gaps = byte_level["gaps"] if byte_level["gaps"] is not None else [0] * len(byte_level["ids"])
        for length, gap in zip(byte_level["lengths"], gaps, strict=True):
            covered |= set(range(at + gap, at + gap + length))
            at += gap + length
        assert covered == set(range(units))


def test_parts_of_characters_are_bytes(folder: Path) -> None:
    catalogue = Catalogue.from_models({"byte-level": folder / "byte-level.json"})
    found = lane(catalogue["byte-level"], "a 😀", Utf16Offsets("a 😀"))
    pieces = [found["pieces"][i] for i in found["ids"].tolist()]
    assert pieces == ["a", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    assert len(found["bytes"]) == 4


def test_unknown_properties_are_named(folder: Path) -> None:
    catalogue = Catalogue.from_models({"unigram": folder / "unigram.model"})
    with pytest.raises(pw.InputError, match="a tokenizer of another library"):
        catalogue.native("unigram")
    rows = catalogue["unigram"].rows
    assert len(rows) == 64
    assert rows[0][2] == "special"
