"""Smaller sizes of models that SentencePiece trained: what it trains at that size, or a refusal."""

import random
from typing import Any

import pytest
import sentencepiece

import piecework as pw
from piecework.tokenizer.edit import edit
from sentencepiece_oracle import PLAIN, parse, sp_train_with

SENTENCE = "den som  väntar på något gott    aldrig för länge hade ha haha 12 345 字字 你好 def  return   x ab abab aab"
WORDS = SENTENCE.split(" ")


def drawn_arguments(rng: random.Random) -> dict[str, Any]:
    """Settings that change which pieces there are, where they stand, and whether they reach across spaces."""
    arguments: dict[str, Any] = {
        "model_type": "bpe",
        "hard_vocab_limit": False,
        "normalization_rule_name": rng.choice(["identity", "nmt_nfkc"]),
        "remove_extra_whitespaces": rng.random() < 0.3,
    }
    options: list[tuple[float, dict[str, Any]]] = [
        (0.4, {"allow_whitespace_only_pieces": True}),
        (0.3, {"split_by_whitespace": False}),
        (0.3, {"treat_whitespace_as_suffix": True}),
        (0.3, {"byte_fallback": True}),
        (0.3, {"user_defined_symbols": rng.choice([["▁▁"], ["ab"], ["a"], ["<x>", "ha"], ["▁"]])}),
        (0.2, {"required_chars": "żq"}),
        (0.2, {"control_symbols": ["<c>", "ha"]}),
        (0.2, {"pad_id": rng.choice([3, 20, 50])}),
        (0.2, {"unk_id": 5}),
        (0.2, {"add_dummy_prefix": False}),
        (0.2, {"character_coverage": 0.98}),
    ]
    for chance, option in options:
        if rng.random() < chance:
            arguments |= option
    return arguments


@pytest.mark.skipif(sentencepiece.__version__ == "0.2.2", reason="0.2.2 ends the process on some of these settings")
@pytest.mark.parametrize("seed", range(25))
def test_random_models(seed: int) -> None:
    rng = random.Random(seed)
    lines = [" ".join(rng.choices(WORDS, k=rng.randrange(3, 30))) for _ in range(rng.randrange(3, 30))]
    arguments = drawn_arguments(rng)
    base = 300 if "byte_fallback" in arguments else 60
    full = pw.Tokenizer.from_bytes(sp_train_with(lines, vocab_size=base + rng.randrange(60, 300), **arguments))
    smallest = sum(piece.type != "normal" or len(piece.text) == 1 for piece in full.pieces)
    for size in sorted(
        {full.vocab_size, full.vocab_size - 1, full.vocab_size - rng.randrange(2, 60), base, smallest - 1}
    ):
        if size > full.vocab_size:
            continue
        special = max(arguments.get("pad_id", 0), arguments.get("unk_id", 0))
        if size < smallest or size <= special:  # SentencePiece refuses these; some releases end the process
            with pytest.raises(pw.InputError):
                full.resize(size)
            with pytest.raises(pw.InputError):
                edit(full, truncate=size, unreachable="keep")
            continue
        trained = sp_train_with(lines, vocab_size=size, **arguments)
        assert full.resize(size).model_bytes == trained
        assert edit(full, truncate=size, unreachable="keep").tokenizer.model_bytes == trained


def test_an_edited_vocabulary_has_no_smaller_sizes() -> None:
    arguments = {**PLAIN, "vocab_size": 60, "hard_vocab_limit": False, "allow_whitespace_only_pieces": True}
    model = parse(sp_train_with([" ".join(WORDS)] * 3, **arguments))
    run = next(piece for piece in model.pieces if piece.piece == "▁▁")
    run.score = -1e9
    edited = pw.Tokenizer.from_bytes(model.SerializeToString())
    with pytest.raises(pw.InputError, match=r"cannot resize to 50: id \d+ has '▁▁' with score -1e\+09, where training"):
        edited.resize(50)
    # Truncation keeps such a run: it compares scores only among pieces that training merges.
    assert "▁▁" in {piece.text for piece in edit(edited, truncate=50, unreachable="keep").tokenizer.pieces}
    padded = edit(pw.train(pw.count_words(["ha hade"]), pw.Recipe(vocab_size=10)), reserve=1).tokenizer
    with pytest.raises(pw.InputError, match="is an unused piece, and training makes none"):
        padded.resize(9)
    tampered = parse(sp_train_with(["abc abc"], **{**arguments, "vocab_size": 9}))
    next(piece for piece in tampered.pieces if len(piece.piece) == 2).piece = "xyz"
    with pytest.raises(pw.InputError, match="the piece 'xyz' does not join two earlier pieces"):
        pw.Tokenizer.from_bytes(tampered.SerializeToString()).resize(8)
