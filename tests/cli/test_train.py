"""`piecework train`: formats, settings, refusals, and what is left behind."""

import gzip
import json
import subprocess
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import piecework as pw
from cli.command import COMMAND, UNPRIVILEGED, Run, environment, made_up_lines

SMALL = ("--recipe", "plain", "--vocab-size", 200)
SAVED = [
    "out/SHA256SUMS",
    "out/special_tokens_map.json",
    "out/tokenizer.json",
    "out/tokenizer.model",
    "out/tokenizer.vocab",
    "out/tokenizer_config.json",
]


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_trains_what_the_api_trains(run: Run, tmp_path: Path, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", "--vocab-size", 512)
    assert done.returncode == 0, done.stderr
    assert files_in(tmp_path) == SAVED
    expected = pw.train(pw.count_words(made_up_lines()), pw.Recipe.gpt_sw3(vocab_size=512))
    assert (tmp_path / "out/tokenizer.model").read_bytes() == expected.model_bytes
    assert done.stdout == ""
    assert "trained 512 pieces" in done.stderr
    assert done.stderr.splitlines()[-1] == "next: piecework inspect out"


def test_every_format_gives_the_same_model(run: Run, tmp_path: Path) -> None:
    lines = made_up_lines()
    text = ("\n".join(lines) + "\n").encode()
    jsonl = "".join(json.dumps({"text": line}) + "\n" for line in lines).encode()
    for name, data in (("a.txt", text), ("a.jsonl", jsonl), ("a.ndjson", jsonl)):
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
        (tmp_path / f"{name}.zst").write_bytes(zstandard.compress(data))
    pyarrow.parquet.write_table(pyarrow.table({"text": lines}), tmp_path / "a.parquet", row_group_size=50)
    half = len(lines) // 2
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "1.txt").write_text("\n".join(lines[:half]), encoding="utf-8")
    (tmp_path / "folder" / "deep" / "2.md").write_text("\n".join(lines[half:]), encoding="utf-8")
    inputs = sorted(path.name for path in tmp_path.iterdir())
    assert len(inputs) == 11
    models = set()
    for name in inputs:
        done = run("train", name, "--out", f"out-{name}", *SMALL)
        assert done.returncode == 0, done.stderr
        assert "skipped" not in done.stderr
        models.add((tmp_path / f"out-{name}" / "tokenizer.model").read_bytes())
    assert len(models) == 1


def test_threads_and_globs_change_nothing(run: Run, tmp_path: Path) -> None:
    for index in range(3):
        (tmp_path / f"{index}.txt").write_text("\n".join(made_up_lines(seed=index)), encoding="utf-8")
    for threads in (1, 2, 7):
        done = run("train", "*.txt", "--out", f"out{threads}", "--threads", threads, *SMALL)
        assert done.returncode == 0, done.stderr
    assert len({(tmp_path / f"out{threads}/tokenizer.model").read_bytes() for threads in (1, 2, 7)}) == 1


def test_settings_reach_the_recipe(run: Run, tmp_path: Path, text_file: Path) -> None:
    settings = (
        "character_coverage=1",
        "split_digits=true",
        'user_defined_symbols=["<|sv|>", "<|da|>"]',
        "unk_surface=?",
        "required_chars=12",
    )
    options = [word for setting in settings for word in ("--set", setting)]
    done = run("train", text_file, "--out", "out", *SMALL, *options)
    assert done.returncode == 0, done.stderr
    recipe = pw.Recipe(
        vocab_size=200,
        character_coverage=1.0,
        split_digits=True,
        user_defined_symbols=("<|sv|>", "<|da|>"),
        unk_surface="?",
        required_chars="12",
    )
    expected = pw.train(pw.count_words(made_up_lines()), recipe)
    assert (tmp_path / "out/tokenizer.model").read_bytes() == expected.model_bytes


def test_bare_words_in_a_list(run: Run, tmp_path: Path, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", *SMALL, "--set", "control_symbols=[<a>, <b>]")
    assert done.returncode == 0, done.stderr
    assert [piece.text for piece in pw.Tokenizer.load(tmp_path / "out").pieces[3:5]] == ["<a>", "<b>"]


def test_json(run: Run, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", "--json", *SMALL)
    result = json.loads(done.stdout)
    assert result["vocab_size"] == 200
    assert result["model"] == "out/tokenizer.model"
    assert result["files"] == [str(text_file)]
    assert result["size_bytes"] == text_file.stat().st_size
    assert result["words"] >= result["distinct_words"] > 100
    assert result["recipe"]["split_by_unicode_script"] is True
    assert result["skipped"] == {}


def test_quiet_says_nothing(run: Run, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", "-q", *SMALL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_overwritten_without_force(run: Run, tmp_path: Path, text_file: Path) -> None:
    assert run("train", text_file, "--out", "out", *SMALL).returncode == 0
    before = (tmp_path / "out/tokenizer.model").read_bytes()
    again = ("train", text_file, "--out", "out", "--recipe", "plain", "--vocab-size", 150)
    refused = run(*again)
    assert refused.returncode == 1
    assert "out/tokenizer.model and out/tokenizer.vocab exist already" in refused.stderr
    assert "--force" in refused.stderr
    assert (tmp_path / "out/tokenizer.model").read_bytes() == before
    assert run(*again, "--force").returncode == 0
    assert (tmp_path / "out/tokenizer.model").read_bytes() != before
    assert files_in(tmp_path) == SAVED


def test_dry_run_writes_nothing(run: Run, tmp_path: Path, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", "--dry-run", "--vocab-size", 512)
    assert done.returncode == 0, done.stderr
    assert files_in(tmp_path) == []
    for expected in ("vocab_size = 512", "byte_fallback = true", "1 file", str(text_file), "time", "memory"):
        assert expected in done.stdout
    assert done.stderr.splitlines()[-1] == f"next: piecework train {text_file} --out out --vocab-size 512"


def test_dry_run_as_json_needs_no_output_folder(run: Run, text_file: Path) -> None:
    done = run("train", text_file, "--dry-run", "--json")
    plan = json.loads(done.stdout)
    assert plan["recipe"]["vocab_size"] == 64_000
    assert plan["size_bytes"] == text_file.stat().st_size
    assert plan["estimate"]["distinct_words"] > 100
    assert plan["estimate"]["memory_bytes"] > 1_000_000


def test_dry_run_of_a_byte_level_recipe_counts_pre_tokens(run: Run, text_file: Path) -> None:
    done = run("train", text_file, "--preset", "gpt4o", "--vocab-size", 300, "--dry-run")
    counts = pw.count_pre_tokens([text_file.read_text("utf-8")], pre_tokenizer="o200k")
    assert f"for {len(counts):,} distinct pre-tokens" in done.stdout


def test_a_pattern_of_ones_own(run: Run, tmp_path: Path, text_file: Path) -> None:
    pattern = r"\s?\p{L}+|\p{N}{1,2}|[^\s\p{L}\p{N}]+|\s+"
    recipe = ("--preset", "gpt2", "--set", f"pattern={pattern}", "--vocab-size", 300)
    done = run("train", text_file, *recipe, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "warning: a pattern of one's own runs in tokenizers: counting takes some 25 times as long" in done.stderr
    cut = pw.PreTokenizer("custom", pattern=pattern)
    expected = pw.train([text_file.read_text("utf-8")], pw.Recipe.byte_level("gpt2", pre_tokenizer=cut, vocab_size=300))
    assert (tmp_path / "out/tokenizer.json").read_bytes() == expected.json_bytes
    for settings, message in (
        (["pattern=[0-9]"], "the pattern '[0-9]' does not match ' '"),
        (["pattern=(x"], "the pattern '(x' is broken"),
        (["pre_tokenizer=custom"], 'needs a pattern of your own: pattern = "..."'),
        (["pattern=x", "pre_tokenizer=gpt2"], 'the pre-tokenizer "gpt2" has its own pattern; "custom" takes another'),
        ([r"pattern=\S|\s", "digits=ones"], "digits are cut by the pattern"),
    ):
        refused = run("train", text_file, "--preset", "gpt2", *(x for each in settings for x in ("--set", each)))
        assert refused.returncode and message in refused.stderr, refused.stderr


def test_dry_run_on_empty_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    done = run("train", "empty.txt", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "estimate: none" in done.stdout


def test_skipped_records_are_reported_and_do_not_stop(run: Run, tmp_path: Path) -> None:
    records = [json.dumps({"text": line}) for line in made_up_lines()]
    (tmp_path / "a.jsonl").write_text("\n".join(["{", '{"text": null}', "{", *records]), encoding="utf-8")
    done = run("train", "a.jsonl", "--out", "out", "--json", "-v", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "warning: 3 records skipped: 2 malformed JSON (a.jsonl:1), 1 field null (a.jsonl:2)" in done.stderr
    assert json.loads(done.stdout)["skipped"] == {"a.jsonl": {"malformed JSON": 2, "field null": 1}}


def test_dropped_lines_and_bad_bytes_are_reported(run: Run, tmp_path: Path) -> None:
    text = "\n".join([*made_up_lines(), "▅ mark"]).encode() + b"\n\xff\xfe"
    (tmp_path / "a.txt").write_bytes(text)
    done = run("train", "a.txt", "--out", "out", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "1 line with U+2585" in done.stderr
    assert "2 bytes of invalid UTF-8" in done.stderr


def test_size_not_divisible_by_128(run: Run, text_file: Path) -> None:
    done = run("train", text_file, "--dry-run", "--vocab-size", 500)
    assert "warning: vocab_size 500 is not divisible by 128" in done.stderr
    assert "512" in done.stderr
    assert "warning" not in run("train", text_file, "--dry-run", "--vocab-size", 512).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no-such.txt", "--out", "out"], 1, "no-such.txt: no such file or folder"),
        (["*.jsonl", "--out", "out"], 1, "*.jsonl: no file matches this pattern"),
        (["TEXT"], 2, "--out"),
        ([], 2, "INPUT"),
        (["TEXT", "--out", "out", "--set", "characer_coverage=1"], 2, 'did you mean "character_coverage"?'),
        (["TEXT", "--out", "out", "--set", "character_coverage=2"], 2, "character_coverage = 2"),
        (["TEXT", "--out", "out", "--set", "split_digits=maybe"], 2, "split_digits = 'maybe'"),
        (["TEXT", "--out", "out", "--set", "split_digits"], 2, "write it as key=value"),
        (["TEXT", "--out", "out", "--set", "vocab_size=9", "--vocab-size", "9"], 2, "give one of them"),
        (["TEXT", "--out", "out", "--vocab-size", "0"], 2, "vocab-size"),
        (["TEXT", "--out", "out", "--recipe", "fancy"], 2, "gpt-sw3"),
        (["TEXT", "--out", "out", "--threads", "0"], 2, "threads"),
        (["TEXT", "--out", "TEXT"], 1, "is a file, not a folder"),
        (["TEXT", "--out", "out", "--vocab-size", "64000"], 1, "at most"),
    ],
)
def test_mistakes(run: Run, tmp_path: Path, text_file: Path, arguments: list[str], code: int, message: str) -> None:
    done = run("train", *(str(text_file) if word == "TEXT" else word for word in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert files_in(tmp_path) == []


def test_all_mistakes_at_once(run: Run, text_file: Path) -> None:
    settings = ("nonsense", "characer_coverage=1", "pad_id=x")
    done = run("train", text_file, "--out", "out", *(word for text in settings for word in ("--set", text)))
    assert done.returncode == 2
    for part in ("nonsense", "characer_coverage", "pad_id"):
        assert part in done.stderr


def test_too_large_a_vocabulary_names_the_largest(run: Run, tmp_path: Path, text_file: Path) -> None:
    done = run("train", text_file, "--out", "out", "--recipe", "plain", "--vocab-size", 64_000)
    with pytest.raises(pw.VocabularyTooLargeError) as caught:
        pw.train(pw.count_words(made_up_lines()), pw.Recipe(vocab_size=64_000))
    assert f"at most {caught.value.largest:,}" in done.stderr
    fits = run("train", text_file, "--out", "out", "--recipe", "plain", "--vocab-size", caught.value.largest)
    assert fits.returncode == 0
    assert files_in(tmp_path) == SAVED


def test_verbose_shows_where_an_error_comes_from(run: Run) -> None:
    done = run("train", "no-such.txt", "--out", "out", "-v")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("data", ["", "\n\n\n", "\ufeff"])
def test_empty_text(run: Run, tmp_path: Path, data: str) -> None:
    (tmp_path / "a.txt").write_text(data, encoding="utf-8")
    done = run("train", "a.txt", "--out", "out")
    assert done.returncode == 1
    assert "error: no text in a.txt" in done.stderr
    assert files_in(tmp_path) == ["a.txt"]


def test_the_wrong_field(run: Run, tmp_path: Path) -> None:
    records = [json.dumps({"content": line}) for line in made_up_lines()]
    (tmp_path / "a.jsonl").write_text("\n".join(records), encoding="utf-8")
    done = run("train", "a.jsonl", "--out", "out")
    assert done.returncode == 1
    assert "400 field missing (a.jsonl:1)" in done.stderr
    assert "--text-field" in done.stderr
    assert run("train", "a.jsonl", "--out", "out", "--text-field", "content", *SMALL).returncode == 0


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_truncated_file(run: Run, tmp_path: Path, suffix: str) -> None:
    data = "\n".join(made_up_lines(4000)).encode()
    data = gzip.compress(data) if suffix == ".gz" else zstandard.compress(data)
    (tmp_path / f"a.txt{suffix}").write_bytes(data[: len(data) // 2])
    done = run("train", f"a.txt{suffix}", "--out", "out")
    assert done.returncode == 1
    assert f"a.txt{suffix}" in done.stderr
    assert "truncated" in done.stderr
    assert "Traceback" not in done.stderr
    assert files_in(tmp_path) == [f"a.txt{suffix}"]


def test_a_folder_that_cannot_be_written(tmp_path: Path, text_file: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    command = [*UNPRIVILEGED, *COMMAND, "train", str(text_file), "--out", "locked/out", *map(str, SMALL)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert "no permission" in done.stderr


def test_a_byte_level_preset(run: Run, tmp_path: Path, text_file: Path) -> None:
    options = ("--preset", "gpt4o", "--vocab-size", 300, "--set", "digits=ones")
    done = run("train", text_file, *options, "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["recipe"]["pre_tokenizer"] == {"name": "o200k", "digits": "ones"}
    cut = pw.PreTokenizer("o200k", "ones")
    counts = pw.count_pre_tokens([text_file.read_text(encoding="utf-8")], pre_tokenizer=cut)
    recipe = pw.Recipe.byte_level("gpt4o", vocab_size=300, pre_tokenizer=cut)
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == pw.train(counts, recipe).json_bytes
    wrong = run("train", text_file, "--preset", "gpt4o", "--set", "min_freqency=2", "--out", "other")
    assert wrong.returncode == 2
    assert 'did you mean "min_frequency"?' in wrong.stderr
    evaluated = run("evaluate", "out", "--data", text_file, "--language", "sv", "--json", "--metric", "partial_rate")
    assert evaluated.returncode == 0, evaluated.stderr
    assert json.loads(evaluated.stdout)["metrics"][0]["denominator"] > 0
