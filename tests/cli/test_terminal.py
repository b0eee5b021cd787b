"""Commands at a terminal: tables fit, help lines are complete, suggested commands work, numbers may have a k."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import piecework as pw
from cli.command import COMMAND, PATH, Run, environment, made_up_lines, on_a_terminal
from piecework.cli import COMMANDS

LANGUAGES = ("ar", "da", "de", "en", "fi", "he", "hi", "is", "ja", "ko", "pl", "sv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text in twelve languages, and three models."""
    folder = tmp_path_factory.mktemp("twelve")
    for number, language in enumerate(LANGUAGES):
        lines = "\n".join(made_up_lines(80, seed=number)) + "\n"
        (folder / f"{language}.txt").write_text(lines, encoding="utf-8")
    (folder / "study.toml").write_text(
        '[corpus]\npath = "{language}.txt"\ndocuments = "line"\n[sampling]\ntrain = "60%"\neval = "40%"\n'
        '[recipe]\npreset = "plain"\nvocab_size = 200\n[analysis]\nvocab_sizes = [150, 200]\n'
    )
    for size in (100, 150, 200):
        counts = pw.count_words(made_up_lines(200))
        pw.train(counts, pw.Recipe(vocab_size=size)).save(folder / f"model-of-{size}")
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "model-of-200", "--data", ".", "--documents", "line"],
        ["evaluate", "model-of-100", "model-of-150", "model-of-200", "--data", ".", "--documents", "line"],
        ["evaluate", "model-of-200", "--data", ".", "--documents", "line", "--sizes", "100,120,140,150,160,180,200"],
        ["compare", "model-of-100", "model-of-150", "model-of-200", "--data", ".", "--documents", "line"],
        ["count", "study.toml", "--out", "OUT"],
    ],
    ids=lambda arguments: f"{arguments[0]} {len(arguments)}",
)
def test_no_number_is_cut_in_80_columns(folder: Path, tmp_path: Path, arguments: list[str]) -> None:
    arguments = [str(tmp_path) if argument == "OUT" else argument for argument in arguments]
    written = on_a_terminal(*arguments, stream="stdout", cwd=folder, NO_COLOR="1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written).replace("\r", "")
    assert max(map(len, plain.splitlines())) <= 80
    assert "…" not in plain
    for language in LANGUAGES:
        row = next(line for line in plain.splitlines() if re.match(rf"\s*(all_)?{language}\b", line))
        assert re.search(r"\d", row), row


def test_every_value_is_in_the_narrow_table(folder: Path) -> None:
    """All metrics of twelve languages: languages are rows, and each value is there in full."""
    arguments = ("evaluate", "model-of-200", "--data", ".", "--documents", "line")
    plain = on_a_terminal(*arguments, stream="stdout", cwd=folder, NO_COLOR="1").replace("\r", "")
    done = subprocess.run(
        [*COMMAND, *arguments, "--json"], cwd=folder, env=environment(), capture_output=True, check=True
    )
    for row in json.loads(done.stdout)["metrics"]:
        if row["metric"] in ("fertility", "bytes_per_token") and row["language"] in LANGUAGES:
            assert re.search(rf"(?m)^\s*{row['language']}\s.*{row['value']:.3f}", plain), row


def test_help_lines_end(run: Run) -> None:
    listed = run("--help").stdout.split("Commands:")[1].split("Exit codes")[0].strip().splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert listed[0].startswith("run ")
    for line in listed:
        assert line.endswith(".")
        assert not line.endswith("..")
        assert len(line) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "sv.txt", "--recipe", "plain", "--vocab-size", "150", "--dry-run"],
        ["train", "sv.txt", "--recipe", "plain", "--vocab-size", "150", "--out", "my model"],
        ["inspect", "model-of-100"],
        ["evaluate", "model-of-100", "--data", "sv.txt"],
        ["compare", "model-of-100", "model-of-150", "--data", "sv.txt"],
        ["export", "model-of-100", "--to", "hf", "--out", "hf"],
        ["edit", "model-of-100", "--reserve", "3", "--out", "edited"],
        ["edit", "model-of-100", "--reserve", "3", "--dry-run"],
        ["verify", "model-of-100", "--fuzzed", "10"],
        ["init", ".", "--out", "new.toml"],
        ["validate", "study.toml"],
        ["count", "study.toml", "--dry-run"],
        ["count", "study.toml"],
        ["run", "study.toml"],
        ["run", "study.toml", "--out", "out/other place"],
    ],
    ids=" ".join,
)
def test_the_next_command_works_when_it_is_pasted(folder: Path, tmp_path: Path, arguments: list[str]) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    suggested = done.stderr.splitlines()[-1]
    assert suggested.startswith("next: piecework ")
    pasted = subprocess.run(
        ["bash", "-c", suggested.removeprefix("next: ")],
        cwd=tmp_path,
        env=environment(BROWSER="true"),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert pasted.returncode == 0, (suggested, pasted.stderr)


def test_without_the_command_on_the_path_the_next_one_has_its_path(folder: Path) -> None:
    path = PATH.split(os.pathsep, 1)[1]
    found = [part for part in path.split(os.pathsep) if not (Path(part) / "piecework").exists()]
    changed = environment(PATH=os.pathsep.join(found))
    command = [*COMMAND, "inspect", "model-of-100"]
    done = subprocess.run(command, cwd=folder, env=changed, capture_output=True, text=True)
    suggested = done.stderr.splitlines()[-1]
    assert suggested.startswith(f"next: {COMMAND[0]} -m piecework encode")
    line = suggested.removeprefix("next: ")
    pasted = subprocess.run(["bash", "-c", line], cwd=folder, env=changed, capture_output=True, text=True)
    assert pasted.returncode == 0, pasted.stderr


@pytest.mark.parametrize(
    "arguments", [["inspect"], ["export", "--to", "hf", "--out", "x"], ["encode", "text", "--model"]]
)
def test_the_folder_of_a_study_names_its_tokenizers(
    run: Run, tmp_path: Path, model: Path, arguments: list[str]
) -> None:
    for name in ("multilingual", "sv", "da"):
        (tmp_path / "out/tokenizers" / name).mkdir(parents=True)
        (tmp_path / "out/tokenizers" / name / "tokenizer.model").write_bytes(model.read_bytes())
    done = run(*arguments, "out")
    assert done.returncode == 1
    assert "out is the output folder of a study; its tokenizers are da, multilingual, sv" in done.stderr
    assert "choose one, as out/tokenizers/multilingual" in done.stderr


def test_encode_takes_text(run: Run, model: Path, tmp_path: Path) -> None:
    from_stdin = run("encode", "--model", model, stdin="för landet\nog\n").stdout
    assert run("encode", "--model", model, "för landet\nog").stdout == from_stdin
    assert run("encode", "--model", model, "för").stdout == run("encode", "--model", model, stdin="för").stdout
    (tmp_path / "för").write_text("og\n")
    assert run("encode", "--model", model, "för").stdout == run("encode", "--model", model, stdin="og").stdout
    for missing in ("book.txt", "data/book", "book.txt.zst"):
        done = run("encode", "--model", model, missing)
        assert done.returncode == 1
        assert f"{missing}: no such file" in done.stderr


def test_numbers_with_k(run: Run, text_file: Path, tmp_path: Path) -> None:
    for number, size in enumerate(("0.2k", "200", "2_00")):
        done = run("train", text_file, "--recipe", "plain", "--vocab-size", size, "--out", f"m{number}")
        assert done.returncode == 0, done.stderr
    assert run("train", text_file, "--recipe", "plain", "--set", "vocab_size=0.2k", "--out", "m3").returncode == 0
    assert len({(tmp_path / f"m{number}/tokenizer.model").read_bytes() for number in range(4)}) == 1
    done = run("evaluate", "m0", "--data", text_file, "--sizes", "0.1k,0.15k", "--json")
    assert {row["vocab_size"] for row in json.loads(done.stdout)["sizes"]} >= {100, 150}
    for wrong in ("64kB", "1.5", "k", "-3", "0", ""):
        assert run("train", text_file, "--vocab-size", wrong, "--out", "x").returncode == 2
