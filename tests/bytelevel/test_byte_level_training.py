"""Byte-level training gives the file that Hugging Face's trainer gives, on adversarial corpora and on real text."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts
from bytelevel.hugging_face import hf_train, saved_bytes
from bytelevel.slow_byte_level import slow_train

PRESETS = ("gpt2", "gpt4", "gpt4o", "llama3", "qwen2")


def adversarial_corpus(rng: random.Random) -> list[str]:
    """Short words over few letters with long runs: many ties, overlaps, and strings that can be made in two ways."""
    letters = "abc\u00e5"[: rng.randint(1, 4)]
    words = (
        "".join(rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 5, 7, 9)) for _ in range(rng.randint(1, 12)))
        for _ in range(rng.randint(1, 40))
    )
    return [word for word in words for _ in range(rng.randint(1, 9))]


def adversarial_recipe(rng: random.Random, **settings: object) -> pw.ByteLevelRecipe:
    specials = ("aa", "ab", "aab", "b", "abc", "aaaa", "ba", "<s>", " a", "Ã¥", "é")
    chosen = {
        "pre_tokenizer": "gpt2",
        "vocab_size": 270 + rng.randint(0, 150),
        "special_tokens": rng.sample(specials, rng.choice((0, 0, 2))),
        "min_frequency": rng.choice((0, 0, 2, 5)),
        "max_token_length": rng.choice((None, None, 1, 2, 3, 4, 6, 9)),
        "hard_vocab_limit": False,
    }
    return pw.Recipe.byte_level(**{**chosen, **settings})


def train(texts: list[str], recipe: pw.ByteLevelRecipe) -> pw.ByteLevelTokenizer:
    return pw.train(pw.count_pre_tokens(texts, pre_tokenizer=recipe.pre_tokenizer), recipe)


@pytest.mark.parametrize("seed", range(8))
def test_adversarial_corpora(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for _ in range(75):
        texts, recipe = adversarial_corpus(rng), adversarial_recipe(rng)
        assert train(texts, recipe).json_bytes == saved_bytes(hf_train(texts, recipe), tmp_path), (texts, recipe)


@pytest.mark.parametrize("name", pw.PreTokenizer.names())
def test_fuzzed_texts(name: str, tmp_path: Path) -> None:
    texts = fuzzed_texts(2_000, seed=7)
    recipe = pw.Recipe.byte_level(pre_tokenizer=name, vocab_size=2_000, special_tokens=["<s>", "\n\t\x01"])
    assert train(texts, recipe).json_bytes == saved_bytes(hf_train(texts, recipe), tmp_path)


@pytest.mark.parametrize("preset", PRESETS)
def test_code(preset: str, stdlib_sources: list[str], tmp_path: Path) -> None:
    recipe = pw.Recipe.byte_level(preset, vocab_size=8_000)
    texts = stdlib_sources[::12]
    assert train(texts, recipe).json_bytes == saved_bytes(hf_train(texts, recipe), tmp_path)


@pytest.mark.parametrize("settings", [{}, {"min_frequency": 20}, {"max_token_length": 7}], ids=str)
def test_real_text(settings: Mapping[str, int], corpus: Mapping[str, list[str]], tmp_path: Path) -> None:
    texts = [text for stem in corpus for text in corpus[stem][::200]]
    recipe = pw.Recipe.byte_level("gpt4o", vocab_size=12_000, hard_vocab_limit=False, **settings)
    assert train(texts, recipe).json_bytes == saved_bytes(hf_train(texts, recipe), tmp_path)


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        *((preset, {}) for preset in PRESETS),
        ("gpt4", {"min_frequency": 50}),
        ("llama3", {"max_token_length": 12}),
        ("gpt4o", {"special_tokens": ["<|a|>", " the", "en"], "min_frequency": 5, "max_token_length": 20}),
    ],
    ids=str,
)
def test_all_text_at_64_000(
    preset: str,
    settings: Mapping[str, object],
    corpus: Mapping[str, list[str]],
    stdlib_sources: list[str],
    tmp_path: Path,
) -> None:
    """The whole corpus and the standard library: vocabulary, merges and file are those of Hugging Face."""
    texts = [*(text for stem in corpus for text in corpus[stem]), *stdlib_sources]
    recipe = pw.Recipe.byte_level(preset, vocab_size=64_000, hard_vocab_limit=False, **settings)
    ours = train(texts, recipe)
    theirs = hf_train(texts, recipe)
    assert ours.vocab_size == theirs.get_vocab_size()
    assert ours.vocab_size == 64_000 or settings
    assert ours.json_bytes == saved_bytes(theirs, tmp_path)


def test_a_string_is_made_in_one_step_only() -> None:
    """The queue of pairs depends on this. docs/exactness.md has the proof."""
    rng = random.Random(11)
    for _ in range(200):
        texts, recipe = adversarial_corpus(rng), adversarial_recipe(rng)
        merges, made = slow_train(Counter(texts), recipe), Counter()
        for left, right in merges:
            made[left + right] += 1
        assert set(made.values()) <= {1}, (texts, recipe)


def test_slow_and_obvious_trainer() -> None:
    rng = random.Random(12)
    for _ in range(100):
        texts, recipe = adversarial_corpus(rng), adversarial_recipe(rng)
        merges = orjson.loads(train(texts, recipe).json_bytes)["model"]["merges"]
        assert list(map(tuple, merges)) == slow_train(Counter(texts), recipe), (texts, recipe)


def test_threads_order_and_batches_do_not_matter(stdlib_sources: list[str]) -> None:
    texts = stdlib_sources[::40]
    recipe = pw.Recipe.byte_level("llama3", vocab_size=3_000)
    counts = pw.count_pre_tokens(texts, pre_tokenizer="llama3")
    shuffled = random.Random(1).sample(texts, len(texts))
    others = pw.count_pre_tokens(shuffled[:7], pre_tokenizer="llama3", threads=2) + pw.count_pre_tokens(
        iter(shuffled[7:]), pre_tokenizer="llama3", threads=3
    )
    assert pw.train(others, recipe).json_bytes == pw.train(counts, recipe).json_bytes


def test_texts_and_records_are_counted_first(stdlib_sources: list[str]) -> None:
    texts = stdlib_sources[::60]
    recipe = pw.Recipe.byte_level("qwen2", vocab_size=2_000)
    expected = train(texts, recipe).json_bytes
    for source in (texts, [{"text": text} for text in texts], pa.table({"text": texts}), [t.encode() for t in texts]):
        assert pw.train(source, recipe, threads=2).json_bytes == expected


def test_sizes_nest() -> None:
    rng = random.Random(13)
    for _ in range(60):
        texts, recipe = adversarial_corpus(rng), adversarial_recipe(rng)
        large = train(texts, recipe)
        for size in range(recipe.smallest_size - 2, len(large) + 1, 9):
            if size < len(recipe.special_tokens) + 256:
                continue
            small = recipe.model_copy(update={"vocab_size": size})
            assert large.resize(size).json_bytes == train(texts, small).json_bytes, (texts, small)


def test_frequencies_are_of_the_pairs() -> None:
    counts = pw.PreTokenCounts.from_mapping({"abab": 3, "ab": 1 << 40}, pre_tokenizer="gpt2")
    tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=258))
    assert tokenizer.frequencies == [(1 << 40) + 6, 3]


def test_a_killing_progress_stops_training() -> None:
    class StopError(Exception):
        pass

    def stop(done: int, wanted: int) -> None:
        assert 0 <= done <= wanted
        raise StopError

    counts = pw.count_pre_tokens(["hej på dig"], pre_tokenizer="gpt2")
    with pytest.raises(StopError):
        pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260), progress=stop)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"continuing_subword_prefix": "##"}, "continuing_subword_prefix is not supported"),
        ({"limit_alphabet": 10}, "limit_alphabet is not supported"),
        ({"vocab_sise": 10}, 'unknown setting "vocab_sise"; did you mean "vocab_size"?'),
        ({"special_tokens": ["a", "a"]}, "'a' is given twice"),
        ({"special_tokens": [""]}, "a special token is empty"),
        ({"max_token_length": 0}, "max_token_length = 0"),
        ({"min_frequency": -1}, "min_frequency = -1"),
        ({"pre_tokenizer": "gpt5"}, 'unknown pre-tokenizer "gpt5"; did you mean "gpt2"'),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(pw.RecipeError, match=message):
        pw.Recipe.byte_level(**settings)


def test_texts_are_counted_whatever_holds_them() -> None:
    texts = ["hej på dig", "hej på er", "på"]
    recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262)
    expected = pw.train(pw.count_pre_tokens(texts, pre_tokenizer="gpt2"), recipe).model
    table = pa.table({"body": [*texts, None], "id": [1, 2, 3, 4]})
    assert pw.train(texts, recipe, threads=2).model == expected
    assert pw.train(iter([text.encode() for text in texts]), recipe).model == expected
    with pytest.warns(UserWarning, match="1 of 4 texts are missing"):
        assert pw.train(table, recipe, text="body").model == expected
    with pytest.warns(UserWarning, match="1 of 4 texts are missing"):
        assert pw.train(table.to_pylist(), recipe, text="body").model == expected


def test_what_cannot_be_trained_is_refused() -> None:
    counts = pw.count_pre_tokens(["hej på dig"], pre_tokenizer="gpt2")
    with pytest.raises(pw.RecipeError, match=r"the counts are of .*gpt2.*, the recipe is for .*o200k"):
        pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="o200k"))
    with pytest.raises(pw.RecipeError, match=r"vocab_size = 256 is too small: .* take 257"):
        pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=256, special_tokens=["<s>"]))
    with pytest.raises(pw.VocabularyTooLargeError, match="allows at most 264") as caught:
        pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=1_000))
    assert caught.value.largest == 264
    with pytest.raises(pw.RecipeError, match="need a recipe for them"):
        pw.train(counts, pw.Recipe())  # type: ignore[call-overload]
    with pytest.raises(pw.RecipeError, match="not of words"):
        pw.train(pw.count_words(["hej"]), pw.Recipe.byte_level("gpt2"))
    with pytest.raises(pw.RecipeError, match=r"give vocab_size to Recipe\.byte_level"):
        pw.train(counts, pw.Recipe.byte_level("gpt2"), vocab_size=300)  # type: ignore[call-overload]
    with pytest.raises(pw.InputError, match="no text to train on"):
        pw.train(pw.count_pre_tokens([], pre_tokenizer="gpt2"), pw.Recipe.byte_level("gpt2"))
    with pytest.raises(pw.RecipeError, match='unknown preset "gpt-4"'):
        pw.Recipe.byte_level("gpt-4")
    huge = pw.PreTokenCounts.from_mapping({"ab": 1 << 63}, pre_tokenizer="gpt2")
    with pytest.raises(pw.InputError, match="64 bits"):
        pw.train(huge, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=257))
