"""Each format has the files that its readers look for; nothing is overwritten by accident; bad input is explained."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
import sentencepiece
import tokenizers

import piecework as pw
from export.conftest import Exported
from piecework._core import Encoder, Vocabulary
from piecework.tokenizer.export import export, export_hf
from piecework.tokenizer.merge_list import merge_list, tied_pieces
from piecework.tokenizer.schema import TYPE_NUMBERS
from piecework.tokenizer.tokenizer_json import tokenizer_json
from sentencepiece_oracle import PLAIN, load, parse, sp_train_with

HF_FILES = {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "tokenizer.model", "spiece.model"}


@pytest.fixture(scope="session")
def small() -> pw.Tokenizer:
    counts = pw.count_words(["en ros är en ros är en ros"])
    return pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=320, hard_vocab_limit=False, control_symbols=["<sep>"]))


def test_hf_files(exported: Exported) -> None:
    assert {path.name for path in exported.folder.iterdir()} == {*HF_FILES, "SHA256SUMS"}
    config = json.loads((exported.folder / "tokenizer_config.json").read_text())
    assert list(config["added_tokens_decoder"]) == ["0", "1", "2", "3"]
    assert (exported.folder / "spiece.model").read_bytes() == exported.tokenizer.model_bytes


def test_sentencepiece_files(small: pw.Tokenizer, tmp_path: Path) -> None:
    done = export(small, tmp_path, to="sentencepiece")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(done.files[0]))
    assert processor.encode("en ros") == small.encode("en ros")
    assert done.files[1].read_text(encoding="utf-8") == small.vocab_text


def test_llama_files(small: pw.Tokenizer, tmp_path: Path) -> None:
    """User-defined symbols are only in added_tokens.json: in other files the converter makes them control tokens."""
    export(small, tmp_path, to="llama")
    ids = {piece.text: piece.id for piece in small.pieces}
    added = json.loads((tmp_path / "added_tokens.json").read_text())
    assert added == {text: ids[text] for text in ("<|javascript|>", "<|python|>", "<|sql|>", "<|shell|>")}
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    contents = {entry["content"] for entry in config["added_tokens_decoder"].values()}
    assert contents == {"<pad>", "<unk>", "<s>", "<|endoftext|>", "<sep>"}
    assert (config["tokenizer_class"], config["add_prefix_space"]) == ("LlamaTokenizer", True)
    special = json.loads((tmp_path / "special_tokens_map.json").read_text())
    assert special["additional_special_tokens"] == ["<sep>"]
    assert not (tmp_path / "tokenizer.json").exists()


def test_control_symbols_are_special(small: pw.Tokenizer, tmp_path: Path) -> None:
    import transformers

    export_hf(small, tmp_path)
    auto = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    symbol = next(piece.id for piece in small.pieces if piece.text == "<sep>")
    assert symbol in auto("en<sep>ros")["input_ids"]
    assert auto.decode([symbol], skip_special_tokens=True) == ""


def test_export_beside_the_model(small: pw.Tokenizer, tmp_path: Path) -> None:
    """An existing file with the same content is accepted. A file with other content is an error."""
    small.save(tmp_path)
    export_hf(small, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    export_hf(small, tmp_path)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(pw.InputError, match=r"tokenizer\.json exists already; pass --force"):
        export_hf(small, tmp_path)
    export_hf(small, tmp_path, force=True)
    assert json.loads((tmp_path / "tokenizer.json").read_text())["version"] == "1.0"


def _encoder(vocabulary: Vocabulary) -> Encoder:
    """An encoder of these pieces and of the unknown piece, which every encoder needs."""
    return Encoder(
        Vocabulary(
            [*vocabulary.texts, "<unk>"], [*vocabulary.scores, 0.0], [*vocabulary.types, TYPE_NUMBERS["unknown"]]
        ),
        charsmap=b"",
        add_dummy_prefix=True,
        remove_extra_whitespaces=False,
        escape_whitespaces=True,
        treat_whitespace_as_suffix=False,
        byte_fallback=False,
        unknown_surface="",
    )


def test_every_split_is_a_merge() -> None:
    scores = {"a": -9, "b": -10, "c": -11, "ab": -0.0, "bc": -1, "abc": -2, "<s>": 0}
    types = [TYPE_NUMBERS["normal"]] * 6 + [TYPE_NUMBERS["control"]]
    vocabulary = Vocabulary(list(scores), list(scores.values()), types)
    merges = json.loads(orjson.dumps(merge_list(_encoder(vocabulary))))
    assert merges == [["a", "b"], ["b", "c"], ["ab", "c"], ["a", "bc"]]
    assert tied_pieces(vocabulary) == []


def test_merges_and_ties_of_random_vocabularies() -> None:
    """Equals a few lines of Python, also with ties and with characters that JSON escapes."""
    rng = random.Random(3)
    texts = ["".join(parts) for length in (1, 2, 3, 4) for parts in product('a▁"\\\x01é😀', repeat=length)]
    for _ in range(200):
        chosen = rng.sample(texts, rng.randrange(1, 60))
        scores = [float(rng.randrange(-20, 1)) for _ in chosen]
        types = [rng.choice([1, 1, 1, 3, 4, 5]) for _ in chosen]
        vocabulary = Vocabulary(chosen, scores, types)
        normal = {text: score for text, score, kind in zip(chosen, scores, types, strict=True) if kind == 1}
        by_score = sorted(normal, key=lambda text: -normal[text])
        splits = [(text, text[:at], text[at:]) for text in by_score for at in range(len(text) - 1, 0, -1)]
        splits.sort(key=lambda split: (-normal[split[0]], -len(split[1])))
        merges = [[left, right] for _, left, right in splits if left in normal and right in normal]
        assert orjson.dumps(merge_list(_encoder(vocabulary))) == orjson.dumps(merges)
        assert vocabulary.ids_json() == orjson.dumps({text: number for number, text in enumerate(chosen)})
        merged = [text for text in by_score if len(text) > 1 and text.strip("▁")]
        shared = [normal[text] for text in merged]
        assert tied_pieces(vocabulary) == [text for text in merged if shared.count(normal[text]) > 1]


def test_ties_are_told(small: pw.Tokenizer) -> None:
    from piecework.tokenizer.tokenizer_json import caveats

    model = parse(small.model_bytes)
    for piece in model.pieces:
        if piece.piece in ("en", "ro"):
            piece.score = -1.0
    tied = pw.Tokenizer.from_bytes(model.SerializeToString())
    assert any("share their score" in caveat for caveat in caveats(tied)) == (
        len([piece for piece in tied.pieces if piece.text in ("en", "ro")]) == 2
    )


def test_a_model_without_counterpart(tmp_path: Path) -> None:
    model = sp_train_with(
        ["ab ab abc"], vocab_size=12, hard_vocab_limit=False, treat_whitespace_as_suffix=True, **PLAIN
    )
    with pytest.raises(pw.ModelError, match="treat_whitespace_as_suffix = true has no counterpart"):
        export_hf(pw.Tokenizer.from_bytes(model), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        {"normalization_rule_name": "identity"},
        {"normalization_rule_name": "identity", "user_defined_symbols": ["<x>", "ab"]},
        {"normalization_rule_name": "identity", "add_dummy_prefix": False},
        {"normalization_rule_name": "nmt_nfkc"},
    ],
    ids=str,
)
def test_extra_whitespace_is_removed_as_in_sentencepiece(arguments: dict[str, Any]) -> None:
    """Spaces at both ends and in runs; a literal ▁ counts as a space at the end of a text, not at its start."""
    lines = ["den som väntar på något gott", "aldrig för länge  hade", "<x>ab<y> ab"] * 3
    model = sp_train_with(lines, model_type="bpe", vocab_size=80, hard_vocab_limit=False, **arguments)
    content = orjson.dumps(tokenizer_json(pw.Tokenizer.from_bytes(model)))
    rust, processor = tokenizers.Tokenizer.from_str(content.decode()), load(model)
    rng = random.Random(1)
    parts = [" ", "  ", "a", "ab", "<x>", "▁", "\n", "\t", "ö", "den", "\u3000", "x"]
    for _ in range(1_500):
        text = "".join(rng.choices(parts, k=rng.randrange(9)))
        assert rust.encode(text, add_special_tokens=False).ids == processor.encode(text), text
