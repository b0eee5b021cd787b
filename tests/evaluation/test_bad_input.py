"""What cannot be evaluated is refused with a message that says what, where, and what to do."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sentencepiece

import piecework as pw
from evaluation.counts import SEED, counted_study, evaluation_documents, made_up_texts, without_evaluation
from piecework.counting.store import Counts
from piecework.evaluation.units import UnitCounts
from sentencepiece_oracle import parse

TEXTS = made_up_texts()


@pytest.fixture(scope="module")
def tokenizer() -> pw.Tokenizer:
    return pw.train(pw.count_words(TEXTS["sv"]), pw.Recipe.gpt_sw3(vocab_size=400))


def sentencepiece_model(**arguments: object) -> bytes:
    model = io.BytesIO()
    settings = {"vocab_size": 60, "hard_vocab_limit": False, "minloglevel": 2} | arguments
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXTS["sv"]), model_writer=model, **settings)
    return model.getvalue()


def test_a_language_without_evaluation_text(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    counts = counted_study(tmp_path, {**TEXTS, "fo": [without_evaluation("fo")]})
    assert counts.languages == ["da", "fo", "sv"]
    evaluation = pw.evaluate(tokenizer, counts)
    assert evaluation.without_text == ["fo"]
    assert {row["value"] for row in evaluation.metrics.where(language="fo").rows()} == {None}
    with pytest.raises(
        pw.InputError, match=r"no evaluation text in fo; raise the evaluation fraction \(sampling.eval\)"
    ):
        pw.evaluate(tokenizer, counts, languages=["fo"])
    with pytest.raises(pw.InputError, match='no language "is" in these counts; there is da, fo, sv'):
        pw.evaluate(tokenizer, counts, languages=["is"])


def test_counts_and_documents_agree(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    """Metrics from a study's counts are those of its evaluation documents, intervals included."""
    counts = counted_study(tmp_path, TEXTS)
    documents = {language: evaluation_documents(language, texts) for language, texts in TEXTS.items()}
    from_counts, from_documents = (
        pw.evaluate({"t": tokenizer}, source, sizes=[350]) for source in (counts, pw.count_units(documents, seed=SEED))
    )
    assert from_counts.metrics.rows() == from_documents.metrics.rows()
    assert from_counts.sizes.rows() == from_documents.sizes.rows()
    assert pw.evaluate(tokenizer, counts, by="subset").groups == ["books_da", "books_sv"]


def test_a_model_that_is_no_bpe() -> None:
    with pytest.raises(pw.ModelError, match="a unigram model; only BPE models"):
        pw.Tokenizer.from_bytes(sentencepiece_model(model_type="unigram"))
    with pytest.raises(pw.InputError, match=r'"sp" is a SentencePieceProcessor, not a piecework\.Tokenizer'):
        pw.evaluate({"sp": sentencepiece.SentencePieceProcessor()}, pw.count_units(TEXTS))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"treat_whitespace_as_suffix": True}, "it puts whitespace after words"),
        ({"split_by_whitespace": False, "vocab_size": 300}, "it has pieces that reach across a space"),
        ({"user_defined_symbols": ["x▁y"]}, 'the user-defined symbol "x▁y" reaches across a space'),
    ],
)
def test_a_model_that_looks_across_spaces(settings: dict[str, object], reason: str) -> None:
    tokenizer = pw.Tokenizer.from_bytes(sentencepiece_model(model_type="bpe", **settings))
    with pytest.raises(pw.ModelError, match=f'"sp" cannot be evaluated on counts: {reason}'):
        pw.evaluate({"sp": tokenizer}, pw.count_units(TEXTS))


def test_counts_of_another_format(tmp_path: Path) -> None:
    counts = counted_study(tmp_path, TEXTS)
    path = counts.folder / "counts.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(pw.InputError, match="format 99, and this version reads"):
        Counts.load(tmp_path)


def test_tables_of_another_make(tokenizer: pw.Tokenizer) -> None:
    units = pw.count_units(TEXTS)
    tables = {
        kind: {language: table.drop_columns(["bucket"]) for language, table in by_language.items()}
        for kind, by_language in units._tables.items()
    }
    with pytest.raises(pw.InputError, match=r"no column bucket .* count again"):
        pw.evaluate(tokenizer, UnitCounts(tables))


@pytest.mark.parametrize(
    ("unit", "count", "reason"),
    [
        (b"\x80", 1, "a unit is not valid UTF-8"),
        (b" a\xe2\x96", 1, "a unit is not valid UTF-8"),
        (b"", 1, "a unit is empty"),
        (b" a b", 1, 'the unit " a b" has a space after its text'),
        (b" a", 2**60, "add up to more than 64 bits hold"),
    ],
)
def test_damaged_units(tokenizer: pw.Tokenizer, unit: bytes, count: int, reason: str) -> None:
    """A table can hold any bytes as text: Parquet is not checked when it is read."""
    texts = pa.Array.from_buffers(
        pa.large_string(), 1, [None, pa.py_buffer(np.array([0, len(unit)])), pa.py_buffer(unit)]
    )
    table = pa.table(
        {
            "bucket": pa.array([3], pa.uint8()),
            "opens": pa.array([False]),
            "unit": texts,
            "count": pa.array([count], pa.uint64()),
        }
    )
    units = UnitCounts({"eval": {"sv": table}, "eval_plain": {"sv": table}})
    with pytest.raises(pw.InputError, match=f"the evaluation counts are damaged: .*{reason}.*; count again"):
        pw.evaluate(tokenizer, units)


def test_sizes_that_the_model_does_not_have(tokenizer: pw.Tokenizer) -> None:
    units = pw.count_units(TEXTS)
    with pytest.raises(
        pw.InputError, match=r'size 64,000 of "nordic": its vocabulary has 400 pieces; choose sizes from'
    ):
        pw.evaluate({"nordic": tokenizer}, units, sizes=[350, 64_000])
    with pytest.raises(pw.InputError, match=r"size 100 .* whitespace runs alone take \d+; choose sizes from"):
        pw.evaluate({"nordic": tokenizer}, units, sizes={"nordic": [100]})
    evaluation = pw.evaluate({"nordic": tokenizer}, units, sizes=[350])
    with pytest.raises(pw.InputError, match="the curve goes from"):
        evaluation.curve("nordic", "sv").at(401)
    with pytest.raises(pw.InputError, match='"byte_rate" has no curve; these metrics have one: fertility'):
        evaluation.curve("nordic", "sv", "byte_rate")
    with pytest.raises(pw.InputError, match='no language "is" was evaluated; there is da, sv'):
        evaluation.curve("nordic", "is")
    with pytest.raises(pw.InputError, match='no tokenizer "x" was evaluated; there is nordic'):
        evaluation.curve("x", "sv")


def test_a_vocabulary_out_of_order(tokenizer: pw.Tokenizer) -> None:
    model = parse(tokenizer.model_bytes)
    merges = [piece for piece in model.pieces if len(piece.piece) > 1 and piece.type == 1]
    merges[0].score, merges[1].score = merges[1].score, merges[0].score
    other = pw.Tokenizer.from_bytes(model.SerializeToString())
    units = pw.count_units(TEXTS)
    with pytest.raises(pw.InputError, match='"other" has no smaller sizes'):
        pw.evaluate({"other": other}, units, sizes=[350])
    assert pw.evaluate({"other": other}, units).metrics.rows()


def test_arguments(tokenizer: pw.Tokenizer) -> None:
    units = pw.count_units(TEXTS)
    for arguments, message in (
        ({"by": "family"}, 'by is "language" or "subset"'),
        ({"threads": 0}, "threads must be 1 or more"),
        ({"metrics": []}, "no metric"),
        ({"metrics": ["fertilty"]}, 'did you mean "fertility"'),
    ):
        with pytest.raises(pw.InputError, match=message):
            pw.evaluate(tokenizer, units, **arguments)  # type: ignore[arg-type]
    with pytest.raises(pw.InputError, match="no tokenizer"):
        pw.evaluate({}, units)
    with pytest.raises(pw.InputError, match="are one string"):
        pw.count_units({"sv": "hej"})
    assert list(pw.evaluate([tokenizer, tokenizer], units).tokenizers) == ["tokenizer 1", "tokenizer 2"]


def test_words_that_are_damaged() -> None:
    words = pa.array([b"\xe2\x96\x81ab", b"\x96\x81"], pa.large_binary()).view(pa.large_string())
    with pytest.raises(pw.InputError, match="a word is not valid UTF-8"):
        pw.WordCounts.from_columns([(words, pa.array([1, 2], pa.uint64()))], source="counts")
