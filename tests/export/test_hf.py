"""`tokenizers` and `transformers` load exported files, give SentencePiece's ids, and decode them to the text."""

import os
import random
from collections.abc import Mapping

import orjson
import pytest
import tokenizers
import transformers

import adversarial
import piecework as pw
from export.conftest import CODE_TOKEN_TEXTS, Exported
from piecework.tokenizer.tokenizer_json import caveats, tokenizer_json
from sentencepiece_oracle import assert_same_ids, encode_batch, load, sp_train_with

RUNS = [*range(1, 60), 100, 1_000]


def assert_same(exported: Exported, texts: list[str]) -> None:
    """The ids of both libraries are SentencePiece's, and both decode to the text; ▁ comes back as a space."""
    theirs = encode_batch(exported.sentencepiece, texts)
    encoded = [encoding.ids for encoding in exported.tokenizers.encode_batch(texts)]
    assert_same_ids(texts, encoded, theirs)
    assert_same_ids(texts, exported.auto(texts)["input_ids"] if texts else [], theirs)
    expected = [text.replace("▁", " ") for text in texts]
    assert exported.tokenizers.decode_batch(theirs, skip_special_tokens=False) == expected
    assert [exported.auto.decode(ids) for ids in theirs] == expected


def test_code_tokens(exported: Exported) -> None:
    assert_same(exported, CODE_TOKEN_TEXTS)


def test_code_tokens_by_hand(exported: Exported) -> None:
    """The expected ids are written by hand, without any oracle."""
    python, sql, prefix = (exported.tokenizers.token_to_id(text) for text in ("<|python|>", "<|sql|>", "▁"))
    assert exported.auto("<|python|>")["input_ids"] == [prefix, python]
    assert exported.auto("<|python|><|sql|>")["input_ids"] == [prefix, python, sql]
    assert exported.auto(" <|sql|> ")["input_ids"] == [exported.tokenizers.token_to_id("▁▁"), sql, prefix]


def test_runs_of_spaces(exported: Exported) -> None:
    patterns = ("{}", "a{}", "{}a", "a{}b", "{}\n{}x", "def f():\n{}return", "{}<|python|>{}")
    assert_same(exported, [pattern.format(*[" " * length] * 2) for length in RUNS for pattern in patterns])


def test_the_standard_library(exported: Exported, stdlib_sources: list[str]) -> None:
    assert_same(exported, exported.without_special(stdlib_sources[::120]))


def test_random_texts(exported: Exported) -> None:
    assert_same(exported, exported.without_special([adversarial.text(seed) for seed in range(1_500)]))


def test_special_tokens_in_the_text(exported: Exported) -> None:
    """The one known difference: SentencePiece reads `<s>` as four characters, other clients as the token."""
    text = "<s>Hej<|endoftext|>"
    tokens = exported.auto.convert_ids_to_tokens(exported.auto(text)["input_ids"])
    assert (tokens[0], tokens[-1]) == ("<s>", "<|endoftext|>")
    assert tokens[1].startswith("▁"), "a text between special tokens starts as a text of its own"
    assert exported.sentencepiece.bos_id() not in exported.sentencepiece.encode(text)


def test_roles_of_special_tokens(exported: Exported) -> None:
    auto = exported.auto
    assert (auto.pad_token_id, auto.unk_token_id, auto.bos_token_id, auto.eos_token_id) == (0, 1, 2, 3)
    assert (auto.pad_token, auto.eos_token) == ("<pad>", "<|endoftext|>")
    assert len(auto) == exported.tokenizer.vocab_size
    assert auto.decode([2, *auto("hej")["input_ids"], 3], skip_special_tokens=True) == "hej"


def test_gpt_sw3_tokenizer(exported: Exported) -> None:
    """GPTSw3Tokenizer reads spiece.model, and agrees on text that its clean-up does not change."""
    slow = transformers.GPTSw3Tokenizer.from_pretrained(str(exported.folder))
    fuzzed = exported.without_special([adversarial.text(seed) for seed in range(1_000)])
    texts = [text for text in [*CODE_TOKEN_TEXTS, *fuzzed] if slow.preprocess_text(text) == text]
    assert len(texts) > 400
    assert_same_ids(texts, [slow(text)["input_ids"] for text in texts], encode_batch(exported.sentencepiece, texts))


@pytest.mark.parametrize("group", range(6))
def test_made_up_corpora(group: int) -> None:
    """Recipes of every kind on corpora of few characters: many ties, many ways to one piece, odd symbols."""
    compared = 0
    for seed in range(group * 20, group * 20 + 20):
        lines, options = adversarial.corpus(seed), adversarial.options(seed)
        runs = random.Random(seed).choice([None, "paper", "portable"])
        recipe = pw.Recipe(vocab_size=2_000, hard_vocab_limit=False, whitespace_runs=runs, **options)
        tokenizer = pw.train(pw.count_words(lines), recipe)
        if found := list(caveats(tokenizer)):
            # The recipe has runs of ▁, but the corpus has no space: so ▁ itself is no piece.
            assert found == ["1 character is in pieces but is no piece itself (▁)"]
            continue
        rust = tokenizers.Tokenizer.from_str(orjson.dumps(tokenizer_json(tokenizer)).decode())
        special = [piece.text for piece in tokenizer.pieces if piece.type in ("unknown", "control")]
        texts = [*lines, *("".join(lines), *CODE_TOKEN_TEXTS), *(adversarial.text(seed * 40 + n) for n in range(40))]
        texts = [text for text in texts if not any(one in text for one in special)]
        theirs = encode_batch(load(tokenizer.model_bytes), texts)
        assert_same_ids(texts, [encoding.ids for encoding in rust.encode_batch(texts)], theirs)
        compared += len(texts)
    assert compared > 800


def test_a_model_of_sentencepiece_itself(code_lines: list[str]) -> None:
    """SentencePiece's own defaults: nmt_nfkc, extra spaces removed, unknown characters without bytes."""
    lines = [line for line in code_lines if "\0" not in line][:5_000]
    model = sp_train_with(lines, model_type="bpe", vocab_size=3_000)
    tokenizer = pw.Tokenizer.from_bytes(model)
    assert any("normalisation" in caveat for caveat in caveats(tokenizer))
    rust = tokenizers.Tokenizer.from_str(orjson.dumps(tokenizer_json(tokenizer)).decode())
    texts = [
        line for line in lines[::7] if line.isascii() and not any(mark in line for mark in ("<s>", "</s>", "<unk>"))
    ]
    theirs = encode_batch(load(model), texts)
    assert_same_ids(texts, [encoding.ids for encoding in rust.encode_batch(texts)], theirs)


@pytest.mark.slow
def test_at_64_000(nordic: Exported, corpus: Mapping[str, list[str]], stdlib_sources: list[str]) -> None:
    """Real text and code, and fuzzed strings; `PIECEWORK_PARITY=all` takes all of it and 20,000 strings."""
    everything = os.environ.get("PIECEWORK_PARITY") == "all"
    step, strings = (1, 20_000) if everything else (400, 500)
    compared = 0
    for texts in (
        *(corpus[stem][::step] for stem in corpus),
        stdlib_sources[::step],
        [adversarial.text(seed) for seed in range(strings)],
        CODE_TOKEN_TEXTS,
    ):
        chosen = nordic.without_special(texts)
        assert_same(nordic, chosen)
        compared += len(chosen)
    print(f"{compared:,} texts compared")
