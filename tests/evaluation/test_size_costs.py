"""What a vocabulary size costs: the formulas at hand-picked sizes, and which size is recommended."""

from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from cli.command import Run
from cli.conftest import run  # noqa: F401  # a fixture
from counting.corpora import made_up_documents
from piecework.evaluation.size_costs import WARNING
from pipeline.studies import run_study, write_study

DOCUMENTS = [text for text in made_up_documents(300, seed=4) if "▁" not in text and "\0" not in text]
TOKENIZER = pw.train(pw.count_words(DOCUMENTS), pw.Recipe(vocab_size=700, hard_vocab_limit=False))
COUNTS = pw.count_units({"sv": DOCUMENTS})


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("below", [0, 1, 128, 300])
def test_costs_at_a_size_are_the_formula(tied: bool, below: int) -> None:
    model = pw.ModelShape(d_model=64, layers=2, tied=tied)
    costs = pw.size_costs(TOKENIZER, COUNTS, model)
    size = TOKENIZER.vocab_size - below
    row = costs.table().where(vocab_size=size).rows()[0]
    resized = TOKENIZER.resize(size)
    tokens = sum(len(resized.encode(text)) for text in DOCUMENTS)
    text_bytes = sum(len(text.encode()) for text in DOCUMENTS)
    blocks = 12 * 2 * 64**2
    embeddings = size * 64 * (1 if tied else 2)
    assert row["embedding_parameters"] == embeddings
    assert row["memory_bytes"] == 2 * embeddings
    assert row["embedding_share"] == embeddings / (embeddings + blocks)
    assert row["tokens_per_byte"] == pytest.approx(tokens / text_bytes, rel=1e-12)
    assert row["serving_flops_per_byte"] == pytest.approx(2 * (blocks + size * 64) * tokens / text_bytes, rel=1e-12)
    assert row["training_flops_per_byte"] == pytest.approx(6 * (blocks + size * 64) * tokens / text_bytes, rel=1e-12)
    assert row["multiple_of"] == (128 if size % 128 == 0 else 64 if size % 64 == 0 else 1)


def test_a_small_model_wants_a_small_vocabulary_and_a_large_one_a_large_one() -> None:
    small = pw.size_costs(TOKENIZER, COUNTS, pw.ModelShape(d_model=512, layers=1, parameters=1000)).advice
    large = pw.size_costs(TOKENIZER, COUNTS, pw.ModelShape(d_model=4096, layers=80)).advice
    assert small.size < large.size
    assert small.size % 128 == large.size % 128 == 0
    assert large.still_falls
    assert "a larger vocabulary may be better" in large.certainty
    assert not small.still_falls
    assert small.interval is not None
    assert small.interval[0] <= small.size <= small.interval[1]
    assert f"Take {small.size:,} pieces" in small.reason


def test_the_recommended_size_is_the_smallest_within_one_percent() -> None:
    costs = pw.size_costs(TOKENIZER, COUNTS, pw.ModelShape(d_model=256, layers=4))
    flops, sizes = costs.serving_flops_per_byte, costs.vocab_sizes
    affordable = [int(size) for size, each in zip(sizes, flops, strict=True) if each <= 1.01 * flops.min()]
    assert costs.advice.size == next(size for size in affordable if size % 128 == 0)
    assert costs.advice.least == int(sizes[flops.argmin()])


def test_token_bytes_add_up() -> None:
    lengths = pw.token_bytes(TOKENIZER)
    for text in [*DOCUMENTS[:40], "å 京 😀  x"]:
        ids = TOKENIZER.encode(text)
        if TOKENIZER.unk_id not in ids:
            assert int(lengths[ids].sum()) == len(text.encode()) + 1  # the dummy prefix
    recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=300, special_tokens=["<|end|>"])
    byte_level = pw.train(pw.count_pre_tokens(DOCUMENTS, pre_tokenizer="gpt2"), recipe)
    lengths = pw.token_bytes(byte_level)
    assert int(lengths[byte_level.encode("å 京 😀  x")].sum()) == len("å 京 😀  x".encode())
    assert lengths[byte_level.model.special_tokens["<|end|>"]] == 0


def test_token_bytes_are_exported(run: Run, tmp_path: Path) -> None:  # noqa: F811
    TOKENIZER.save(tmp_path / "model")
    done = run("export", tmp_path / "model", "--to", "token-bytes", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(np.load(tmp_path / "out/token_bytes.npy"), pw.token_bytes(TOKENIZER))


def test_a_study_with_a_model(tmp_path: Path) -> None:
    line = "vocab_sizes = [400, 512, 640]\nmodel = {d_model = 64, layers = 2, tied = true}"
    results, _ = run_study(write_study(tmp_path, **{"vocab_sizes = [400, 512, 640]": line}))
    advice = results.tables["size_advice"].rows()[0]
    assert advice["warning"] == WARNING
    assert advice["vocab_size"] in results.tables["size_costs"].to_arrow().column("vocab_size").to_pylist()
    assert pw.Study.load(results.folder / "study.toml").analysis.model == pw.ModelShape(d_model=64, layers=2)
    page = (results.folder / "report.html").read_text()
    assert "Compression is not model quality" in page
    assert "Health of the vocabulary" in page
