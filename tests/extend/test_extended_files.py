"""The files of an extended tokenizer: other libraries load them with the same ids, and their other contents stay."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import sentencepiece
import tiktoken
import tokenizers
import transformers

import piecework as pw
from bytelevel.known_tokenizers import FOLDER
from installed_text import lines
from piecework.common.extras import MissingPackageError
from piecework.common.known_tokenizers import find_known, known_tokenizer
from piecework.common.packaged_files import PACKAGES_VARIABLE
from piecework.tokenizer.reachable import reachable_pieces
from piecework.training.extended_files import EXTENSION_FILE, save_extended


@pytest.fixture
def known_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PACKAGES_VARIABLE, str(FOLDER))


def load(name: str) -> tuple[object, bytes]:
    known = known_tokenizer(name)
    assert known is not None
    try:
        return pw.load_tokenizer(f"known:{name}"), find_known(known).files[0].read()
    except MissingPackageError as error:
        pytest.skip(str(error))


def icelandic() -> list[str]:
    return [text for text in lines("is") if "<" not in text][:2000]  # a "<s>" is a special token in transformers


@pytest.mark.usefixtures("known_packages")
def test_mistral(tmp_path: Path) -> None:
    tokenizer, original = load("mistral")
    assert isinstance(tokenizer, pw.Tokenizer)
    texts = icelandic()
    assert pw.extend(tokenizer, texts, add=0).tokenizer.model_bytes == original
    extended = pw.extend(tokenizer, texts, add=500)
    new = extended.tokenizer
    assert new._texts[: tokenizer.vocab_size] == tokenizer._texts
    reached = reachable_pieces(new)
    assert all(reached[piece.id] for piece in extended.added)
    save_extended(extended, tmp_path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    fast = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = new.encode(texts)
    assert ids == processor.encode(texts)
    assert ids == [fast(text, add_special_tokens=False)["input_ids"] for text in texts]
    old = tokenizer.encode(texts)
    assert sum(map(len, ids)) < 0.8 * sum(map(len, old))
    record = orjson.loads((tmp_path / EXTENSION_FILE).read_bytes())
    for piece in record["new_pieces"]:
        assert sum(piece["weights"]) == pytest.approx(1)
        if piece["piece"].startswith("▁") and len(piece["piece"]) > 1:
            assert tokenizer.encode(piece["piece"][1:]) == piece["old_ids"]


@pytest.mark.usefixtures("known_packages")
@pytest.mark.parametrize("name", ["gpt2", "deepseek-v3"])
def test_merges(name: str, tmp_path: Path) -> None:
    tokenizer, original = load(name)
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    texts = icelandic()
    extended = pw.extend(tokenizer, texts, add=500)
    as_json = original if isinstance(orjson.loads(original).get("model"), dict) else None
    save_extended(extended, tmp_path, original=as_json)
    loaded = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    loaded.post_processor = None
    ids = extended.tokenizer.encode_batch(texts)
    assert ids == [encoding.ids for encoding in loaded.encode_batch(texts, add_special_tokens=False)]
    special = {**tokenizer.model.special_tokens, **tokenizer.model.added_tokens}
    assert {text: loaded.token_to_id(text) for text in special} == special
    again = pw.ByteLevelTokenizer.load(tmp_path)
    assert again.encode_batch(texts) == ids
    if as_json:
        before, after = orjson.loads(original), orjson.loads((tmp_path / "tokenizer.json").read_bytes())
        for part in before:
            assert part == "model" or before[part] == after[part]
        assert list(after["model"]["vocab"].items())[: len(before["model"]["vocab"])] == list(
            before["model"]["vocab"].items()
        )
        save_extended(pw.extend(tokenizer, texts, add=0), tmp_path / "same", original=as_json)
        assert (tmp_path / "same/tokenizer.json").read_bytes() == original


@pytest.mark.usefixtures("known_packages")
def test_qwen_ranks(tmp_path: Path) -> None:
    tokenizer, original = load("qwen3")
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    texts = icelandic()[:1000]
    extended = pw.extend(tokenizer, texts, add=300)
    save_extended(extended, tmp_path, original=original)
    ranks = tiktoken.load.load_tiktoken_bpe(str(tmp_path / "tokenizer.tiktoken"))
    assert (tmp_path / "tokenizer.tiktoken").read_bytes().startswith(original.rstrip(b"\n"))
    assert min(ranks[extended.tokenizer.model.tokens[piece.id]] for piece in extended.added) == tokenizer.vocab_size
    encoding = tiktoken.Encoding(
        "qwen",
        pat_str=tokenizer.pre_tokenizer.patterns[0],
        mergeable_ranks=ranks,
        special_tokens=dict(tokenizer.model.special_tokens),
    )
    assert extended.tokenizer.encode_batch(texts) == encoding.encode_ordinary_batch(texts)
    again = pw.ByteLevelTokenizer.load(tmp_path)
    assert again.encode_batch(texts[:50]) == extended.tokenizer.encode_batch(texts[:50])
    assert again.model.special_tokens == tokenizer.model.special_tokens


@pytest.mark.usefixtures("known_packages")
def test_tekken(tmp_path: Path) -> None:
    tokenizer, original = load("tekken")
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    texts = icelandic()[:1000]
    extended = pw.extend(tokenizer, texts, add=300)
    save_extended(extended, tmp_path, original=original)
    again = pw.ByteLevelTokenizer.load(tmp_path / "tekken.json")
    assert again.vocab_size == tokenizer.vocab_size + 300
    assert again.encode_batch(texts) == extended.tokenizer.encode_batch(texts)


def test_special_tokens_outside_the_vocabulary_keep_their_ids(tmp_path: Path) -> None:
    """Llama 3's layout: tokenizers would number them anew, after the new pieces."""
    texts = icelandic()
    trained = pw.train(texts, pw.Recipe.byte_level(pre_tokenizer="llama3", vocab_size=400))
    rust = tokenizers.Tokenizer.from_str(trained.json_bytes.decode())
    rust.add_special_tokens(["<|begin|>", "<|end|>"])
    rust.add_tokens(["<own>"])
    original = rust.to_str(pretty=True).encode()
    path = tmp_path / "tokenizer.json"
    path.write_bytes(original)
    extended = pw.extend(pw.ByteLevelTokenizer.load(path), texts, add=20)
    save_extended(extended, tmp_path / "more", original=original)
    loaded = tokenizers.Tokenizer.from_file(str(tmp_path / "more/tokenizer.json"))
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "more")
    for number, text in enumerate(("<|begin|>", "<|end|>", "<own>"), 400):
        assert loaded.token_to_id(text) == auto.convert_tokens_to_ids(text) == number
    marked = [f"<|begin|>{text}<own>" for text in texts]
    expected = [encoding.ids for encoding in loaded.encode_batch(marked, add_special_tokens=False)]
    assert extended.tokenizer.encode_batch(marked, allowed_special="all") == expected
    assert max(map(max, expected)) >= 403
