"""Outside tokenizers of every kind, trained here with the real libraries; text in two languages."""

import base64
import io
import os
import random
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import piecework as pw
from cli.command import made_up_lines
from cli.conftest import run  # noqa: F401  # a fixture
from piecework.tokenizer.byte_characters import byte_by_character


@pytest.fixture(scope="session")
def documents() -> dict[str, list[str]]:
    """Documents with spaces, line breaks, accents, emoji and characters that are not in every vocabulary."""
    found = {}
    for seed, language in enumerate(("da", "sv"), 1):
        lines = made_up_lines(400, seed=seed)
        rng = random.Random(seed)
        texts = []
        for start in range(0, 400, 8):
            text = rng.choice(["\n", "\n\n    ", "\t", " ", "  "]).join(lines[start : start + 8])
            texts.append(text + rng.choice(["", "\n", " 😀 字", " e\u0301", " ﬁn"]))
        found[language] = texts
    return found


@pytest.fixture(scope="session")
def training(documents: dict[str, list[str]]) -> list[str]:
    return [line for texts in documents.values() for text in texts for line in text.split("\n") if line]


@pytest.fixture(scope="session")
def outside(training: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each kind."""
    folder = tmp_path_factory.mktemp("outside")
    paths = {"ours": pw.train(pw.count_words(training), pw.Recipe.gpt_sw3(vocab_size=700)).save(folder / "ours")}
    for kind in ("bpe", "unigram"):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(training), model_writer=model, model_type=kind, vocab_size=300, minloglevel=2
        )
        paths[kind] = folder / f"{kind}.model"
        paths[kind].write_bytes(model.getvalue())
    paths["byte-level"] = folder / "gpt" / "tokenizer.json"
    paths["byte-level"].parent.mkdir()
    _byte_level(training).save(str(paths["byte-level"]))
    paths["wordpiece"] = folder / "wordpiece.json"
    _wordpiece(training).save(str(paths["wordpiece"]))
    paths["tiktoken"] = folder / "own.tiktoken"
    paths["tiktoken"].write_bytes(_ranks(_byte_level(training)))
    return paths


def _byte_level(training: list[str]) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(training, trainer)
    return tokenizer


def _wordpiece(training: list[str]) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[UNK]", "[CLS]"], show_progress=False)
    tokenizer.train_from_iterator(training, trainer)
    return tokenizer


def _ranks(byte_level: tokenizers.Tokenizer) -> bytes:
    """The vocabulary as tiktoken writes it: bytes first, then merges in their order."""
    table = byte_by_character()
    tokens = sorted(byte_level.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1])
    spelt = [bytes(table[character] for character in token) for token, _ in tokens if not token.startswith("<|")]
    spelt.sort(key=lambda token: len(token) > 1)
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(spelt))
