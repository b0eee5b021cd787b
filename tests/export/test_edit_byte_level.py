"""Edited byte-level tokenizers load in other libraries with the same ids, and old text is cut as before."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
import tiktoken
import tokenizers
import transformers

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts
from cli.conftest import run  # noqa: F401  # a fixture
from piecework.tokenizer.byte_level_reachable import reachable_tokens

TEXTS = [*fuzzed_texts(400, seed=31), *(f"the rose {word} there" for word in ("was", "is", "thence", "rosier"))]


@pytest.fixture(scope="module")
def tokenizer() -> pw.ByteLevelTokenizer:
    recipe = pw.Recipe.byte_level(pre_tokenizer="llama3", vocab_size=700, special_tokens=["<s>", "</s>"])
    return pw.train(TEXTS * 2, recipe)


def rust_of(tokenizer: pw.ByteLevelTokenizer) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer.json_bytes.decode())


def test_truncation_is_training_at_that_size(tokenizer: pw.ByteLevelTokenizer) -> None:
    for size in (258, 300, 511, 700):
        edited = pw.edit(tokenizer, truncate=size)
        smaller = tokenizer.resize(size)
        assert edited.tokenizer.json_bytes == smaller.json_bytes
        assert edited.tokenizer.frequencies == smaller.frequencies
        assert len(edited.dropped) == 700 - size
    with pytest.raises(pw.InputError, match=r"cannot truncate to 257: .* bytes alone take 258"):
        pw.edit(tokenizer, truncate=257)


def test_random_edits(tokenizer: pw.ByteLevelTokenizer) -> None:
    """Same ids in tokenizers. Reachable tokens stay reachable. Text without dropped tokens is cut as before."""
    rng = random.Random(32)
    learned = [piece.text for piece in tokenizer.pieces if piece.type == "normal" and len(piece.text) > 1]
    rust_before = tokenizer.encode_batch(TEXTS)
    for _ in range(25):
        settings = {
            "drop": rng.sample(learned, rng.choice((0, 1, 5, 60))),
            "truncate": rng.choice((None, None, 600)),
            "add_symbols": rng.sample(["<|sv|>", "\n\n", "rose is", "→"], rng.randint(0, 3)),
            "add_special": rng.sample(["<|user|>", "<|end|>"], rng.randint(0, 2)),
            "reserve": rng.choice((0, 3)),
            "pad_to_multiple": rng.choice((None, 64)),
            "keep_ids": rng.random() < 0.5,
        }
        edited = pw.edit(tokenizer, **settings, unreachable="drop")
        new, gone = edited.tokenizer, {piece.id for piece in edited.dropped}
        assert settings["pad_to_multiple"] is None or new.vocab_size % 64 == 0
        if settings["keep_ids"]:
            assert all(now is None or now == old for old, now in enumerate(edited.mapping))
        before, after = reachable_tokens(tokenizer), reachable_tokens(new)
        assert all(after[now] for old, now in enumerate(edited.mapping) if now is not None and before[old])
        rust = rust_of(new)
        for special in (False, True):
            rust.encode_special_tokens = not special
            marked = [f"{text}<|sv|>rose is<|user|>" for text in TEXTS]
            expected = [encoding.ids for encoding in rust.encode_batch(marked, add_special_tokens=False)]
            assert new.encode_batch(marked, allowed_special="all" if special else ()) == expected
        for text, old_ids, ids in zip(TEXTS, rust_before, new.encode_batch(TEXTS), strict=True):
            assert new.decode(ids) == text
            if gone.isdisjoint(old_ids) and not any(symbol in text for symbol in settings["add_symbols"]):
                assert ids == [edited.mapping[number] for number in old_ids]


def test_symbols_take_reserved_places(tokenizer: pw.ByteLevelTokenizer) -> None:
    padded = pw.edit(tokenizer, pad_to_multiple=128).tokenizer
    assert padded.vocab_size == 768
    edited = pw.edit(padded, add_symbols=["<|sv|>"], add_special=["<|user|>"])
    assert edited.tokenizer.vocab_size == 768
    assert [(piece.id, piece.text, piece.type) for piece in edited.added] == [
        (700, "<|sv|>", "user_defined"),
        (701, "<|user|>", "control"),
    ]
    assert edited.mapping == tuple(range(768))
    assert edited.tokenizer.encode("a<|sv|><|user|>")[1] == 700
    assert 701 not in edited.tokenizer.encode("<|user|>")


def test_what_breaks_a_tokenizer_is_refused(tokenizer: pw.ByteLevelTokenizer) -> None:
    merged = {piece: tokenizer.piece_texts[piece] for merge in tokenizer.model.merges or () for piece in merge[:2]}
    step = next(text for number, text in merged.items() if len(tokenizer.model.tokens[number]) > 1)
    with pytest.raises(pw.InputError, match=r"without .* no merge makes .*; drop (it|them) too"):
        pw.edit(tokenizer, drop=[step])
    kept = pw.edit(tokenizer, drop=[step], unreachable="keep")
    assert kept.unreachable
    assert not any(reachable_tokens(kept.tokenizer)[piece.id] for piece in kept.unreachable)
    assert rust_of(kept.tokenizer).encode(TEXTS[0]).ids == kept.tokenizer.encode(TEXTS[0])
    hiding = pw.edit(tokenizer, add_symbols=["\n\n"], unreachable="keep")
    assert all("\n\n" in piece.text for piece in hiding.unreachable)
    assert hiding.unreachable
    for settings, message in (
        ({"add_symbols": ["\n\n"]}, r"with the symbol '\\n\\n' no text encodes to "),
        ({"drop": ["a"]}, "cannot be dropped: it is one of the 256 bytes"),
        ({"drop": ["<s>"]}, "cannot be dropped: it is a special token"),
        ({"drop": ["nowhere"]}, "no token 'nowhere' in the vocabulary"),
        ({"add_symbols": ["<s>"]}, "'<s>' is a piece already, with id 0"),
        (
            {"add_symbols": ["a"], "unreachable": "keep"},
            "'a' cannot be a symbol: a tokenizer.json writes the token b'a' so",
        ),
        (
            {"add_symbols": ["é"], "unreachable": "keep"},
            r"'é' cannot be a symbol: a tokenizer.json writes the token b'\\xe9' so",
        ),
        ({"add_symbols": ["x|", "x|"]}, "is a piece already"),
        ({"whitespace_runs": (2, 4)}, "a byte-level tokenizer learns runs of spaces"),
    ):
        with pytest.raises(pw.InputError, match=message):
            pw.edit(tokenizer, **settings)  # type: ignore[call-overload]


def test_the_post_processor_has_the_new_ids(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    rust = rust_of(tokenizer)
    rust.add_special_tokens(["<|begin|>"])
    number = rust.token_to_id("<|begin|>")
    template = tokenizers.processors.TemplateProcessing
    rust.post_processor = template(single="<|begin|> $A", special_tokens=[("<|begin|>", number)])
    rust.enable_padding(pad_id=number, pad_token="<|begin|>")
    rust.save(str(tmp_path / "tokenizer.json"))
    edited = pw.edit(pw.ByteLevelTokenizer.load(tmp_path), truncate=500).tokenizer
    assert edited.model.special_tokens["<|begin|>"] == 499
    edited.save(tmp_path / "edited")
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path / "edited")
    assert loaded("rose")["input_ids"] == [499, *edited.encode("rose")]
    assert orjson.loads(edited.json_bytes)["padding"]["pad_id"] == 499


def test_ranks(tmp_path: Path) -> None:
    """tiktoken takes the edited ranks. No token in the middle can be dropped: another rank could take its place."""
    path = tmp_path / "own.tiktoken"
    plain = pw.train(TEXTS, pw.Recipe.byte_level(pre_tokenizer="llama3", vocab_size=500))
    plain.save_tiktoken(path)
    ranks = pw.ByteLevelTokenizer.load(path, pre_tokenizer="llama3")
    edited = pw.edit(ranks, truncate=400, add_symbols=["<|sv|>"], reserve=2).tokenizer
    encoding = tiktoken.Encoding(
        "edited",
        pat_str=edited.pre_tokenizer.patterns[0],
        mergeable_ranks={token: rank for rank, token in enumerate(edited.model.tokens) if token},
        special_tokens={**edited.model.special_tokens, **edited.model.added_tokens},
    )
    for text in (*TEXTS, "rose<|sv|>rose"):
        assert edited.encode(text) == encoding.encode(text, allowed_special={"<|sv|>"}, disallowed_special=())
    with pytest.raises(pw.InputError, match=r"the tokenizer has ranks and no merges"):
        pw.edit(ranks, drop=[ranks.piece_texts[300]])


def test_command(run, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    tokenizer.save(tmp_path / "own")
    out = tmp_path / "edited"
    options = ("--add-symbol", "<|sv|>", "--truncate", "600", "--pad-to-multiple", "128", "--out", str(out))
    done = run("edit", str(tmp_path / "own"), *options)
    assert done.returncode == 0, done.stderr
    loaded = pw.ByteLevelTokenizer.load(out)
    assert loaded.vocab_size == 640
    assert orjson.loads((out / "id_mapping.json").read_bytes())["new_ids"][650] is None
    assert run("verify", str(out)).returncode == 0
    again = run("edit", str(tmp_path / "own"), *options)
    assert again.returncode != 0
    assert "--force" in again.stderr
    assert run("check", str(out), "--fail-on", "warn", "--ignore", "near-duplicates").returncode in (0, 1)
