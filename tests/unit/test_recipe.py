"""Recipes: SentencePiece's names, defaults and order of pieces, and the messages about mistakes."""

from typing import Any

import pydantic
import pytest
from sentencepiece import sentencepiece_model_pb2

import piecework as pw
from sentencepiece_oracle import parse, sp_train

CODE_TOKENS = ("<|javascript|>", "<|python|>", "<|sql|>", "<|shell|>")


def test_defaults_are_those_of_sentencepiece() -> None:
    recipe = pw.Recipe()
    trainer = sentencepiece_model_pb2.TrainerSpec()  # type: ignore[attr-defined]
    names = [name for name in pw.Recipe.model_fields if hasattr(trainer, name) and name != "model_type"]
    assert len(names) >= 20
    for name in names:
        expected = getattr(trainer, name)
        value = getattr(recipe, name)
        if isinstance(value, tuple):
            expected = tuple(expected)
        assert value == (pytest.approx(expected) if isinstance(value, float) else expected), name


def test_only_what_is_given_is_passed_on() -> None:
    always = {
        "model_type": "bpe",
        "vocab_size": 8_000,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    }
    assert pw.Recipe().sentencepiece_arguments() == always
    given = pw.Recipe(split_digits=False, user_defined_symbols=("<x>",), minimum_frequency=2)
    expected = always | {"split_digits": False, "user_defined_symbols": ["<x>"]}
    assert given.sentencepiece_arguments() == expected


def test_the_paper() -> None:
    recipe = pw.Recipe.gpt_sw3()
    assert recipe.vocab_size == 64_000
    assert recipe.user_defined_symbols == CODE_TOKENS
    assert (recipe.split_digits, recipe.add_dummy_prefix, recipe.byte_fallback) == (True, True, True)
    assert (recipe.character_coverage, recipe.whitespace_runs) == (0.9999, "paper")
    pieces = [piece for piece, _ in recipe.meta_pieces().values()]
    assert pieces[:8] == ["<pad>", "<unk>", "<s>", "<|endoftext|>", *CODE_TOKENS]
    assert pieces[8:] == [f"<0x{byte:02X}>" for byte in range(256)]


def test_the_paper_with_other_settings() -> None:
    recipe = pw.Recipe.gpt_sw3(vocab_size=32_000, whitespace_runs="portable", split_digits=False)
    assert (recipe.vocab_size, recipe.whitespace_runs, recipe.split_digits) == (32_000, "portable", False)
    assert recipe.pad_id == 0
    with pytest.raises(pw.RecipeError, match="vocab_sise"):
        pw.Recipe.gpt_sw3(vocab_sise=1)


def test_a_recipe_does_not_change() -> None:
    recipe = pw.Recipe()
    with pytest.raises(pydantic.ValidationError):
        recipe.vocab_size = 1  # type: ignore[misc]
    assert recipe == pw.Recipe()
    assert hash(recipe) == hash(pw.Recipe())
    assert recipe != pw.Recipe(split_digits=True)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byte_fallback": True},
        {"control_symbols": ["<c>", "<d>"], "user_defined_symbols": ["<x>", "y"]},
        {"control_symbols": ["<c>"], "user_defined_symbols": ["<x>"], "byte_fallback": True},
        {"pad_id": 3},
        {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "eos_piece": "<|endoftext|>"},
        {"pad_id": 5, "user_defined_symbols": ["<x>", "<y>"]},
        {"pad_id": 12, "byte_fallback": True, "control_symbols": ["<c>"]},
        {"bos_id": -1, "eos_id": -1, "user_defined_symbols": ["<x>"]},
        {"unk_id": 7, "bos_id": -1, "eos_id": 3},
        {"user_defined_symbols": ["<s>", "<x>"]},  # a special piece that is given again
        {"control_symbols": ["</s>"], "user_defined_symbols": ["<pad>", "<s>"], "pad_id": 3},
        {"user_defined_symbols": ["<0x41>"]},  # no byte piece without byte_fallback
    ],
    ids=str,
)
def test_meta_pieces_stand_where_sentencepiece_puts_them(options: dict[str, Any]) -> None:
    size = 300 if options.get("byte_fallback") else 30
    recipe = pw.Recipe(vocab_size=size, **options)
    names = sentencepiece_model_pb2.ModelProto.SentencePiece.Type.Name  # type: ignore[attr-defined]
    theirs = parse(sp_train(["abcdefghij klmnopqrst"], recipe)).pieces
    expected = {i: (p.piece, names(p.type).lower()) for i, p in enumerate(theirs) if p.type != p.NORMAL}
    assert recipe.meta_pieces() == expected
    assert list(recipe.meta_pieces()) == sorted(expected)


# Mistakes.


def mistakes(**settings: Any) -> list[str]:
    with pytest.raises(pw.RecipeError) as error:
        pw.Recipe(**settings)
    return str(error.value).split("\n")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("vocab_sise", "vocab_size"),
        ("characer_coverage", "character_coverage"),
        ("user_defined_symbol", "user_defined_symbols"),
        ("whitespace_run", "whitespace_runs"),
    ],
)
def test_did_you_mean(wrong: str, right: str) -> None:
    assert mistakes(**{wrong: 1}) == [f'unknown setting "{wrong}"; did you mean "{right}"?']


def test_unknown_and_unlike_any() -> None:
    assert mistakes(qqq=1) == ['unknown setting "qqq"']


def test_all_mistakes_at_once() -> None:
    found = mistakes(vocab_sise=1, character_coverage=2.0, split_digits="yes", unk_piece="", bos_id=1.5)
    assert len(found) == 5
    for name in ("vocab_sise", "character_coverage = 2.0", "split_digits = 'yes'", "unk_piece = ''", "bos_id"):
        assert any(name in line for line in found), name


def test_all_conflicts_at_once() -> None:
    found = mistakes(bos_id=0, user_defined_symbols=["<x>", "<x>"], control_symbols=[""])
    assert len(found) == 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"vocab_size": 0}, "vocab_size = 0"),
        ({"vocab_size": 2**31}, "vocab_size = 2147483648"),
        ({"vocab_size": "8000"}, "vocab_size = '8000'"),
        ({"character_coverage": 0.9}, "character_coverage = 0.9"),
        ({"character_coverage": float("nan")}, "character_coverage = nan"),
        ({"max_sentencepiece_length": 0}, "max_sentencepiece_length = 0"),
        ({"max_sentence_length": 1}, "max_sentence_length = 1"),
        ({"split_digits": 1}, "split_digits = 1"),
        ({"unk_id": -1}, "unk_id = -1"),
        ({"bos_id": -(2**40)}, "bos_id"),
        ({"minimum_frequency": -1}, "minimum_frequency = -1"),
        ({"whitespace_runs": "both"}, "whitespace_runs = 'both'"),
        ({"normalization_rule_name": "nfd"}, "normalization_rule_name = 'nfd'"),
        ({"escape_whitespaces": False}, "escape_whitespaces = false: SentencePiece does not train BPE"),
        ({"user_defined_symbols": "abc"}, "user_defined_symbols = 'abc'"),
        ({"user_defined_symbols": [1]}, "user_defined_symbols"),
        ({"unk_piece": "\ud800"}, "unk_piece"),
    ],
    ids=str,
)
def test_one_wrong_value(settings: dict[str, Any], says: str) -> None:
    (line,) = mistakes(**settings)
    assert says in line


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"bos_id": 0}, "bos_id = 0 is the id of '<unk>'"),
        ({"eos_id": 1, "bos_id": 1}, "eos_id = 1 is the id of '<s>'"),
        ({"eos_piece": "<s>"}, "eos_piece = '<s>'"),
        ({"pad_id": 5, "pad_piece": "<unk>"}, "pad_piece = '<unk>'"),
        ({"vocab_size": 10, "pad_id": 10}, "pad_id = 10 lies outside a vocabulary of 10"),
        ({"user_defined_symbols": [""]}, "empty"),
        ({"user_defined_symbols": ["<x>", "<x>"]}, "'<x>' is given twice"),
        ({"user_defined_symbols": ["<x>"], "control_symbols": ["<x>"]}, "'<x>' is given twice"),
        ({"control_symbols": ["<unk>"]}, "'<unk>' is the unknown piece"),
        ({"user_defined_symbols": ["a\0b"]}, "NUL"),
        ({"required_chars": "a b"}, "required_chars has a space"),
        ({"required_chars": "ab", "user_defined_symbols": ["b"]}, "'b', which is a special piece or a symbol already"),
        ({"auto_character_coverage": True}, "needs byte_fallback = true"),
        ({"auto_character_coverage": True, "byte_fallback": True, "required_chars": "x"}, "cannot have required_chars"),
        ({"pretokenization_delimiter": "|", "sentencepiece_version": "0.2.2"}, 'sentencepiece_version = "0.2.3"'),
        ({"self_test_sample_size": 3, "sentencepiece_version": "0.2.2"}, "writes sentences into the model"),
        ({"input": "a.txt"}, '"input" is no setting of a recipe: a recipe names no files'),
        ({"use_all_vocab": True}, "it is for word and character models"),
        ({"byte_fallback": True, "user_defined_symbols": ["<0x0A>"]}, "'<0x0A>' is a byte piece"),
    ],
    ids=str,
)
def test_conflicts(settings: dict[str, Any], says: str) -> None:
    (line,) = mistakes(**settings)
    assert says in line


def test_ids_that_are_off_need_no_piece_of_their_own() -> None:
    recipe = pw.Recipe(bos_id=-1, eos_id=-1, bos_piece="<unk>")
    assert list(recipe.meta_pieces()) == [0]
