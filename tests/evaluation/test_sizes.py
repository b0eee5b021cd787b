"""One pass gives every size: the curve equals really resized tokenizers, at each of its points."""

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adversarial
import piecework as pw
from evaluation.conftest import Sample
from evaluation.direct import SIZE_TOTALS, count_directly, texts_of
from piecework.common.terms import RunOrder
from piecework.evaluation.curves import Sizes, is_smaller_size
from piecework.evaluation.units import UnitCounts

WORDS = st.text("aabbc▁ é\n1.", min_size=0, max_size=12)
RUNS: tuple[RunOrder | None, ...] = ("paper", "portable", None)


def check_all_sizes(tokenizer: pw.Tokenizer, texts: list[str], step: int = 1) -> None:
    evaluation = pw.evaluate({"t": tokenizer}, pw.count_units({"x": texts}), curves=True)
    sizes = evaluation._result("t").sizes.vocab_sizes
    for kind in ("eval", "eval_plain"):
        curve = evaluation._result("t").totals[kind].curve
        assert curve is not None
        assert len(sizes) == curve.shape[1]
        for number in range(0, len(sizes), step):
            found = count_directly(tokenizer.resize(int(sizes[number])), texts_of(kind, texts)).totals
            assert curve[0, number].tolist() == [found[name] for name in SIZE_TOTALS], (kind, sizes[number])


def check_beside_the_large_one(tokenizer: pw.Tokenizer, texts: list[str]) -> None:
    """A smaller size gets its metrics from the pass of the larger tokenizer; alone it has a pass of its own."""
    counts = pw.count_units({"x": texts, "y": texts[:1]})
    smallest = int(Sizes.of(tokenizer).vocab_sizes[0])
    sizes = {smallest, (smallest + tokenizer.vocab_size) // 2, tokenizer.vocab_size - 1}
    small = {str(size): tokenizer.resize(size) for size in sizes}
    together = pw.evaluate(small | {"full": tokenizer}, counts, overall=True)
    for name, each in small.items():
        assert is_smaller_size(each, tokenizer)
        assert is_smaller_size(pw.Tokenizer.from_bytes(each.model_bytes), tokenizer)
        alone = pw.evaluate({name: each}, counts, overall=True)
        assert together.metrics.where(tokenizer=name).rows() == alone.metrics.rows()
        assert (together.frequency_array(name) == alone.frequency_array(name)).all()


# Text is cut at newlines if no piece reaches across a newline, and if unknown newlines do not join their neighbours.
SYMBOLS = ((), ("\n",), ("\n\n",), ("b\na",))


@settings(max_examples=80)
@given(
    st.lists(WORDS, min_size=1, max_size=6),
    st.sampled_from(RUNS),
    st.booleans(),
    st.booleans(),
    st.sampled_from(SYMBOLS),
)
def test_random_texts(
    texts: list[str], runs: RunOrder | None, prefix: bool, bytes_: bool, symbols: tuple[str, ...]
) -> None:
    texts = [text.replace("▁", " ") for text in texts] + ["ab abc"]
    recipe = pw.Recipe.gpt_sw3(
        vocab_size=360,
        whitespace_runs=runs,
        add_dummy_prefix=prefix,
        hard_vocab_limit=False,
        split_digits=False,
        byte_fallback=bytes_,
        user_defined_symbols=symbols,
    )
    tokenizer = pw.train(pw.count_words(texts * 2), recipe)
    check_all_sizes(tokenizer, texts)
    if Sizes.of(tokenizer).merges:
        check_beside_the_large_one(tokenizer, texts)


@pytest.mark.parametrize("runs", RUNS)
def test_adversarial_texts(runs: RunOrder | None) -> None:
    texts = [adversarial.text(seed).replace("\0", "").replace("▁", " ") for seed in range(60)]
    recipe = pw.Recipe.gpt_sw3(vocab_size=1_200, whitespace_runs=runs, hard_vocab_limit=False, character_coverage=0.99)
    tokenizer = pw.train(pw.count_words(texts), recipe)
    check_all_sizes(tokenizer, texts, step=61)
    check_beside_the_large_one(tokenizer, texts)


def test_unlike_text(sample: Sample, tokenizers: dict[str, pw.Tokenizer]) -> None:
    """Icelandic and code with a Danish vocabulary."""
    texts = [*sample.evaluation["is"][::10], *sample.evaluation["code"][::10]]
    check_all_sizes(tokenizers["da"], texts, step=1301)
    check_beside_the_large_one(tokenizers["da"], texts)


def test_a_tokenizer_without_merges() -> None:
    tokenizer = pw.train(pw.count_words(["ab"]), pw.Recipe(vocab_size=7, hard_vocab_limit=False))
    smallest = tokenizer.resize(tokenizer.vocab_size - 1)
    evaluation = pw.evaluate({"t": smallest}, pw.count_units({"x": ["ab ab"]}), sizes=[smallest.vocab_size])
    assert evaluation.curve("t", "x").values.tolist() == [3.0]
    assert evaluation.sizes.where(metric="fertility").column("value") == [3.0]


def test_sizes_and_curves_agree(evaluation: pw.Evaluation) -> None:
    for row in evaluation.sizes.where(tokenizer="multilingual").rows():
        curve = evaluation.curve("multilingual", row["language"], row["metric"])
        assert curve.at(row["vocab_size"]) == row["value"]
        assert row["low"] <= row["value"] <= row["high"]
    last = evaluation.metrics.where(tokenizer="multilingual", metric="fertility").column("value")
    assert last == [evaluation.curve("multilingual", group).values[-1] for group in evaluation.groups]


def test_gains_add_up(evaluation: pw.Evaluation) -> None:
    curve = evaluation.curve("multilingual", "sv")
    gains = curve.gains(1000)
    assert len(gains) == len(curve.vocab_sizes) - 1000
    assert gains[::1000].sum() == pytest.approx(curve.values[0] - curve.values[len(gains[::1000]) * 1000])
    table = curve.table(1000)
    assert table.column("vocab_size")[1:-1] == [1000, 2000, 3000, 4000, 5000, 6000]
    assert table.column("gain_of_1000")[-1] is None
    higher = evaluation.curve("multilingual", "sv", "bytes_per_token")
    assert np.all(higher.gains(1000) > 0)
    assert len(curve.gains(10**6)) == 0


@pytest.mark.parametrize("times", [30_000, 2**29, 2**41])
def test_counts_of_any_size_are_exact(times: int) -> None:
    """`times` copies of each document have `times` as many tokens, also if numbers do not fit in 16 or 32 bits."""
    texts = [f"{'  ' * n}en rask räv {n}\nhoppar över en lat hund" for n in range(40)]
    tokenizer = pw.train(pw.count_words(texts), pw.Recipe.gpt_sw3(vocab_size=340))
    tokenizers = {"full": tokenizer, "small": tokenizer.resize(325)}
    once = pw.count_units({"sv": texts})
    many = UnitCounts(
        {
            kind: {
                language: table.set_column(
                    table.schema.get_field_index("count"), "count", pc.multiply(table["count"], times)
                )
                for language, table in tables.items()
            }
            for kind, tables in once._tables.items()
        }
    )
    single, multiple = (pw.evaluate(tokenizers, counts) for counts in (once, many))
    for name in tokenizers:
        assert (multiple.frequency_array(name) == single.frequency_array(name) * times).all()
        for sums, wanted in zip(
            multiple.bucket_totals(name).values(), single.bucket_totals(name).values(), strict=True
        ):
            assert (sums == wanted * times).all()
        for found, wanted in zip(multiple.metrics.rows(), single.metrics.rows(), strict=True):
            assert found["value"] == pytest.approx(wanted["value"], rel=1e-12), found["metric"]
