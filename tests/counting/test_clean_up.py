"""With `clean_up`, documents count as if they had been cleaned before they were written; other counts are noticed."""

import json
import random
from pathlib import Path

import pytest

import piecework as pw
from cli.command import Run
from cli.conftest import run  # noqa: F401  # a fixture
from counting.corpora import count_here, made_up_documents, result_bytes, write
from piecework.counting.description import read_inputs
from piecework.counting.local import count
from piecework.counting.plan import Plan
from piecework.study.study import Study

DIRT = ["\u00a0", "\u3000", "\u200b", "\u00ad", "\x85", "\x07", "e\u0301", "\ufffc", "\r\n", "\u2009", "\u0084"]


def dirty_documents() -> list[str]:
    rng = random.Random(1)
    found = []
    for text in made_up_documents(200, copies=False):
        for _ in range(rng.randint(0, 6)):
            place = rng.randint(0, len(text))
            text = text[:place] + rng.choice(DIRT) + text[place:]
        found.append(text)
    return found


def study(folder: Path, suffix: str, **recipe: str) -> Study:
    return Study(
        folder=folder,
        corpus={"path": f"{{category}}_{{language}}{suffix}"},
        sampling={"train": "60%", "eval": "30%"},
        recipe=recipe,
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst", ".parquet"])
def test_as_if_cleaned_before(suffix: str, tmp_path: Path) -> None:
    documents = dirty_documents()
    write(tmp_path / "dirty" / f"books_sv{suffix}", documents)
    write(tmp_path / "clean" / f"books_sv{suffix}", [pw.clean_up(text) for text in documents])
    dirty = study(tmp_path / "dirty", suffix, clean_up="gpt-sw3")
    clean, plain = study(tmp_path / "clean", suffix), study(tmp_path / "dirty", suffix)
    for name, each in (("a", dirty), ("b", clean), ("c", plain)):
        count_here(each, tmp_path / name / "counts")
    mine, theirs, other = (result_bytes(tmp_path / name) for name in "abc")
    for name in ("train.parquet", "eval.parquet", "eval_plain.parquet"):
        assert mine[name] == theirs[name]
        assert mine[name] != other[name]


def test_counts_made_otherwise_are_noticed(tmp_path: Path) -> None:
    write(tmp_path / "books_sv.jsonl", dirty_documents())
    plain, cleaned = study(tmp_path, ".jsonl"), study(tmp_path, ".jsonl", clean_up="gpt-sw3")
    assert plain.counting_key() != cleaned.counting_key()
    keys = [{shard.key for shard in Plan.from_study(each).shards} for each in (plain, cleaned)]
    assert keys[0].isdisjoint(keys[1])
    for first, second in ((plain, cleaned), (cleaned, plain)):
        made = count(first, out=tmp_path / f"out-{first.recipe.clean_up}")
        assert (
            Plan.from_study(second).difference(made.description, read_inputs(made.folder))
            == "settings that differ: clean_up"
        )
        assert Plan.from_study(first).difference(made.description, read_inputs(made.folder)) == ""


def test_training_on_files(run: Run, tmp_path: Path) -> None:  # noqa: F811
    lines = [line for text in dirty_documents() for line in text.split("\n")]
    (tmp_path / "dirty.txt").write_bytes(("\n".join(lines) + "\nfoo\xff").encode("latin-1", "ignore"))
    (tmp_path / "utf8.txt").write_text("\n".join(lines), encoding="utf-8", newline="")
    (tmp_path / "clean.txt").write_text("\n".join(map(pw.clean_up, lines)), encoding="utf-8", newline="")
    options = ("--vocab-size", "400", "--recipe", "plain", "--set", "hard_vocab_limit=false")
    models = {}
    for name, more in (
        ("utf8", ("--set", "clean_up=gpt-sw3")),
        ("clean", ()),
        ("dirty", ("--set", "clean_up=gpt-sw3")),
    ):
        done = run("train", f"{name}.txt", "--out", name, *options, *more)
        assert done.returncode == 0, done.stderr
        models[name] = (tmp_path / name / "tokenizer.model").read_bytes()
    assert models["utf8"] == models["clean"]
    assert "invalid UTF-8" in done.stderr, "bytes that are no text are still told"
    done = run("train", "utf8.txt", "--out", "x", "--set", "clean_up=gptsw3")
    assert done.returncode == 2
    assert "clean_up" in done.stderr


def test_training_from_counts(run: Run, tmp_path: Path) -> None:  # noqa: F811
    write(tmp_path / "books_sv.jsonl", dirty_documents())
    (tmp_path / "study.toml").write_text(
        '[corpus]\npath = "books_{language}.jsonl"\n[sampling]\ntrain = "60%"\n[recipe]\nclean_up = "gpt-sw3"\n'
    )
    assert run("count", "study.toml", "--out", "counted").returncode == 0
    options = ("--counts", "counted", "--vocab-size", "400", "--set", "hard_vocab_limit=false")
    assert run("train", *options, "--out", "a").returncode == 0
    same = run("train", *options, "--out", "b", "--set", "clean_up=gpt-sw3", "--json")
    assert json.loads(same.stdout)["recipe"]["clean_up"] == "gpt-sw3"
    refused = run("train", *options, "--out", "c", "--set", "clean_up=none")
    assert refused.returncode == 2
    assert "the counts in counted were made with clean_up = gpt-sw3" in refused.stderr


def test_the_model_does_not_tell() -> None:
    """It is no setting of SentencePiece's, and not written into the model."""
    plain, cleaned = (
        pw.train(pw.count_words(["en ros är en ros"], **more), pw.Recipe(vocab_size=15, **more))
        for more in ({}, {"clean_up": "gpt-sw3"})
    )
    assert plain.model_bytes == cleaned.model_bytes
    with pytest.raises(pw.InputError, match="clean_up = gpt-sw3: documents are cleaned before they are counted"):
        pw.train(pw.count_words(["en ros"]), pw.Recipe(vocab_size=15, clean_up="gpt-sw3"))
