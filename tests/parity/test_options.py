"""Every option of SentencePiece's BPE trainer gives the same bytes, in both releases, on text in 21 scripts."""

import os
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from installed_text import SCRIPTS, lines
from sentencepiece_oracle import assert_same_model
from sentencepiece_releases import CURRENT, OLDER, RELEASES, AbortedError, Release, TrainingError, close_all, release

EVERYTHING = os.environ.get("PIECEWORK_PARITY") == "all"
ROUNDS = 30 if EVERYTHING else 3
"""Random recipes for each script and release."""


@pytest.fixture(params=RELEASES)
def sentencepiece(request: pytest.FixtureRequest) -> Release:
    return release(request.param)


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    close_all()


def train(texts: list[str], recipe: pw.Recipe) -> bytes:
    limit = recipe.max_sentence_length if "max_sentence_length" in recipe.model_fields_set else None
    counts = pw.count_words(texts, threads=1, split=recipe.split(), max_sentence_length=limit)
    return pw.train(counts, recipe).model_bytes


def check(texts: list[str], recipe: pw.Recipe, sentencepiece: Release) -> None:
    """The same bytes, or the same limit of the vocabulary."""
    try:
        expected = sentencepiece.train(texts, **recipe.sentencepiece_arguments())
    except AbortedError:
        # 0.2.2 ends its process if the text lacks a required character. 0.2.3 does not, and neither does Piecework.
        assert sentencepiece.version == OLDER
        assert recipe.required_chars
        return
    except TrainingError as error:
        message = str(error)
    else:
        assert_same_model(train(texts, recipe), expected)
        return
    if found := re.search(r"too high \(\d+\)\. Please set it to a value <= (\d+)", message):
        with pytest.raises(pw.VocabularyTooLargeError) as too_large:
            train(texts, recipe)
        assert too_large.value.largest == int(found[1])
    else:
        assert re.search("smaller than required_chars|larger than the number of meta pieces", message), message
        with pytest.raises(pw.RecipeError, match="too small"):
            train(texts, recipe)


def some_text(rng: random.Random, language: str) -> list[str]:
    """Lines of the language, some with tabs, whitespace runs, symbols, and a character that a release reserves."""
    noise = ["\t", "\t\t", "  ", "    ", " ", "\x1f", "<s>", "▁", "||", "1", "23", "a\tb", "     x", "\t "]
    texts = []
    for line in rng.sample(lines(language), min(len(lines(language)), rng.choice([5, 40, 200]))):
        words = line.split(" ")
        for _ in range(rng.choice([0, 0, 1, 4])):
            words.insert(rng.randrange(len(words) + 1), rng.choice(noise))
        texts.append(" ".join(words)[:2000])
    return [text for text in texts if text.rstrip("\r")]


SWITCHES = (
    "split_by_whitespace",
    "split_by_unicode_script",
    "split_by_number",
    "split_digits",
    "add_dummy_prefix",
    "allow_whitespace_only_pieces",
    "treat_whitespace_as_suffix",
    "byte_fallback",
)


def some_recipe(rng: random.Random, texts: list[str], version: str) -> pw.Recipe:
    options: dict[str, Any] = {"vocab_size": rng.choice([60, 150, 400, 1_000, 3_000]), "sentencepiece_version": version}
    for name in rng.sample(SWITCHES, rng.randrange(4)):
        options[name] = rng.choice([True, False])
    characters = sorted({character for text in texts for character in text if character not in " \x1f"})
    if rng.random() < 0.5:
        options["character_coverage"] = rng.choice([0.98, 0.99, 0.9995, 1.0])
    if rng.random() < 0.2:
        options["max_sentencepiece_length"] = rng.choice([1, 2, 5, 32])
    if rng.random() < 0.3:
        texts_of_symbols = ["<x>", "▁a", "e▁", "▁▁", "\t", "||", "1", rng.choice(characters), "".join(characters[:2])]
        options["user_defined_symbols"] = rng.sample(sorted(set(texts_of_symbols)), rng.randrange(1, 4))
    if rng.random() < 0.15:
        free = [character for character in characters if character not in options.get("user_defined_symbols", ())]
        options["required_chars"] = "".join(rng.sample(free, min(3, len(free))))
    if rng.random() < 0.3:
        options["hard_vocab_limit"] = False
    if rng.random() < 0.15:
        options["max_sentence_length"] = rng.choice([20, 100, 4192])
    if rng.random() < 0.1:
        options["num_threads"] = 3
    if version == CURRENT and rng.random() < 0.15:
        options["pretokenization_delimiter"] = rng.choice(["||", "\t", "▁", rng.choice(characters)])
    if version == CURRENT and "required_chars" not in options and rng.random() < 0.2:
        options |= {"auto_character_coverage": True, "byte_fallback": True}
        options["vocab_size"] += 256
    return pw.Recipe(**options)


@pytest.mark.parametrize("language", SCRIPTS)
def test_random_recipes(language: str, sentencepiece: Release) -> None:
    for number in range(ROUNDS):
        rng = random.Random(f"{language} {number}")
        texts = some_text(rng, language)
        recipe = some_recipe(rng, texts, sentencepiece.version)
        if "max_sentence_length" in recipe.model_fields_set and not any(
            len(text.encode()) <= recipe.max_sentence_length for text in texts
        ):
            continue
        check(texts, recipe, sentencepiece)


def test_tabs_are_learned_since_0_2_3() -> None:
    texts = ["\tx = 1", "\t\ty = 2", "\t\tz = 3"] * 3
    pieces = {
        version: [
            piece.text
            for piece in pw.train(
                pw.count_words(texts), pw.Recipe(vocab_size=40, hard_vocab_limit=False, sentencepiece_version=version)
            ).pieces
        ]
        for version in RELEASES
    }
    assert "▁\t" in pieces[CURRENT]
    assert not any("\t" in piece for piece in pieces[OLDER])


def test_mistral(sentencepiece: Release) -> None:
    """The recipe in the specs of Mistral's models, at a size that the text allows."""
    recipe = pw.Recipe(
        vocab_size=4_000,
        character_coverage=0.99995,
        split_digits=True,
        allow_whitespace_only_pieces=True,
        byte_fallback=True,
        split_by_unicode_script=True,
        max_sentence_length=4192,
        num_threads=8,
        unk_surface=" ⁇ ",
        sentencepiece_version=sentencepiece.version,
    )
    texts = [line for language in ("sv", "ru") for line in lines(language)[:4_000]]
    texts += ["def f(x):", "    return x", "        y = 1", "\tif x:", "            pass"] * 50
    check(texts, recipe, sentencepiece)


@pytest.mark.parametrize(
    "options",
    [
        {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"treat_whitespace_as_suffix": True, "add_dummy_prefix": False},
        {"treat_whitespace_as_suffix": True, "allow_whitespace_only_pieces": True},
        {"treat_whitespace_as_suffix": True, "split_by_whitespace": False},
        {"user_defined_symbols": ["och▁", "t▁a", "▁▁▁"]},
        {"model_type": "bpe", "num_threads": 2, "train_extremely_large_corpus": True},
        {"vocabulary_output_piece_score": False},
    ],
    ids=str,
)
def test_each_option(options: dict[str, Any], sentencepiece: Release) -> None:
    recipe = pw.Recipe(vocab_size=2_000, sentencepiece_version=sentencepiece.version, **options)
    check([*lines("sv")[:3_000], "a  b   c", "  d", "e  "], recipe, sentencepiece)


@pytest.mark.parametrize("options", [{}, {"character_coverage": 0.98}, {"allow_whitespace_only_pieces": True}], ids=str)
@pytest.mark.parametrize("language", ["zh_CN", "sv", "ta"])
def test_auto_character_coverage(language: str, options: dict[str, Any]) -> None:
    for vocab_size in (300, 900, 3_000):
        recipe = pw.Recipe(
            vocab_size=vocab_size, auto_character_coverage=True, byte_fallback=True, hard_vocab_limit=False, **options
        )
        check(lines(language)[:2_000], recipe, release(CURRENT))


def test_auto_character_coverage_is_not_resized() -> None:
    recipe = pw.Recipe(vocab_size=400, auto_character_coverage=True, byte_fallback=True, hard_vocab_limit=False)
    tokenizer = pw.train(pw.count_words(lines("sv")[:500]), recipe)
    with pytest.raises(pw.InputError, match="auto_character_coverage"):
        tokenizer.resize(300)


def test_counts_that_lack_what_a_recipe_needs() -> None:
    counts = pw.count_words(["a  b", "c"])
    for needs, options in {
        "space runs": {"allow_whitespace_only_pieces": True},
        "lines": {"split_by_whitespace": False},
        "max_sentence_length = 10": {"max_sentence_length": 10},
    }.items():
        with pytest.raises(pw.InputError, match=needs):
            pw.train(counts, pw.Recipe(vocab_size=8, **options))


@pytest.mark.parametrize("split", ["space_runs", "lines"])
def test_longer_rows_serve_shorter_ones(split: Any) -> None:
    texts = [*lines("sv")[:500], "a  b", "  c ", "▁▁d"]
    recipe = pw.Recipe(vocab_size=600)
    expected = pw.train(pw.count_words(texts), recipe).model_bytes
    assert pw.train(pw.count_words(texts, split=split), recipe).model_bytes == expected


def test_counts_of_longer_rows_are_kept(tmp_path: Path) -> None:
    counts = pw.count_words(["a  b", "  c", " ", "d e"], split="space_runs", max_sentence_length=50)
    assert dict(counts.items()) == {"a": 1, "▁ b": 1, "  c": 1, " ": 1, "d": 1, "▁e": 1}
    counts.save(tmp_path / "counts.parquet")
    assert pw.WordCounts.load(tmp_path / "counts.parquet") == counts
    with pytest.raises(pw.InputError, match="cannot be added"):
        counts + pw.count_words(["a"])


@pytest.mark.parametrize(
    ("character", "reason"), [(" ", "space must not be included"), ("▅", "kUNKChar")], ids=["space", "unknown"]
)
def test_characters_that_cannot_be_required(sentencepiece: Release, character: str, reason: str) -> None:
    """Both releases refuse these characters, with any other option. Piecework refuses them before training."""
    for required in (character, f"x{character}y", f"{character}▁"):
        for options in ({}, {"add_dummy_prefix": False}, {"normalization_rule_name": "nmt_nfkc"}):
            settings: dict[str, Any] = {"required_chars": required, **options}
            with pytest.raises(TrainingError, match=reason):
                sentencepiece.train(["abc abd xy"] * 3, model_type="bpe", vocab_size=12, **settings)
            with pytest.raises(pw.RecipeError, match=f"required_chars has (a space|{character})"):
                pw.Recipe(vocab_size=12, **settings)


@pytest.mark.parametrize("name", ["plain", "gpt-sw3"])
def test_the_development_corpus(name: str, corpus_lines: Mapping[str, list[str]]) -> None:
    """The older release: a part of the corpus, or 64,000 pieces on all of it. test_training.py has the current one."""
    texts = [line for stem in corpus_lines for line in corpus_lines[stem]]
    size = 64_000 if EVERYTHING else 8_000
    settings: dict[str, Any] = {"max_sentence_length": 2**30, "sentencepiece_version": OLDER}
    plain = pw.Recipe(vocab_size=size, **settings)
    gpt_sw3 = pw.Recipe.gpt_sw3(vocab_size=size, whitespace_runs=None, **settings)
    check(texts if EVERYTHING else texts[::40], plain if name == "plain" else gpt_sw3, release(OLDER))
