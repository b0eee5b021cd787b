"""Training through SentencePiece's arguments: the bytes of the package `sentencepiece`, and its kinds of errors."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from drop_in.models import TEXT
from piecework.sentencepiece import SentencePieceTrainer, train_model
from piecework.sentencepiece.arguments import argument_fields

ARGUMENTS: dict[str, Any] = {
    "model_type": "bpe",
    "vocab_size": 60,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}
BOTH: tuple[Any, ...] = (SentencePieceTrainer, sentencepiece.SentencePieceTrainer)


def quiet(trainer: Any) -> dict[str, Any]:
    return {"minloglevel": 2} if trainer is not SentencePieceTrainer else {}


def trained(trainer: Any, lines: list[Any] | None = None, **arguments: Any) -> bytes:
    model = io.BytesIO()
    given = {**ARGUMENTS, **arguments, **quiet(trainer)}
    if lines is not None:
        given["sentence_iterator"] = iter(lines)
    trainer.train(model_writer=model, **given)
    return model.getvalue()


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        return type(error)


# Piecework does not support these values. SentencePiece trains with some of them, and refuses the others.
NOT_HERE = {
    ("input_format", "x"),
    ("use_all_vocab", True),
    ("seed_sentencepieces_file", "x"),
}


def values_of(field: Any) -> list[Any]:
    """Values for an argument: its default, and one or two others."""
    if field.is_repeated:
        return [["a", "b"], "a,b", ""]
    others = {field.TYPE_BOOL: [True, False], field.TYPE_STRING: ["x", ""], field.TYPE_FLOAT: [0.99]}
    return [field.default_value, *others.get(field.type, [7, 0])]


@pytest.mark.parametrize("name", sorted(argument_fields().keys() - {"input", "model_prefix", "model_type"}))
def test_every_argument(name: str) -> None:
    for value in values_of(argument_fields()[name]):
        arguments = {"hard_vocab_limit": False, name: value}
        ours, theirs = (outcome(lambda t=t, a=arguments: trained(t, TEXT, **a)) for t in BOTH)
        if isinstance(value, bool | str | int) and (name, value) in NOT_HERE:
            assert ours is NotImplementedError
        elif isinstance(theirs, type):
            assert issubclass(ours, theirs), value
        else:
            assert ours == theirs, value


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"vocab_size": "55"},
        {"byte_fallback": True, "vocab_size": 340},
        {"byte_fallback": "", "vocab_size": 340},
        {"user_defined_symbols": ["<x>", "<y>"]},
        {"user_defined_symbols": ("<x>", "<y>")},
        {"bos_piece": "<0x41>", "pad_piece": "\0", "byte_fallback": True, "vocab_size": 340},
        {"user_defined_symbols": "<x>,<y>", "control_symbols": "<c>"},
        {"num_threads": 3, "train_extremely_large_corpus": False, "split_by_whitespace": True},
        {"hard_vocab_limit": "false", "vocab_size": 5000},
        {"character_coverage": "0.98", "split_digits": "1", "max_sentence_length": 60},
        {"add_dummy_prefix": "n", "unk_surface": " ? ", "pad_id": 3, "shuffle_input_sentence": True},
        {"accept_language": ["sv", "en"], "input_format": "text", "self_test_sample_size": 0},
    ],
    ids=str,
)
def test_same_bytes_from_an_iterator(arguments: dict[str, Any]) -> None:
    assert trained(BOTH[0], TEXT, **arguments) == trained(BOTH[1], TEXT, **arguments)
    lines = [line.encode() + b"\r\n" for line in TEXT]
    assert trained(BOTH[0], lines, **arguments) == trained(BOTH[1], lines, **arguments)


def test_defaults() -> None:
    """No argument but the model's type and size: SentencePiece normalises, and removes extra whitespace."""
    lines = ["  \ufeffﬁn  text ", "Ａ１ ｶﾞ x", *TEXT]
    for names in ({}, {"normalization_rule_name": "nfkc_cf"}, {"remove_extra_whitespaces": False}):
        models = []
        for trainer in BOTH:
            model = io.BytesIO()
            given = {"model_type": "bpe", "vocab_size": 70, "hard_vocab_limit": False, **names, **quiet(trainer)}
            trainer.train(sentence_iterator=iter(lines), model_writer=model, **given)
            models.append(model.getvalue())
        assert models[0] == models[1], names


@pytest.mark.parametrize("input_format", ["text", "tsv"])
def test_the_first_sentences(input_format: str) -> None:
    lines = [
        f"{'x' * 300 if number % 7 == 0 else ''}a{number} b▅" if number % 5 == 0 else f"c{number} d{number % 3}"
        for number in range(400)
    ]
    if input_format == "tsv":
        lines = [f"{line}\t{1 + number % 4}" for number, line in enumerate(lines)]
    arguments = {
        "input_sentence_size": 150,
        "shuffle_input_sentence": False,
        "max_sentence_length": 200,
        "input_format": input_format,
        "vocab_size": 200,
        "hard_vocab_limit": False,
    }
    assert trained(BOTH[0], lines, **arguments) == trained(BOTH[1], lines, **arguments)


def test_a_shuffled_sample_that_takes_all_sentences() -> None:
    """If all sentences fit into the sample, SentencePiece draws nothing. Empty and dropped lines do not count."""
    lines = [f"c{number} d{number % 3}" for number in range(150)] + ["", "a▅", "x" * 300]
    arguments = {"input_sentence_size": 150, "max_sentence_length": 200, "vocab_size": 120, "hard_vocab_limit": False}
    assert trained(BOTH[0], lines, **arguments) == trained(BOTH[1], lines, **arguments)
    with pytest.raises(NotImplementedError, match="another sample in each process"):
        trained(BOTH[0], [*lines, "one more"], **arguments)


def test_sentencepiece_draws_another_sample_in_each_process() -> None:
    """The reason why a shuffled sample is refused: a second process gives another model, and a seed changes nothing."""
    program = (
        "import io, sentencepiece as package; package.set_random_generator_seed(1); model = io.BytesIO();"
        "package.SentencePieceTrainer.train(sentence_iterator=map(chr, range(0x4E00, 0x5000)), model_writer=model,"
        "model_type='bpe', vocab_size=900, hard_vocab_limit=False, character_coverage=1.0, input_sentence_size=101,"
        "minloglevel=2); print(hash(model.getvalue()))"
    )
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONHASHSEED": "0"}
    assert len({subprocess.check_output(command, env=environment) for _ in range(2)}) == 2


@pytest.mark.parametrize("line", ["a", "a\tb", "a\t0", "a\t1\t2", "a\t-1"])
def test_lines_that_are_no_tsv(line: str) -> None:
    for trainer in BOTH:
        with pytest.raises(RuntimeError):
            trained(trainer, [line], input_format="tsv")


@pytest.mark.parametrize("count", ["+5", " 5", "05", "5\r", "5\x0b", "", "5.0", "+ 5", "1_0", "\xa05", "0"])
def test_counts_of_tsv(count: str) -> None:
    arguments = {"input_format": "tsv", "vocab_size": 12, "hard_vocab_limit": False}
    ours, theirs = (outcome(lambda t=t: trained(t, [f"ab ac\t{count}", "bc\t2"], **arguments)) for t in BOTH)
    assert ours == theirs


def test_a_wrong_count_in_a_line_that_is_left_out() -> None:
    arguments = {"input_format": "tsv", "input_sentence_size": 101, "shuffle_input_sentence": False, "vocab_size": 12}
    for sentence in ("a▅", "x" * 5000, ""):
        for trainer in BOTH:
            with pytest.raises(RuntimeError):
                trained(trainer, ["ab ac\t5", f"{sentence}\t0"], hard_vocab_limit=False, **arguments)


def test_long_lines_are_left_out_as_by_default() -> None:
    lines = ["ab " * 2000, *["cd cd"] * 3]
    arguments = {"vocab_size": 9}
    assert trained(BOTH[0], lines, **arguments) == trained(BOTH[1], lines, **arguments)
    assert train_model({**ARGUMENTS, "vocab_size": 9}, sentences=lines).long_lines == 1


def test_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_bytes("\ufeffhej på dig\r\nhej då\n\nhej".encode())
    Path("two, too.txt").write_bytes("  hej\thå \xff▅\nett träd".encode("latin-1", "replace"))
    Path("two, too.txt").write_bytes("  hej\thå ▅\nett träd".encode() + b"\xff")
    for keywords in (
        {"input": "one.txt"},
        {"input": ["one.txt", "two, too.txt"]},
        {"input": 'one.txt,"two, too.txt"', "vocabulary_output_piece_score": False},
    ):
        files = []
        for trainer in BOTH:
            given = {**ARGUMENTS, **keywords, "vocab_size": 20, "model_prefix": "m", **quiet(trainer)}
            assert trainer.train(**given) is None
            files.append((Path("m.model").read_bytes(), Path("m.vocab").read_bytes()))
        assert files[0] == files[1]


@pytest.mark.parametrize("last", [b"det", b"det\n"])
def test_empty_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bytes) -> None:
    """An empty file, if it is not the last, makes SentencePiece read an unfinished line before it a second time."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"a": b"hej\nhej d\n" + last, "b": b"hade har\nden", "-": b""}.items():
        Path(name).write_bytes(text)
    for names in ("-,a,-,b", "a,-,-,b,-", "a,-", "-,-,a,-,-"):
        for limit in ({}, {"input_sentence_size": 101, "shuffle_input_sentence": False}):
            files = []
            for trainer in BOTH:
                given = {**ARGUMENTS, "input": names, "vocab_size": 40, "hard_vocab_limit": False, **limit}
                trainer.train(**given, model_prefix="m", **quiet(trainer))
                files.append((Path("m.model").read_bytes(), Path("m.vocab").read_bytes()))
            assert files[0] == files[1], names


def test_a_string_of_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_text("hej på dig\nhej då\n")
    flags = (
        "--input=one.txt --model_prefix=m --vocab_size=20 --model_type=bpe --normalization_rule_name=identity"
        " --remove_extra_whitespaces=false --minloglevel=2 --vocab_size=30"
    )
    files = []
    for trainer in BOTH:
        assert trainer.train(flags) is trainer.Train(flags) is True
        files.append((Path("m.model").read_bytes(), Path("m.vocab").read_bytes()))
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"vocab_size": "many"},
        {"vocab_size": 10_000},
        {"vocab_size": 4},
        {"byte_fallback": "maybe"},
        {"model_type": "none"},
        {"character_coverage": 0.5},
        {"character_coverage": "x"},
        {"max_sentencepiece_length": 1000},
        {"unk_id": -1},
        {"unk_piece": "\0"},
        {"eos_piece": "a\0"},
        {"unk_piece": "<0x41>", "byte_fallback": True, "vocab_size": 340},
        {"max_sentence_length": 2**31},
        {"unk_id": 1},
        {"user_defined_symbols": "a,a"},
        {"user_defined_symbols": ["<unk>"]},
        {"input_format": "csv"},
        {"vocab_sise": 10},
        {"input": "also.txt"},
    ],
    ids=str,
)
def test_the_same_kinds_of_errors(arguments: dict[str, Any]) -> None:
    ours, theirs = (outcome(lambda trainer=trainer: trained(trainer, TEXT, **arguments)) for trainer in BOTH)
    assert isinstance(ours, type), "it is not refused"
    assert issubclass(ours, theirs)


def test_errors_of_input() -> None:
    for lines in ([], [3], [""]):
        ours, theirs = (outcome(lambda trainer=trainer, lines=lines: trained(trainer, lines)) for trainer in BOTH)
        assert ours == theirs
    for arguments in ({"input": "nowhere.txt"}, {}):
        ours, theirs = (outcome(lambda t=trainer, a=arguments: trained(t, None, **a)) for trainer in BOTH)
        assert (ours, theirs) == (RuntimeError, RuntimeError)
    for trainer in BOTH:
        with pytest.raises(TypeError):
            trainer.train(sentence_iterator=["a"], model_writer=io.BytesIO(), **ARGUMENTS)
        with pytest.raises(RuntimeError):
            trainer.train(sentence_iterator=iter(["a"]), **ARGUMENTS, **quiet(trainer))


def test_too_large_a_vocabulary_says_the_same_size() -> None:
    messages = []
    for trainer in BOTH:
        with pytest.raises(RuntimeError) as error:
            trained(trainer, TEXT, vocab_size=10_000)
        messages.append(str(error.value))
    assert messages[1].endswith(messages[0])


def test_what_is_not_here_says_so() -> None:
    for arguments, reason in (
        ({"model_type": "unigram"}, "BPE"),
        ({"pretokenizer": str.split}, "word counts"),
    ):
        with pytest.raises(NotImplementedError, match=reason):
            trained(SentencePieceTrainer, TEXT, **arguments)
    with pytest.raises(NotImplementedError, match="line break"):
        trained(SentencePieceTrainer, ["a\nb"])
