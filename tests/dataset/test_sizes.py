"""Several vocabulary sizes from one encoding: the ids of each size are those that its own model gives."""

import os
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

import piecework as pw
from counting.corpora import made_up_documents
from dataset.readers import read_dataset
from piecework._core import IdPacker
from piecework.dataset.sizes import nested_sizes, smaller_ids
from piecework.errors import InputError

ALL = os.environ.get("PIECEWORK_PARITY") == "all"
SIZES = (420, 600, 900)


def ids_at(tokenizer: pw.Tokenizer | pw.ByteLevelTokenizer, size: int, texts: list[str]) -> list[list[int]]:
    """The ids at a smaller size, from the encoding at the full size."""
    packer = IdPacker(4, before=[], after=[], smaller=smaller_ids(tokenizer, tokenizer.resize(size)))
    [(ids, lengths)], _ = tokenizer._encoder.encode_packed(texts, [packer], 1)
    ends = np.cumsum(np.frombuffer(lengths, "<u4"))[:-1]
    return [part.tolist() for part in np.split(np.frombuffer(ids, "<u4"), ends)]


def test_datasets_of_several_sizes(
    tmp_path: Path, corpus_file: Path, texts: list[str], tokenizer: pw.Tokenizer
) -> None:
    out = tmp_path / "ids"
    dataset = pw.tokenize(corpus_file, tokenizer, out=out, sizes=SIZES, append_eos=True, threads=1)
    for index, size in enumerate(SIZES):
        oracle = sentencepiece.SentencePieceProcessor(model_file=str(out / str(size) / "tokenizer.model"))
        assert oracle.vocab_size() == size
        found = read_dataset(out / str(size), "megatron")
        assert found == [[*oracle.encode(text), oracle.eos_id()] for text in texts]
        described = dataset.description["datasets"][index]
        assert (described["vocab_size"], described["tokens"]) == (size, sum(map(len, found)))
    alone = tmp_path / "alone"
    pw.tokenize(corpus_file, tokenizer.resize(600), out=alone, append_eos=True, threads=1)
    for name in ("documents-00000.bin", "documents-00000.idx"):
        assert (alone / name).read_bytes() == (out / "600" / name).read_bytes()


@settings(max_examples=2000 if ALL else 150)
@given(
    st.text("ab dehkåör\n▁ 日<|python|>\x00x9", max_size=60),
    st.integers(0, 40),
    st.sampled_from(["paper", "portable"]),
)
def test_spaces_of_any_length(text: str, spaces: int, order: str) -> None:
    tokenizer = _with_runs(order)
    given_texts = [text, " " * spaces + text, text + " " * spaces, text.replace(" ", " " * spaces), " " * (spaces * 20)]
    for size in (420, 500, 700):
        oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.resize(size).model_bytes)
        assert ids_at(tokenizer, size, given_texts) == oracle.encode(given_texts)


_made: dict[str, pw.Tokenizer] = {}


def _with_runs(order: str) -> pw.Tokenizer:
    if order not in _made:
        recipe = pw.Recipe.gpt_sw3(vocab_size=900, whitespace_runs=order)
        _made[order] = pw.train(pw.count_words(made_up_documents(250)), recipe)
    return _made[order]


@pytest.mark.parametrize("options", [{"add_dummy_prefix": False}, {"byte_fallback": False}])
def test_other_settings(texts: list[str], options: dict[str, bool]) -> None:
    tokenizer = pw.train(pw.count_words(made_up_documents(250)), pw.Recipe.gpt_sw3(vocab_size=700, **options))
    for size in (450, 699):
        oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.resize(size).model_bytes)
        assert ids_at(tokenizer, size, texts) == oracle.encode(texts)


def test_byte_level_sizes(texts: list[str], byte_level: pw.ByteLevelTokenizer) -> None:
    for size in (257, 300, 500, 699):
        oracle = tokenizers.Tokenizer.from_str(byte_level.resize(size).json_bytes.decode())
        plain = [text for text in texts if "<|endoftext|>" not in text]
        assert ids_at(byte_level, size, plain) == [oracle.encode(text).ids for text in plain]


def test_real_text_and_code() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(folder.rglob("*.py") if ALL else folder.glob("a*.py"))
    documents = [path.read_text(encoding="utf-8", errors="replace") for path in paths if path.stat().st_size]
    tokenizer = pw.train(pw.count_words(documents), pw.Recipe.gpt_sw3(vocab_size=6000))
    for size in (1500, 3000):
        oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.resize(size).model_bytes)
        assert ids_at(tokenizer, size, documents) == oracle.encode(documents)


def test_sizes_that_do_not_nest(tokenizer: pw.Tokenizer, byte_level: pw.ByteLevelTokenizer) -> None:
    with pytest.raises(InputError, match="cannot resize to 5,000"):
        nested_sizes(tokenizer, [5000])
    across = pw.train(["a b a b c"] * 9, vocab_size=17, split_by_whitespace=False)
    with pytest.raises(InputError, match=r"cannot resize|reach across words"):
        nested_sizes(across, [14])
    with pytest.raises(InputError, match="cannot resize to 100"):
        nested_sizes(byte_level, [100])
