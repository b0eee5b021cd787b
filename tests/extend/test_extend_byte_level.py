"""Extending a byte-level tokenizer equals continued BPE in plain Python, and the result works everywhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import tiktoken
import tokenizers

import piecework as pw
from extend.python_method import continued_bpe, encoded_rows
from extend.slow_extension import slow_extend_bytes
from installed_text import lines

LETTERS = ("ab", "abc", "abcde", "aåb", "aж漢", "a\u0301be ")
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def random_words(rng: random.Random, letters: str) -> dict[str, int]:
    words: dict[str, int] = {}
    for _ in range(rng.randint(2, 14)):
        word = "".join(rng.choices(letters, k=rng.randint(1, 9)))
        if rng.random() < 0.15:
            word += "<x>" + rng.choice(letters)
        words[word] = rng.choice((1, 1, 2, 3, 7))
    return words


def random_tokenizer(rng: random.Random, letters: str) -> pw.ByteLevelTokenizer:
    """A trained tokenizer. Some merge by rank, some lack tokens, some take a pre-token that is a token as a whole."""
    counts = pw.PreTokenCounts.from_mapping(random_words(rng, letters), pre_tokenizer="gpt2")
    special = ["<x>"] if rng.random() < 0.5 else []
    recipe = pw.Recipe.byte_level(
        pre_tokenizer="gpt2", vocab_size=257 + rng.randint(0, 25), special_tokens=special, hard_vocab_limit=False
    )
    model = pw.train(counts, recipe).model
    kind = rng.choice(("merges", "whole", "ranks", "ranks with gaps", "gaps"))
    if kind == "whole":
        model = replace(model, whole_pre_tokens=True)
    if "ranks" in kind:
        model = replace(model, merges=None, whole_pre_tokens=True)
    if "gaps" in kind:
        merged = [number for number, token in enumerate(model.tokens) if len(token) > 1]
        gone = set(rng.sample(merged, len(merged) // 3))
        merges = model.merges
        if merges is not None:
            merges = [merge for merge in merges if gone.isdisjoint(merge)]
        model = replace(
            model, tokens=[b"" if n in gone else token for n, token in enumerate(model.tokens)], merges=merges
        )
    return pw.ByteLevelTokenizer(model)


def check(seed: int) -> int:
    rng = random.Random(seed)
    letters = rng.choice(LETTERS)
    tokenizer = random_tokenizer(rng, letters)
    words = random_words(rng, letters + rng.choice(("", "é")))
    counts = pw.PreTokenCounts.from_mapping(words, pre_tokenizer="gpt2")
    add = rng.choice((1, 3, 20))
    extended = pw.extend(tokenizer, counts, add=add)
    model, new = tokenizer.model, extended.tokenizer.model
    pairs = None
    if model.merges is not None:
        pairs = [(model.tokens[left], model.tokens[right]) for left, right, _ in model.merges]
    found = [(new.tokens[piece.parts[0]], new.tokens[piece.parts[1]]) for piece in extended.added]
    assert found == slow_extend_bytes(
        model.tokens,
        pairs,
        {word.encode(): count for word, count in words.items()},
        add=add,
        cut_out=[text.encode() for text in model.special_tokens],
        whole=model.whole_pre_tokens,
    ), seed
    assert [new.tokens[piece.id] for piece in extended.added] == [left + right for left, right in found]
    for number, token in enumerate(model.tokens):
        assert not token or new.tokens[number] == token
    ids = {piece.id for piece in extended.added}
    assert len(ids) == len(extended.added) and not ids & {*new.special_tokens.values()}
    samples = ["".join(rng.choices(letters + "é", k=rng.randint(1, 12))) for _ in range(20)] + list(words)
    outside = _runtime(extended.tokenizer)
    for text in samples:
        tokens = extended.tokenizer.encode(text)
        assert tokens == outside(text), (seed, text)
        if ids.isdisjoint(tokens):
            assert tokens == tokenizer.encode(text), (seed, text)
    for piece in extended.added:  # each is a token of its own text, and its old tokens spell it
        token = new.tokens[piece.id]
        assert b"".join(model.tokens[number] for number in piece.old_ids) == token
        assert b"".join(new.tokens[number] for number in piece.parts) == token
        if token.decode("utf-8", "replace").encode() == token and len(pw_split(token.decode())) == 1:
            assert extended.tokenizer.encode(token.decode()) == [piece.id], (seed, piece)
            assert tokenizer.encode(token.decode()) == list(piece.old_ids), (seed, piece)
    return len(extended.added)


def pw_split(text: str) -> list[str]:
    return pw.PreTokenizer("gpt2").split(text)


def _runtime(tokenizer: pw.ByteLevelTokenizer) -> Callable[[str], list[int]]:
    """tiktoken for ranks, `tokenizers` for merges. In both, a special token within a text is plain text."""
    model = tokenizer.model
    if model.merges is None:
        ranks = {token: number for number, token in enumerate(model.tokens) if token}
        encoding = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
        return encoding.encode_ordinary
    loaded = tokenizers.Tokenizer.from_str(tokenizer.json_bytes.decode())
    loaded.encode_special_tokens = True
    return lambda text: loaded.encode(text).ids


@pytest.mark.parametrize("block", range(4))
def test_extending_equals_the_slow_definition(block: int) -> None:
    assert sum(check(seed) for seed in range(block * 40, block * 40 + 40)) > 150


def test_own_counts_give_the_merges_of_the_larger_tokenizer() -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefg", weights=(9, 7, 5, 3, 2, 1, 1), k=rng.randint(1, 9))) for _ in range(3000)]
    counts = pw.count_pre_tokens([" ".join(words)], pre_tokenizer="gpt2")
    recipes = [pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=size) for size in (400, 800)]
    small, large = (pw.train(counts, recipe) for recipe in recipes)
    assert pw.extend(small, counts, add=400).tokenizer.json_bytes == large.json_bytes
    assert pw.extend(small, counts, add=0).tokenizer.json_bytes == small.json_bytes


def test_new_ids_can_start_after_special_tokens_that_the_file_does_not_show() -> None:
    counts = pw.count_pre_tokens(["a rose is a rose"], pre_tokenizer="gpt2")
    model = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=258)).model
    ranks = pw.ByteLevelTokenizer(replace(model, merges=None, whole_pre_tokens=True))
    extended = pw.extend(ranks, counts, add=3, first_id=300)
    assert [piece.id for piece in extended.added] == [300, 301, 302]
    with pytest.raises(pw.InputError, match="ids up to 257"):
        pw.extend(ranks, counts, add=3, first_id=200)


def test_counts_of_another_pre_tokenizer_are_refused() -> None:
    counts = pw.count_pre_tokens(["a rose"], pre_tokenizer="gpt2")
    tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=258))
    with pytest.raises(pw.InputError, match="count the text again"):
        pw.extend(tokenizer, pw.count_pre_tokens(["a"], pre_tokenizer="llama3"), add=1)


def test_the_published_method_gives_the_same_merges() -> None:
    texts = lines("is")[:3000]
    old = pw.train(
        pw.count_pre_tokens(lines("da")[:2000], pre_tokenizer="gpt2"),
        pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=2000),
    )
    counts = pw.count_pre_tokens(texts, pre_tokenizer="gpt2")
    extended = pw.extend(old, counts, add=300)
    words, numbers = zip(*counts.items(), strict=True)
    rows = encoded_rows(old.encode_batch(words), numbers)
    assert [piece.parts for piece in extended.added] == continued_bpe(rows, old.model.tokens, add=300)
