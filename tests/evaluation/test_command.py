"""`piecework evaluate`: for people, and for programs."""

import csv
import io
import json
import subprocess
from pathlib import Path

import orjson
import pytest

import piecework as pw
from cli.command import COMMAND, environment
from evaluation.counts import counted_study, made_up_texts

TEXTS = made_up_texts()


def run(*arguments: object, cwd: Path, **changes: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, "evaluate", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        env=environment(**changes),
        timeout=120,
        check=False,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's counts in `study`, and tokenizers in `tokenizers`."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "study").mkdir()
    counts = counted_study(folder / "study", TEXTS)
    recipe = pw.Recipe.gpt_sw3(vocab_size=400)
    pw.train(counts.training(), recipe).save(folder / "tokenizers" / "multilingual")
    for language, tokenizer in pw.train_monolingual(counts, recipe).items():
        tokenizer.save(folder / "tokenizers" / language)
    return folder


def test_a_table_for_people(folder: Path) -> None:
    done = run("tokenizers/multilingual", "tokenizers/sv", "tokenizers/da", "--counts", "study", cwd=folder)
    assert done.returncode == 0, done.stderr
    heading, header, *rows = done.stdout.splitlines()[:4]
    assert heading.startswith("Fertility  tokens / tokens that start with ▁; lower is better")
    assert header.split() == ["language", "multilingual", "sv", "da"]
    assert [row.split()[0] for row in rows] == ["da", "sv"]
    for row in rows:
        assert row.count("*") == 1
        assert row.count("±") == 3
    assert "* best of the row" in done.stdout
    assert "Unknown tokens: 0 everywhere" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr.splitlines()[-1] == "next: piecework inspect tokenizers/multilingual"


def test_one_tokenizer_and_sizes(folder: Path) -> None:
    done = run("tokenizers/sv/tokenizer.model", "--counts", "study/counts", "--sizes", "340,370,400", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sv  400 pieces\n")
    assert "Fertility of sv by vocabulary size" in done.stdout
    assert "340" in done.stdout


def test_json_equals_python(folder: Path) -> None:
    done = run("tokenizers/sv", "--counts", "study", "--sizes", "350", "--language", "da", "--json", cwd=folder)
    found = json.loads(done.stdout)
    tokenizer = pw.Tokenizer.load(folder / "tokenizers" / "sv")
    from piecework.counting.store import Counts

    expected = pw.evaluate({"sv": tokenizer}, Counts.load(folder / "study"), sizes=[350], languages=["da"])
    assert found["metrics"] == expected.metrics.rows()
    assert found["sizes"] == expected.sizes.rows()
    assert found["models"]["sv"] == {"path": "tokenizers/sv", "vocab_size": 400}
    assert {each["name"] for each in found["definitions"]} == {metric.name for metric in expected.metric_list}


def test_csv(folder: Path) -> None:
    done = run("tokenizers/sv", "--counts", "study", "--sizes", "350,400", "--csv", "-q", cwd=folder)
    assert done.stderr == ""
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0])[:4] == ["tokenizer", "vocab_size", "language", "metric"]
    keys = [(row["tokenizer"], row["vocab_size"], row["language"], row["metric"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert {row["vocab_size"] for row in rows} == {"350", "400"}


def test_data(folder: Path, tmp_path: Path) -> None:
    for language in ("sv", "da"):
        lines = [orjson.dumps({"text": text}) for text in TEXTS[language]]
        (tmp_path / f"eval_{language}.jsonl").write_bytes(b"\n".join(lines))
    model = folder / "tokenizers" / "sv"
    done = run(model, "--data", "eval_sv.jsonl", "--data", "eval_da.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["metrics"] == pw.evaluate({"sv": pw.Tokenizer.load(model)}, pw.count_units(TEXTS)).metrics.rows()
    named = run(model, "--data", "eval_sv.jsonl", "--language", "swedish", "--json", cwd=tmp_path)
    assert {row["language"] for row in json.loads(named.stdout)["metrics"]} == {"swedish"}
    parallel = run(model, "--parallel", "eval_{language}.jsonl", "--pivot", "sv", "--metric", "fertility", cwd=tmp_path)
    assert "premium of da" in parallel.stdout
    assert "Gini" in parallel.stdout
    (tmp_path / "one.txt").write_text("en text\nför sig\n", encoding="utf-8")
    one = run(model, "--data", "one.txt", cwd=tmp_path)
    assert "too few documents for intervals in text" in one.stderr


def test_the_best_is_marked_in_colour_too(folder: Path) -> None:
    arguments = ("tokenizers/sv", "tokenizers/da", "--counts", "study", "--metric", "fertility")
    assert "\x1b[1;32m" in run(*arguments, cwd=folder, FORCE_COLOR="1", TERM="xterm-256color").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tokenizers/sv"], 2, "--counts DIR, --data FILE or --parallel PATTERN"),
        (["tokenizers/sv", "--counts", "study", "--data", "x"], 2, "--counts DIR, --data FILE or --parallel PATTERN"),
        (["tokenizers/sv", "--counts", "nowhere"], 1, "no counts in this folder"),
        (["tokenizers/sv", "--data", "nowhere.txt"], 1, "nowhere.txt: no such file or folder"),
        (["tokenizers/sv", "--counts", "study", "--sizes", "many"], 2, "write sizes as 10000,20000,30000"),
        (["tokenizers/sv", "--counts", "study", "--sizes", "64000"], 1, 'size 64,000 of "sv": its vocabulary has 400'),
        (["tokenizers/sv", "--counts", "study", "--language", "is"], 1, 'no language "is" in these counts'),
        (["tokenizers/sv", "--counts", "study", "--metric", "fertilty"], 1, 'did you mean "fertility"'),
        (["tokenizers/sv", "--counts", "study", "--pivot", "sv"], 2, "--pivot needs --parallel"),
        (["tokenizers/no", "--counts", "study"], 1, "no such model file"),
        (["tokenizers/sv", "tokenizers/sv", "--counts", "study"], 1, "sv: given twice"),
    ],
)
def test_mistakes(folder: Path, arguments: list[str], code: int, message: str) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_parallel_text(folder: Path) -> None:
    lines = {"en": ["one house", "two houses"], "th": ["บ้านหนึ่งหลัง", "บ้านสองหลัง"]}
    (folder / "par").mkdir()
    for language, texts in lines.items():
        (folder / "par" / f"{language}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    done = run("tokenizers/multilingual", "--parallel", "par/{language}.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Tokens for the same text, compared with en\n")
    assert "warning: th: written without spaces, so tokens per word mean nothing there\n" in done.stderr
    found = json.loads(run("tokenizers/sv", "--parallel", "par/{language}.txt", "--json", cwd=folder).stdout)
    tokenizer = pw.Tokenizer.load(folder / "tokenizers" / "sv")
    tokens = {language: sum(map(len, tokenizer.encode_batch(texts))) for language, texts in lines.items()}
    premiums = {row["language"]: row["value"] for row in found["parallel"] if row["metric"] == "premium"}
    assert premiums == {"en": 1.0, "th": tokens["th"] / tokens["en"]}
    assert found["without_spaces"] == ["th"]
    # The same parallel text beside counts, with another pivot.
    options = ("--counts", "study", "--parallel", "par/{language}.txt", "--pivot", "th", "--csv")
    rows = list(csv.DictReader(io.StringIO(run("tokenizers/sv", *options, cwd=folder).stdout)))
    assert {row["language"] for row in rows if row["metric"] == "fertility"} == {"da", "sv"}
    assert [row["value"] for row in rows if row["metric"] == "premium" and row["language"] == "th"] == ["1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give the text to evaluate on: --counts DIR, --data FILE or --parallel PATTERN"),
        (("--counts", "study", "--pivot", "en"), '--pivot needs --parallel "par/{language}.txt"'),
        (("--parallel", "nowhere/{language}.txt"), "nowhere/{language}.txt: finds no file"),
        (("--parallel", "par/{lang}.txt"), 'unknown brace {lang}; did you mean "language"?'),
    ],
)
def test_mistakes_of_parallel_text(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = run("tokenizers/multilingual", *options, cwd=folder)
    assert done.returncode == (1 if "finds no file" in message else 2), done.stderr
    assert message in done.stderr.replace("\n", " ")
