"""`piecework spm-train`: the flags and the files of `spm_train`, compared with SentencePiece itself."""

from pathlib import Path

import pytest
import sentencepiece

from cli.command import Run, made_up_lines
from piecework.cli.spm_train import WRITTEN
from piecework.sentencepiece.arguments import argument_fields

IDENTITY = ("--normalization_rule_name=identity", "--remove_extra_whitespaces=false")

pytestmark = pytest.mark.skipif(
    tuple(map(int, sentencepiece.__version__.split(".")[:3])) < (0, 2, 3),
    reason="needs sentencepiece 0.2.3, whose spm_train the command stands in for",
)


def spm_train(**flags: object) -> None:
    """The files that `spm_train` writes. It hands every flag to the trainer, also those that were not given."""
    fields = argument_fields()
    written = {name: fields[name].default_value for name in WRITTEN if name in fields}
    written["normalization_rule_name"] = "nmt_nfkc"
    sentencepiece.SentencePieceTrainer.train(**{**written, **flags}, minloglevel=2)


def assert_same_files(run: Run, folder: Path, *arguments: str, **flags: object) -> None:
    done = run("spm-train", "--model_prefix=m", "--model_type=bpe", *arguments)
    assert done.returncode == 0, done.stderr
    ours = [(folder / f"m.{suffix}").read_bytes() for suffix in ("model", "vocab")]
    # The prefix is written into the model, so both have the same, one after the other.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        spm_train(model_prefix="m", model_type="bpe", **flags)
    assert ours == [(folder / f"m.{suffix}").read_bytes() for suffix in ("model", "vocab")]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    lines = made_up_lines(300)
    (tmp_path / "a.txt").write_text("\n".join(lines[:200]) + "\n", encoding="utf-8")
    # A byte order mark and carriage returns are characters to spm_train, and the last line has no end.
    windows = "\ufeff" + "\r\n".join([*lines[200:], "", "for land  og  ", "x" * 5000 + " y", "▅ mark"])
    (tmp_path / "b.txt").write_bytes(windows.encode())
    (tmp_path / "empty.txt").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        (["--vocab_size=200"], {"vocab_size": 200}),
        (["--vocab_size", "200", "--split_digits"], {"vocab_size": 200, "split_digits": True}),
        (["--vocab_size=200", "--nosplit_by_number"], {"vocab_size": 200, "split_by_number": False}),
        (["--vocab_size=100", "--vocab_size=200"], {"vocab_size": 200}),
        (["--vocab_size=500", "--byte_fallback=true"], {"vocab_size": 500, "byte_fallback": True}),
        (
            ["--vocab_size=200", "--user_defined_symbols=<a>,<b>", "--control_symbols=<c>", "--pad_id=3"],
            {"vocab_size": 200, "user_defined_symbols": ["<a>", "<b>"], "control_symbols": ["<c>"], "pad_id": 3},
        ),
        (
            ["--vocab_size=200", "--vocabulary_output_piece_score=false", "--max_sentence_length=10000"],
            {"vocab_size": 200, "vocabulary_output_piece_score": False, "max_sentence_length": 10000},
        ),
        (["--vocab_size=200", "--num_threads=4", "--random_seed=7"], {"vocab_size": 200, "num_threads": 4}),
        (["--vocab_size=5000", "--hard_vocab_limit=false"], {"vocab_size": 5000, "hard_vocab_limit": False}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_same_files(run: Run, files: Path, arguments: list[str], flags: dict[str, object]) -> None:
    common = {"input": "a.txt,b.txt", "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    assert_same_files(run, files, "--input=a.txt,b.txt", *IDENTITY, *arguments, **common, **flags)


def test_an_empty_file_between_others(run: Run, files: Path) -> None:
    flags = {"vocab_size": 200, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    arguments = ("--input=a.txt,empty.txt,b.txt", "--vocab_size=200", *IDENTITY)
    assert_same_files(run, files, *arguments, input="a.txt,empty.txt,b.txt", **flags)


def test_symbols_from_files(run: Run, files: Path) -> None:
    (files / "symbols.txt").write_text("<x>\nland\n")
    (files / "chars.txt").write_text("ŧ\nđ\n")
    done = run(
        "spm-train",
        "--input=a.txt",
        "--model_prefix=m",
        "--model_type=bpe",
        "--vocab_size=200",
        *IDENTITY,
        "--user_defined_symbols=<a>",
        "--user_defined_symbols_file=symbols.txt",
        "--required_chars_file=chars.txt",
    )
    assert done.returncode == 0, done.stderr
    processor = sentencepiece.SentencePieceProcessor(model_file=str(files / "m.model"))
    assert [processor.id_to_piece(number) for number in (3, 4, 5)] == ["<a>", "<x>", "land"]
    assert processor.piece_to_id("ŧ") != processor.unk_id() != processor.piece_to_id("đ")


def test_left_out_lines_are_reported_and_files_overwritten(run: Run, files: Path) -> None:
    (files / "m.model").write_text("old")
    flags = ("--input=b.txt", "--model_prefix=m", "--model_type=bpe", "--vocab_size=100", *IDENTITY)
    done = run("spm-train", *flags)
    assert "warning: 1 line longer than max_sentence_length left out, as spm_train does" in done.stderr
    assert "1 line with U+2585" in done.stderr
    assert done.stderr.splitlines()[-1] == "next: piecework inspect m.model"
    assert (files / "m.model").read_bytes() != b"old"


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        ([], 2, "missing flag --input"),
        (["--input=a.txt"], 2, "missing flag --model_prefix"),
        (["--input=a.txt", "--model_prefix=no/m"], 1, "no such folder; make it first"),
        (["--inptu=a.txt"], 2, 'spm_train has no flag --inptu; did you mean "input"?'),
        (["a.txt"], 2, '"a.txt" is not a flag'),
        (["--input"], 2, "the flag --input needs a value"),
        (["--input=a.txt", "--model_prefix=m"], 2, "model_type = 'unigram' is not supported"),
        (["--input=a.txt", "--model_prefix=m", "--model_type=bpe", "--vocab_size=many"], 2, "vocab_size = 'many'"),
        (["--input=no.txt", "--model_prefix=m", "--model_type=bpe", *IDENTITY], 2, "no.txt"),
        (["--input=a.txt", "--model_prefix=m", "--model_type=bpe", "--denormalization_rule_tsv=x"], 2, "not supported"),
    ],
)
def test_mistakes(run: Run, files: Path, flags: list[str], code: int, message: str) -> None:
    done = run("spm-train", *flags)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(files.glob("m.*"))
