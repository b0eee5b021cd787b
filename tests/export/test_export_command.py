"""`piecework export` at the command line."""

import json
from pathlib import Path

import pytest

from cli.command import Run


@pytest.mark.parametrize(
    ("form", "file"), [("hf", "tokenizer.json"), ("sentencepiece", "tokenizer.vocab"), ("llama", "added_tokens.json")]
)
def test_formats(run: Run, model: Path, tmp_path: Path, form: str, file: str) -> None:
    done = run("export", model, "--to", form, "--out", "new")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new" / file).is_file()
    assert done.stdout == ""
    assert "next: piecework verify" in done.stderr


def test_json(run: Run, model: Path) -> None:
    done = run("export", model.parent, "--to", "hf", "--out", "new", "--json", "-q")
    content = json.loads(done.stdout)
    assert content["caveats"] == []
    assert {Path(path).name for path in content["files"]} >= {"tokenizer.json", "spiece.model"}
    assert done.stderr == ""


def test_nothing_is_overwritten(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "tokenizer.json").write_text("mine")
    done = run("export", model, "--to", "hf", "--out", "new")
    assert done.returncode == 1
    assert "tokenizer.json exists already; pass --force to overwrite it" in done.stderr
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"tokenizer.json"}
    assert run("export", model, "--to", "hf", "--out", "new", "--force").returncode == 0


def test_mistakes(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(model.read_bytes()[:1000])
    for arguments, code, message in (
        (("missing", "--to", "hf", "--out", "x"), 1, "no such model file"),
        (("broken.model", "--to", "hf", "--out", "x"), 1, "cut short"),
        ((model, "--to", "onnx", "--out", "x"), 2, "onnx"),
        ((model, "--to", "hf"), 2, "--out"),
    ):
        done = run("export", *arguments)
        assert done.returncode == code
        assert message in done.stderr
        assert "Traceback" not in done.stderr
