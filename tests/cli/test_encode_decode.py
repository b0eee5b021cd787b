"""`piecework encode` and `piecework decode`: each line of input gives one line of output."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

import piecework as pw
from cli.command import COMMAND, Run, environment, made_up_lines

TEXTS = ["förland ska på", "", "  två  spaces ", "okänd 漢字 🙂", "tab\tand\r", *made_up_lines(20)]


def test_pieces(run: Run, model: Path) -> None:
    done = run("encode", "--model", model, stdin="\n".join(TEXTS) + "\n")
    assert done.returncode == 0, done.stderr
    tokenizer = pw.Tokenizer.load(model)
    assert done.stdout.split("\n")[:-1] == [" ".join(tokenizer.encode_pieces(text)) for text in TEXTS]
    assert done.stderr == ""


def test_ids(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\n".join(TEXTS).encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress("\n".join(TEXTS).encode()))
    tokenizer = pw.Tokenizer.load(model)
    expected = [" ".join(map(str, tokenizer.encode(text))) for text in TEXTS]
    for name in ("a.txt", "a.txt.gz"):
        done = run("encode", "-m", model.parent, "--ids", name)
        assert done.stdout.split("\n")[:-1] == expected, done.stderr


def test_json(run: Run, model: Path) -> None:
    done = run("encode", "--model", model, "--json", "-", stdin="\n".join(TEXTS))
    tokenizer = pw.Tokenizer.load(model)
    records = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert len(records) == len(TEXTS)
    for text, record in zip(TEXTS, records, strict=True):
        tokens = tokenizer.tokens(text)
        assert record == {
            "ids": tokenizer.encode(text),
            "pieces": [token.piece for token in tokens],
            "offsets": [[token.start, token.end] for token in tokens],
        }


def test_round_trip(run: Run, model: Path) -> None:
    encoded = run("encode", "--model", model, "--ids", stdin="\n".join(TEXTS) + "\n")
    decoded = run("decode", "--model", model, stdin=encoded.stdout)
    assert decoded.stdout.split("\n")[:-1] == TEXTS
    assert decoded.stderr == ""


def test_lists_are_ids_too(run: Run, model: Path) -> None:
    ids = pw.Tokenizer.load(model).encode("förland")
    done = run("decode", "--model", model, stdin=f"{ids}\n{','.join(map(str, ids))}\n")
    assert done.stdout == "förland\nförland\n"


def test_each_bad_byte_is_one_mark(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\xe2\x82b\xff\n")
    command = [*COMMAND, "encode", "--ids", "--model", str(model), str(tmp_path / "a.txt")]
    done = subprocess.run(command, capture_output=True, check=True, env=environment(), encoding="utf-8")
    assert done.stdout.split() == [str(i) for i in pw.Tokenizer.load(model).encode("a\ufffd\ufffdb\ufffd")]


@pytest.mark.parametrize("stdin", ["", "\n"])
@pytest.mark.parametrize("command", ["encode", "decode"])
def test_empty_input(run: Run, model: Path, command: str, stdin: str) -> None:
    done = run(command, "--model", model, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (0, stdin, "")


def test_answers_come_line_by_line(model: Path) -> None:
    command = [*COMMAND, "encode", "--ids", "--model", str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin
        assert process.stdout
        for _ in range(3):
            process.stdin.write("förland\n".encode())
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_broken_pipe_ends_quietly(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("förland ska på\n" * 200_000, encoding="utf-8")
    command = [*COMMAND, "encode", "--model", str(model), str(tmp_path / "a.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 two 3", '"two" is not an id'),
        ("1 -2", '"-2" is not an id'),
        ("1 512", "id 512 is not in the vocabulary, whose ids are 0 to 511"),
        ("9" * 9000, "is not in the vocabulary"),
        ("\x00", "is not an id"),
    ],
)
def test_what_is_no_id(run: Run, model: Path, line: str, message: str) -> None:
    done = run("decode", "--model", model, stdin=f"1 2\n{line}\n")
    assert done.returncode == 1
    assert message in done.stderr
    assert "error: stdin:2: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["encode", "decode", "inspect"])
def test_models_that_are_none(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    data = model.read_bytes()
    (tmp_path / "truncated.model").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.model").write_text("this is no model\n" * 100, encoding="utf-8")
    (tmp_path / "empty.model").touch()
    (tmp_path / "folder").mkdir()
    for name in ("truncated.model", "text.model", "empty.model", "missing.model", "folder"):
        done = run(command, *(() if command == "inspect" else ("--model",)), name)
        assert done.returncode == 1, (name, done.stderr)
        assert done.stderr.startswith("error: ")
        assert name in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_files_that_cannot_be_read(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "a.parquet").touch()
    assert run(command).returncode == 2
    for name, code in (("missing.txt", 1), ("a.parquet", 1), (".", 2)):
        done = run(command, "--model", model, name)
        assert done.returncode == code, done.stderr
        assert name in done.stderr
        assert "Traceback" not in done.stderr


def test_byte_level(run: Run, tmp_path: Path) -> None:
    recipe = pw.Recipe.byte_level(pre_tokenizer="o200k", vocab_size=280)
    tokenizer = pw.train(pw.count_pre_tokens(TEXTS, pre_tokenizer="o200k"), recipe)
    tokenizer.save(tmp_path / "own")
    tokenizer.save_tiktoken(tmp_path / "o200k.tiktoken")
    expected = [tokenizer.encode(text) for text in TEXTS]
    for model in (tmp_path / "own", tmp_path / "own" / "tokenizer.json", tmp_path / "o200k.tiktoken"):
        done = run("encode", "--model", model, "--ids", stdin="\n".join(TEXTS) + "\n")
        assert [list(map(int, line.split())) for line in done.stdout.split("\n")[:-1]] == expected, done.stderr
        back = run("decode", "--model", model, stdin=done.stdout)
        assert back.stdout.split("\n")[:-1] == TEXTS, back.stderr
    done = run("encode", "--model", tmp_path / "own", "--json", "-", stdin="räv\n")
    assert json.loads(done.stdout)["pieces"] == tokenizer.encode_pieces("räv")
