"""Metrics of byte-level tokenizers from counts equal their definitions on whole documents that `tokenizers` encodes."""

import os
import random
from collections.abc import Mapping, Sequence

import pytest

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts, long_runs
from evaluation.byte_level_direct import count_byte_level_directly
from evaluation.direct import SIZE_TOTALS, texts_of
from installed_text import translations
from piecework.evaluation.metrics import UnitKind
from piecework.evaluation.passes import TEXT_TOTALS, TOKEN_TOTALS

PRE_TOKENIZERS = [
    *(pw.PreTokenizer(name) for name in pw.PreTokenizer.names() if not name.endswith("-js")),
    pw.PreTokenizer("llama3", digits="right"),
]
KINDS: tuple[UnitKind, ...] = ("eval", "eval_plain")


def trained(
    texts: list[str], pre_tokenizer: pw.PreTokenizer, vocab_size: int, special_tokens: Sequence[str] = ("<|end|>",)
) -> pw.ByteLevelTokenizer:
    counts = pw.count_pre_tokens(texts, pre_tokenizer=pre_tokenizer)
    recipe = pw.Recipe.byte_level(
        pre_tokenizer=pre_tokenizer, vocab_size=vocab_size, special_tokens=special_tokens, hard_vocab_limit=False
    )
    return pw.train(counts, recipe)


def check_totals(tokenizer: pw.ByteLevelTokenizer, texts: list[str]) -> None:
    counts = pw.count_units({"x": texts}, pre_tokenizer=tokenizer.pre_tokenizer)
    evaluation = pw.evaluate({"t": tokenizer}, counts)
    for kind in KINDS:
        direct = count_byte_level_directly(tokenizer, texts_of(kind, texts))
        found = evaluation._result("t").totals[kind]
        totals = dict(zip(TOKEN_TOTALS, found.totals[0].sum(axis=0).tolist(), strict=True))
        totals |= zip(TEXT_TOTALS, evaluation._text[kind][0].sum(axis=0).tolist(), strict=True)
        assert totals == dict(direct.totals), (kind, tokenizer.pre_tokenizer)
        if kind == "eval":
            frequencies = evaluation.frequency_array("t")[0]
            assert {number: int(frequencies[number]) for number in frequencies.nonzero()[0]} == direct.frequencies
            row = evaluation.metrics.where(metric="single_token_types").rows()[0]
            assert (row["numerator"], row["denominator"]) == (len(direct.single_types), len(direct.types))


def check_all_sizes(tokenizer: pw.ByteLevelTokenizer, texts: list[str], step: int = 1) -> None:
    counts = pw.count_units({"x": texts}, pre_tokenizer=tokenizer.pre_tokenizer)
    evaluation = pw.evaluate({"t": tokenizer}, counts, curves=True)
    plan = evaluation._result("t").sizes
    assert plan is not None
    sizes = plan.vocab_sizes.tolist()
    assert sizes[-1] == tokenizer.vocab_size
    for kind in KINDS:
        curve = evaluation._result("t").totals[kind].curve
        assert curve is not None and len(sizes) == curve.shape[1]
        for number in {*range(0, len(sizes), step), len(sizes) - 1}:
            direct = count_byte_level_directly(tokenizer.resize(sizes[number]), texts_of(kind, texts)).totals
            assert curve[0, number].tolist() == [direct[name] for name in SIZE_TOTALS], (kind, sizes[number])


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS, ids=lambda each: f"{each.name}-{each.digits}")
def test_fuzzed_documents(pre_tokenizer: pw.PreTokenizer) -> None:
    texts = ["", " ", *fuzzed_texts(150, seed=1), *(text[:400] + text[-9:] for text in long_runs()[::5])]
    check_totals(trained(texts, pre_tokenizer, 900), texts)


def test_real_text_in_many_scripts() -> None:
    texts = [text for language in ("sv", "th", "ja", "hi") for text in translations(language)[:100]]
    check_totals(trained(texts, pw.PreTokenizer("o200k"), 3000), texts)


def test_the_shared_corpus(corpus: Mapping[str, list[str]]) -> None:
    """PIECEWORK_PARITY=all takes a tenth of the documents, every pre-tokenizer, and more sizes."""
    is_all = os.environ.get("PIECEWORK_PARITY") == "all"
    texts = [text for stem in corpus for text in corpus[stem][:: 10 if is_all else 400]]
    for pre_tokenizer in PRE_TOKENIZERS if is_all else PRE_TOKENIZERS[2:3]:
        tokenizer = trained(texts, pre_tokenizer, 20_000)
        check_totals(tokenizer, texts)
        check_all_sizes(tokenizer, texts[:: 20 if is_all else 8], step=2_500 if is_all else 10_000)


def test_every_size_is_that_of_a_resized_tokenizer() -> None:
    texts = [*fuzzed_texts(60, seed=2), *translations("sv")[:60]]
    check_all_sizes(trained(texts, pw.PreTokenizer("cl100k"), 600), texts, step=31)


def test_every_size_where_merges_make_special_tokens() -> None:
    """A merge that spells a special token takes its id: there are more merges than pieces."""
    joined = 0
    for seed in range(40):
        rng = random.Random(seed)
        texts = ["".join(rng.choice("aabb ") for _ in range(rng.randint(1, 40))) for _ in range(6)]
        tokenizer = trained(texts, pw.PreTokenizer("gpt2"), 290, special_tokens=["ab", "Ġa", "ba"])
        assert tokenizer.merge_counts is not None
        joined += tokenizer.merge_counts[-1] >= len(tokenizer.merge_counts)
        check_totals(tokenizer, texts)
        check_all_sizes(tokenizer, texts, step=5)
    assert joined > 5


def test_counts_of_another_kind_are_refused() -> None:
    texts = ["en ros är en ros"]
    words = pw.train(texts, vocab_size=15)
    tokenizer = trained(texts, pw.PreTokenizer("gpt2"), 260)
    units, pre_tokens = pw.count_units({"sv": texts}), pw.count_units({"sv": texts}, pre_tokenizer="gpt2")
    with pytest.raises(pw.InputError, match="is a SentencePiece model, and these are counts of the pre-tokens"):
        pw.evaluate(words, pre_tokens)
    with pytest.raises(pw.InputError, match='kind = "byte-level" and pre_tokenizer = "gpt2"'):
        pw.evaluate(tokenizer, units)
    with pytest.raises(pw.InputError, match=r"has the pre-tokenizer .*gpt2.*llama3"):
        pw.evaluate(tokenizer, pw.count_units({"sv": texts}, pre_tokenizer="llama3"))
