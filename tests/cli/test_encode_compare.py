"""`piecework encode --compare`: the tokens of several models under one another."""

import json
import re
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from cli.command import Run, made_up_lines, on_a_terminal

TEXT = "för landet og 12 verskahet 😀"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for size in (400, 700):
        recipe = pw.Recipe.gpt_sw3(vocab_size=size)
        pw.train(pw.count_words(made_up_lines()), recipe).save(folder / f"of {size}")
    return folder


def test_in_a_pipe(run: Run, models: Path) -> None:
    done = run("encode", "--compare", models / "of 400", models / "of 700", TEXT)
    assert done.returncode == 0, done.stderr
    small, large = (pw.Tokenizer.load(models / name) for name in ("of 400", "of 700"))
    blocks = done.stdout.split("\n\n")
    for block, tokenizer, name in zip(blocks, (small, large), ("of 400", "of 700"), strict=False):
        heading, line = block.splitlines()
        count = len(tokenizer.encode(TEXT))
        assert heading.startswith(f"{name}  {count} tokens, {count / 6:.2f} per word")
        assert line.replace("|", "") == TEXT
        ends = [token.end for token in tokenizer.tokens(TEXT) if token.end > token.start]
        assert len(line.split("|")) == len(ends)
    assert "% against the first" in blocks[1]
    assert "split differently:" in blocks[2]


def test_json_ids_pieces_and_stdin(run: Run, models: Path) -> None:
    paths = [models / "of 400", models / "of 700" / "tokenizer.model"]
    oracles = [sentencepiece.SentencePieceProcessor(str(models / n / "tokenizer.model")) for n in ("of 400", "of 700")]
    found = json.loads(run("encode", "--compare", "--json", *paths, "-", stdin=TEXT + "\n").stdout)
    assert found["text"] == TEXT
    assert [lane["ids"] for lane in found["lanes"]] == [oracle.encode(TEXT) for oracle in oracles]
    ids = run("encode", "--compare", "--ids", *paths, TEXT).stdout.split("\n\n")
    assert ids[0].splitlines()[1].split() == list(map(str, oracles[0].encode(TEXT)))
    pieces = run("encode", "--compare", "--pieces", paths[0], TEXT).stdout.splitlines()
    assert pieces[1].split() == oracles[0].encode(TEXT, out_type=str)


def test_colours_and_without_them_underlining(models: Path) -> None:
    coloured = on_a_terminal("encode", "--compare", models / "of 400", TEXT, stream="stdout")
    assert "\x1b[31m\x1b[4m" in coloured
    assert "\x1b[34m\x1b[4m" in coloured
    plain = on_a_terminal("encode", "--compare", models / "of 400", TEXT, stream="stdout", NO_COLOR="1")
    assert not re.search(r"\x1b\[3\d", plain)
    underlined = re.findall(r"\x1b\[4m(.*?)\x1b\[0m", plain)
    tokens = pw.Tokenizer.load(models / "of 400").tokens(TEXT)
    assert underlined[0] == TEXT[tokens[0].start : tokens[0].end]
    assert TEXT in re.sub(r"\x1b\[\d+m", "", plain)


def test_text_cannot_steer_the_terminal(models: Path) -> None:
    written = on_a_terminal("encode", "--compare", models / "of 400", "a\x1b[2J\x07b", stream="stdout", NO_COLOR="1")
    assert "\x1b[2J" not in written
    assert "\x07" not in written
    assert "\\x1b" in written


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--compare"], 2, "--compare needs models and a text"),
        (["--compare", "only text"], 2, "--compare needs models and a text"),
        (["--compare", "missing.model", "text"], 1, "missing.model: no such file or folder"),
        ([], 2, "missing option --model"),
        (["--model", "a", "one", "two"], 2, "give one FILE or TEXT, not 2"),
    ],
)
def test_mistakes(run: Run, arguments: list[str], code: int, message: str) -> None:
    done = run("encode", *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_texts_without_words(run: Run, models: Path) -> None:
    assert "0 tokens" in run("encode", "--compare", models / "of 400", models / "of 700", "").stdout
    assert run("encode", "--compare", models / "of 400", " \n\t ").returncode == 0
