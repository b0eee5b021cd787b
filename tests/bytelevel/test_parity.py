"""Parity-aware BPE: byte-level merges are those of Hugging Face's ParityBpeTrainer, words follow the slow oracle."""

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import piecework as pw
from bytelevel.slow_parity import slow_parity_merges
from piecework.errors import InputError, RecipeError

tokenizers = pytest.importorskip("tokenizers")
if not hasattr(tokenizers.trainers, "ParityBpeTrainer"):
    pytest.skip("tokenizers has no ParityBpeTrainer before 0.23.3", allow_module_level=True)

CORPORA = 1000 if os.environ.get("PIECEWORK_PARITY") == "all" else 120
PARALLEL = Path(__file__).parents[3] / "shared/parallel"
CUTTER = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
ALPHABETS = ("ab", "abc", "aåb ", "xyz w", "ab\n ", "日本語 a", "\U0001f600é ")


def hf_model(training: Sequence[list[str]], development: Sequence[list[str]], recipe: pw.ByteLevelRecipe) -> dict:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = CUTTER
    trainer = tokenizers.trainers.ParityBpeTrainer(
        num_merges=recipe.vocab_size - recipe.smallest_size,
        variant="base",
        min_frequency=recipe.min_frequency,
        max_token_length=recipe.max_token_length,
        special_tokens=list(recipe.special_tokens),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trainer.train_from_iterator(
        tokenizer, train_iterators=[iter(each) for each in training], dev_iterators=[iter(each) for each in development]
    )
    return json.loads(tokenizer.to_str())["model"]


def our_merges(training: Sequence[list[str]], development: Sequence[list[str]], recipe: pw.ByteLevelRecipe) -> list:
    def counts(texts: Sequence[list[str]]) -> dict[str, pw.PreTokenCounts]:
        return {str(i): pw.count_pre_tokens(each, pre_tokenizer="gpt2") for i, each in enumerate(texts)}

    tokenizer = pw.train(counts(training), recipe, development=counts(development))
    return json.loads(tokenizer.json_bytes)["model"]["merges"]


def random_texts(draw: random.Random, alphabet: str, *, least: int) -> list[str]:
    return ["".join(draw.choices(alphabet + " ", k=draw.randint(1, 15))) for _ in range(draw.randint(least, 12))]


def test_random_corpora_give_the_merges_of_hugging_face() -> None:
    for seed in range(CORPORA):
        draw = random.Random(seed)
        alphabets = [draw.choice(ALPHABETS) for _ in range(draw.randint(1, 4))]
        training = [random_texts(draw, alphabet, least=1) for alphabet in alphabets]
        development = [random_texts(draw, alphabet, least=0) for alphabet in alphabets]
        recipe = pw.ByteLevelRecipe(
            pre_tokenizer="gpt2",
            vocab_size=256 + draw.choice([3, 10, 40, 200]),
            min_frequency=draw.choice([0, 0, 2, 3]),
            parity=True,
            hard_vocab_limit=False,
        )
        theirs = hf_model(training, development, recipe)["merges"]
        assert our_merges(training, development, recipe) == theirs, f"seed {seed}"


def test_the_slow_oracle_agrees_with_hugging_face() -> None:
    draw = random.Random(5)
    training = [random_texts(draw, "abc", least=8) for _ in range(3)]
    development = [random_texts(draw, "abc", least=2) for _ in range(3)]

    def words(texts: list[str]) -> Counter[tuple[str, ...]]:
        return Counter(tuple(word) for text in texts for word, _ in CUTTER.pre_tokenize_str(text))

    slow = slow_parity_merges([*map(words, training)], [*map(words, development)], merges=40)
    recipe = pw.ByteLevelRecipe(pre_tokenizer="gpt2", vocab_size=256 + 40, parity=True, hard_vocab_limit=False)
    assert [list(pair) for pair in slow] == hf_model(training, development, recipe)["merges"]


@pytest.mark.skipif(not PARALLEL.is_dir(), reason="the shared parallel text is not here")
def test_real_text_gives_the_merges_of_hugging_face() -> None:
    files = sorted(PARALLEL.glob("*.jsonl"))
    lines = [[json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()] for path in files]
    training, development = [each[:900] for each in lines], [each[900:] for each in lines]
    recipe = pw.ByteLevelRecipe(pre_tokenizer="gpt2", vocab_size=256 + 2500, parity=True)
    assert our_merges(training, development, recipe) == hf_model(training, development, recipe)["merges"]


def test_words_are_merged_for_the_worst_language() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        alphabets = [draw.choice(["abc", "de", "fgh", "aå"]) for _ in range(draw.randint(1, 3))]
        training = [random_texts(draw, each, least=2) for each in alphabets]
        development = [random_texts(draw, each, least=1) for each in alphabets]
        recipe = pw.Recipe(vocab_size=60, character_coverage=1.0, parity=True, hard_vocab_limit=False)
        by_language = [dict(zip("pqr", texts, strict=False)) for texts in (training, development)]
        tokenizer = pw.train(by_language[0], recipe, development=by_language[1])
        assert tokenizer.frequencies is not None
        pieces = list(tokenizer.frequencies)
        assert pieces == slow_word_pieces(training, development, count=len(pieces)), f"seed {seed}"


def slow_word_pieces(training: Sequence[list[str]], development: Sequence[list[str]], *, count: int) -> list[str]:
    """Parity-aware merges of words with SentencePiece's ties: fewer characters, then the smaller string."""

    def split(texts: list[str]) -> list[list[str]]:
        return [list("▁" + word) for text in texts for word in text.split(" ")]

    train, dev = [split(each) for each in training], [split(each) for each in development]
    pieces: list[str] = []
    exhausted: set[int] = set()
    while len(pieces) < count:
        left = [i for i in range(len(train)) if i not in exhausted]
        worst = min(left, key=lambda i: (-sum(map(len, dev[i])), i))
        pairs = Counter(pair for word in train[worst] for pair in pairwise(word))
        allowed = [pair for pair in pairs if "".join(pair) not in pieces and "▁" not in pair[1]]
        if not allowed:
            exhausted.add(worst)
            continue
        best = min(allowed, key=lambda pair: (-pairs[pair], len("".join(pair)), "".join(pair).encode()))
        pieces.append("".join(best))
        train, dev = ([[_merge(word, best) for word in each] for each in texts] for texts in (train, dev))
    return pieces


def _merge(word: list[str], pair: tuple[str, str]) -> list[str]:
    merged: list[str] = []
    for symbol in word:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def test_development_text_with_unseen_characters() -> None:
    recipe = pw.Recipe(vocab_size=20, parity=True, hard_vocab_limit=False)
    texts = {"a": ["hej hej hej"], "b": ["du du du"]}
    dev = {"a": ["hej \U0010ffff"], "b": ["日本語日本語日本語 du"]}
    tokenizer = pw.train(texts, recipe, development=dev)
    assert tokenizer.frequencies is not None and next(iter(tokenizer.frequencies)) == "du"


def test_refusals() -> None:
    recipe = pw.Recipe(vocab_size=20, parity=True)
    with pytest.raises(RecipeError, match="by language"):
        pw.train(["text"], recipe)
    with pytest.raises(RecipeError, match="development="):
        pw.train({"a": ["text"]}, recipe)
    with pytest.raises(InputError, match='no development text of "a"'):
        pw.train({"a": ["text"]}, recipe, development={"b": ["text"]})
    with pytest.raises(RecipeError, match="parity = true"):
        pw.train(["text"], vocab_size=10, development={"a": ["text"]})
    with pytest.raises(RecipeError, match="auto_character_coverage"):
        pw.Recipe(parity=True, auto_character_coverage=True)
