"""Every kind of tokenizer behind one interface: ids of its own library, offsets that cover the text, clear errors."""

import base64
import json
import sys
from pathlib import Path

import orjson
import pytest
import sentencepiece
import tokenizers

import piecework as pw
from compare.conftest import _byte_level, _wordpiece
from export.test_verify import without_extras
from piecework.tokenizer.load import load_tokenizer

KINDS = {
    "ours": "SentencePiece BPE",
    "bpe": "SentencePiece BPE",
    "unigram": "SentencePiece unigram",
    "byte-level": "byte-level BPE",
    "wordpiece": "Hugging Face WordPiece",
    "tiktoken": "byte-level BPE",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str, outside: dict[str, Path], documents: dict[str, list[str]]) -> None:
    tokenizer = load_tokenizer(outside[kind])
    assert tokenizer.kind == KINDS[kind]
    texts = [*documents["sv"], "", " ", "e\u0301 😀", "<|endoftext|> <s>"]
    for text, encoded in zip(texts, tokenizer.tokens_batch(texts), strict=True):
        assert len(encoded.ids) == len(encoded.starts) == len(encoded.ends)
        assert all(0 <= start <= end <= len(text) for start, end in zip(encoded.starts, encoded.ends, strict=True))
        covered = {
            offset for start, end in zip(encoded.starts, encoded.ends, strict=True) for offset in range(start, end)
        }
        assert (
            not {offset for offset in set(range(len(text))) - covered if not text[offset].isspace()}
            or kind == "wordpiece"
        )
        assert all(0 <= number < tokenizer.vocab_size for number in encoded.ids)


def test_ids_are_those_of_the_library(outside: dict[str, Path], documents: dict[str, list[str]]) -> None:
    texts = documents["da"]
    for kind in ("ours", "bpe", "unigram"):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(outside[kind]))
        assert [list(each.ids) for each in load_tokenizer(outside[kind]).tokens_batch(texts)] == processor.encode(texts)
    for kind in ("byte-level", "wordpiece"):
        rust = tokenizers.Tokenizer.from_file(str(outside[kind]))
        expected = [each.ids for each in rust.encode_batch(texts, add_special_tokens=False)]
        assert [list(each.ids) for each in load_tokenizer(outside[kind]).tokens_batch(texts)] == expected


def test_tiktoken_agrees_with_byte_level(outside: dict[str, Path]) -> None:
    """Both have the same merges. Their patterns split words without digits and without odd spaces in the same way."""
    byte_level, tiktoken = (load_tokenizer(outside[kind]) for kind in ("byte-level", "tiktoken"))
    for text in ("förska landing", "ske og på", "verland", "ð sælø 😀"):
        (one,), (other,) = byte_level.tokens_batch([text]), tiktoken.tokens_batch([text])
        assert (list(one.starts), list(one.ends)) == (list(other.starts), list(other.ends))
    assert tiktoken.learned_texts == byte_level.learned_texts
    assert "pattern of cl100k" in tiktoken.note


def test_places_by_hand(outside: dict[str, Path]) -> None:
    """Each token of a character covers the whole character."""
    for kind in ("ours", "byte-level", "tiktoken"):
        (encoded,) = load_tokenizer(outside[kind]).tokens_batch(["鬱"])
        spans = [(s, e) for s, e in zip(encoded.starts, encoded.ends, strict=True) if e > s]
        assert spans == [(0, 1)] * 3, kind


def test_learnt_tokens_are_text(outside: dict[str, Path]) -> None:
    for kind in KINDS:
        learnt = load_tokenizer(outside[kind]).learned_texts
        assert b" og" in learnt or b" og " in learnt, kind
        assert not {b"<s>", b"<|endoftext|>", b"[UNK]", b"<0x41>", b"<unk>"} & learnt, kind


def test_unknown(outside: dict[str, Path]) -> None:
    for kind, expected in (
        ("bpe", 1),
        ("unigram", 1),
        ("wordpiece", 1),
        ("ours", 0),
        ("byte-level", 0),
        ("tiktoken", 0),
    ):
        tokenizer = load_tokenizer(outside[kind])
        (encoded,) = tokenizer.tokens_batch(["鬱"])
        assert sum(number in tokenizer.unknown_ids for number in encoded.ids) == expected, kind


def test_folders(outside: dict[str, Path], tmp_path: Path) -> None:
    assert load_tokenizer(outside["ours"].parent).kind == "SentencePiece BPE"
    assert load_tokenizer(outside["byte-level"].parent).kind == "byte-level BPE"
    # Some models come with a tiktoken file that is called tokenizer.model.
    (tmp_path / "tokenizer.model").write_bytes(outside["tiktoken"].read_bytes())
    assert load_tokenizer(tmp_path).kind == "byte-level BPE"
    (tmp_path / "empty").mkdir()
    with pytest.raises(pw.InputError, match=r"no tokenizer in this folder; looked for tokenizer\.model"):
        load_tokenizer(tmp_path / "empty")


def test_folders_of_older_files(outside: dict[str, Path], training: list[str], tmp_path: Path) -> None:
    """vocab.json with merges.txt, and vocab.txt, as transformers reads them."""
    for kind, make, name in (
        ("byte-level", _byte_level, "GPT2Tokenizer"),
        ("wordpiece", _wordpiece, "BertTokenizer"),
    ):
        folder = tmp_path / kind
        folder.mkdir()
        make(training).model.save(str(folder))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
        loaded, expected = load_tokenizer(folder), load_tokenizer(outside[kind])
        text = "förska landing og på"
        assert [list(each.ids) for each in loaded.tokens_batch([text])] == [
            list(each.ids) for each in expected.tokens_batch([text])
        ]
    (tmp_path / "byte-level" / "vocab.json").write_text("[")
    with pytest.raises(pw.InputError, match="transformers cannot load a tokenizer from these files"):
        load_tokenizer(tmp_path / "byte-level")


def test_encodings_at_hand(outside: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoding of a plugin on this machine, one that needs a download, and one that does not exist."""
    plugin = tmp_path / "tiktoken_ext"
    plugin.mkdir()
    (plugin / "piecework_test.py").write_text(
        "from tiktoken.load import load_tiktoken_bpe\n"
        f"def own():\n    ranks = load_tiktoken_bpe({str(outside['tiktoken'])!r})\n"
        "    return {'name': 'own', 'pat_str': r'\\S+|\\s+', 'mergeable_ranks': ranks, 'special_tokens': {}}\n"
        "ENCODING_CONSTRUCTORS = {'own': own}\n"
    )
    import tiktoken_ext

    monkeypatch.setattr(tiktoken_ext, "__path__", [*tiktoken_ext.__path__, str(plugin)])
    import tiktoken.registry

    monkeypatch.setattr(tiktoken.registry, "ENCODING_CONSTRUCTORS", None)
    tiktoken.registry._available_plugin_modules.cache_clear()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(pw.InputError, match="o200k_base is not on this machine, and nothing is downloaded"):
        load_tokenizer("tiktoken:o200k_base")
    with pytest.raises(pw.InputError, match="tiktoken has no encoding 'o300k'; it has "):
        load_tokenizer("tiktoken:o300k")
    with pytest.raises(pw.InputError, match="own is not on this machine"):
        load_tokenizer("tiktoken:own")  # until its file is in the cache, it counts as one that needs a download
    cache = tmp_path / "cache"
    cache.mkdir()
    import hashlib

    name = hashlib.sha1(str(outside["tiktoken"]).encode()).hexdigest()
    (cache / name).write_bytes(outside["tiktoken"].read_bytes())
    assert load_tokenizer("tiktoken:own").kind == "tiktoken byte-level BPE"
    tiktoken.registry._available_plugin_modules.cache_clear()
    sys.modules.pop("tiktoken_ext.piecework_test", None)


def broken(outside: dict[str, Path]) -> dict[str, tuple[str, bytes, str]]:
    whole = outside["byte-level"].read_bytes()
    unigram = outside["unigram"].read_bytes()
    tiktoken = outside["tiktoken"].read_bytes()
    no_model = orjson.dumps({"version": "1.0"})
    no_merges = orjson.dumps({"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}}})
    return {
        "json cut short": ("tokenizer.json", whole[: len(whole) // 2], "not valid JSON"),
        "json of something else": ("tokenizer.json", no_model, 'neither a tokenizer.json (it has no "model")'),
        "json without merges": ("tokenizer.json", no_merges, "tokenizers cannot read this file"),
        "model cut short": ("a.model", unigram[: len(unigram) // 2], "a.model: "),
        "model of noise": (
            "a.model",
            bytes(range(200, 256)) * 9,
            "neither a SentencePiece model, a tokenizer.json nor",
        ),
        "tiktoken with a bad line": ("a.tiktoken", tiktoken + b"!!! 9\n", "is not a token in base64 and its rank"),
        "tiktoken without bytes": (
            "a.tiktoken",
            base64.b64encode(b"ab") + b" 0\n",
            "256 of the 256 bytes have no rank",
        ),
        "tiktoken with ranks twice": ("a.tiktoken", tiktoken + base64.b64encode(b"qqq") + b" 5\n", "the same rank"),
        "empty": ("a.model", b"", "the file is empty"),
    }


BROKEN = [
    "json cut short",
    "json of something else",
    "json without merges",
    "model cut short",
    "model of noise",
    "tiktoken with a bad line",
    "tiktoken without bytes",
    "tiktoken with ranks twice",
    "empty",
]


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case: str, outside: dict[str, Path], tmp_path: Path) -> None:
    name, data, message = broken(outside)[case]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(pw.PieceworkError) as error:
        load_tokenizer(tmp_path / name)
    assert message in str(error.value)
    assert name in str(error.value)


def test_no_such_file() -> None:
    with pytest.raises(pw.InputError, match="no such file or folder; well-known tokenizers are gpt2, "):
        load_tokenizer("missing/tokenizer.json")


@pytest.mark.parametrize(("kind", "package"), [("unigram", "sentencepiece"), ("wordpiece", "tokenizers")])
def test_without_the_extra(kind: str, package: str, outside: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "sv.txt").write_text("en ros", encoding="utf-8")
    done = without_extras("compare", outside[kind], "--data", tmp_path / "sv.txt")
    assert done.returncode == 1
    assert f"needs {package}, which is not installed: pip install 'piecework[hf]'" in done.stderr
    assert "Traceback" not in done.stderr
    native = (outside[kind] for kind in ("ours", "bpe", "byte-level", "tiktoken"))
    ours = without_extras("compare", *native, "--data", tmp_path / "sv.txt")
    assert ours.returncode == 0, ours.stderr
