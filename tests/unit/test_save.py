"""A saved folder works in `transformers` with the same ids."""

import json
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import pytest
import transformers

import piecework as pw
from sentencepiece_oracle import PLAIN, sp_train_with

LINES = ["den som väntar på något gott väntar aldrig för länge", "def f(x):    return x  # 你好 123", "ab  ab\tab"] * 3
TEXTS = [*LINES, "", " ", "  två  mellanslag ", "<|python|>def", "é 😀", "▁x", "rad\nrad", "slut "]


@pytest.mark.parametrize(
    "recipe",
    [
        pw.Recipe(vocab_size=90, hard_vocab_limit=False),
        pw.Recipe.gpt_sw3(vocab_size=340, hard_vocab_limit=False, whitespace_runs="portable"),
        pw.Recipe.gpt_sw3(vocab_size=340, hard_vocab_limit=False, add_dummy_prefix=False),
    ],
    ids=["plain", "paper", "no prefix"],
)
def test_auto_tokenizer_gives_the_same_ids(recipe: pw.Recipe, tmp_path: Path) -> None:
    tokenizer = pw.train(LINES, recipe)
    tokenizer.save(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    for text in TEXTS:
        assert loaded.encode(text, add_special_tokens=False) == tokenizer.encode(text), text
        ids = tokenizer.encode(text)
        if tokenizer.unk_id not in ids:  # each library has its own text for unknown characters
            assert loaded.decode(ids) == tokenizer.decode(ids), text
    assert (loaded.eos_token_id, loaded.pad_token_id) == (tokenizer.eos_id, tokenizer.pad_id)


def test_special_tokens_and_a_chat_template(tmp_path: Path) -> None:
    plain = pw.train(LINES, pw.Recipe.gpt_sw3(vocab_size=340, hard_vocab_limit=False))
    tokenizer = pw.edit(plain, add_special=["<|im_start|>", "<|im_end|>"]).tokenizer
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"
    tokenizer.save(tmp_path, chat_template=template)
    loaded = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    start, end = (tokenizer.piece_to_id(text) for text in ("<|im_start|>", "<|im_end|>"))
    assert (start, end) == (340, 341) == (len(plain), len(plain) + 1)
    chat = loaded.apply_chat_template([{"role": "user", "content": "hej"}], tokenize=False)
    assert chat == "<|im_start|>user\nhej<|im_end|>"
    ids = loaded.encode(chat, add_special_tokens=False)
    assert ids == [start, *tokenizer.encode("user\nhej"), end]
    assert loaded.decode(ids, skip_special_tokens=True) == "user\nhej"
    # The model of SentencePiece has these tokens too, but SentencePiece never finds one in a text.
    assert start not in tokenizer.encode("<|im_start|>")
    assert pw.verify(tokenizer, [chat], folder=tmp_path, runtimes=["tokenizers", "AutoTokenizer"]).is_fine
    assert list(tokenizer.settings()["control_symbols"]) == ["<|im_start|>", "<|im_end|>"]  # type: ignore[call-overload]


def test_a_model_that_transformers_cannot_express(tmp_path: Path) -> None:
    arguments = {**PLAIN, "vocab_size": 60, "hard_vocab_limit": False, "treat_whitespace_as_suffix": True}
    tokenizer = pw.Tokenizer.from_bytes(sp_train_with(LINES, **arguments))
    with pytest.warns(UserWarning, match="saved for SentencePiece alone: a model with treat_whitespace_as_suffix"):
        tokenizer.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["SHA256SUMS", "tokenizer.model", "tokenizer.vocab"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    tokenizer = pw.train(LINES, vocab_size=90, hard_vocab_limit=False)
    tokenizer.save(tmp_path)
    with pytest.raises(pw.InputError, match="already"):
        tokenizer.save(tmp_path)
    tokenizer.save(tmp_path, force=True)
    assert json.loads((tmp_path / "tokenizer_config.json").read_bytes())["eos_token"] == "</s>"
