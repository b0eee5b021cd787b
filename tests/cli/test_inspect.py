"""`piecework inspect`: what is in a model, for people and for programs."""

import json
from pathlib import Path

import piecework as pw
from cli.command import Run


def test_json_adds_up(run: Run, model: Path) -> None:
    done = run("inspect", model, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["vocab_size"] == 512
    assert found["model_bytes"] == model.stat().st_size
    groups = {group["name"]: group for group in found["groups"]}
    assert sum(group["count"] for group in groups.values()) == 512
    for group in groups.values():
        assert group["count"] == sum(last - first + 1 for first, last in group["ranges"])
    tokenizer = pw.Tokenizer.load(model)
    assert {int(length): count for length, count in found["lengths"].items()} == tokenizer.length_histogram()
    assert found["settings"]["vocab_size"] == 512
    assert found["settings"]["byte_fallback"] is True


def test_a_table_for_people(run: Run, model: Path) -> None:
    done = run("inspect", model.parent)
    assert done.returncode == 0, done.stderr
    for expected in (
        "512 pieces",
        "Vocabulary",
        "Length",
        "Settings",
        "byte",
        "256",
        "8-263",
        "<|python|>",
        "█",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr.splitlines()[-1] == f"next: piecework encode --model '{model.parent}' 'Hello world'"


def test_a_plain_model(run: Run, text_file: Path) -> None:
    assert run("train", text_file, "--out", "out", "--recipe", "plain", "--vocab-size", 100).returncode == 0
    done = run("inspect", "out", "--json", "-q")
    assert done.stderr == ""
    assert {group["name"] for group in json.loads(done.stdout)["groups"]}.isdisjoint({"byte", "code"})
