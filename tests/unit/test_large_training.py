"""Training on large text: rounds with a smaller text each, words in a stream, and a limit on memory."""

import json
import random
import subprocess
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from cli.command import COMMAND, environment
from piecework import _core
from piecework.cli.training_estimate import streamed_training_bytes
from piecework.counting.store import Counts
from piecework.counting.stream import WordStream
from piecework.counting.words import WordCounts

NEVER = 2**32 - 1
SETTINGS: dict[str, Any] = {
    "character_coverage": 1.0,
    "max_sentencepiece_length": 16,
    "split_by_unicode_script": True,
    "split_by_number": True,
    "split_digits": False,
    "add_dummy_prefix": True,
    "split_by_whitespace": True,
    "allow_whitespace_only_pieces": False,
    "treat_whitespace_as_suffix": False,
    "auto_character_coverage": False,
    "pretokenization_delimiter": "",
    "boundary": 9,
    "meta_pieces": ["<unk>"],
    "required_chars": "",
}


def made_up_counts(seed: int, letters: str, words: int) -> WordCounts:
    """Words of few letters: many repeats inside words, many equal frequencies, long tails of rare words."""
    draw = random.Random(seed)
    counts: dict[str, int] = {}
    for _ in range(words):
        word = "▁" + "".join(draw.choice(letters) for _ in range(min(2 + int(draw.expovariate(0.3)), 30)))
        counts[word] = counts.get(word, 0) + max(1, int(draw.paretovariate(0.9)))
    return WordCounts.from_mapping(counts)


def merges(words: Any, **changes: Any) -> list[tuple[str, int]]:
    result = _core.train(words, **{**SETTINGS, **changes})
    return list(result.merge_frequencies.items())


@pytest.mark.parametrize("letters", ["ab", "aab", "abcdefgh", "abcdeæøå"])
@pytest.mark.parametrize("vocab_size", [30, 300, 3_000, 1_000_000])
@pytest.mark.parametrize("minimum_frequency", [0, 1, 7])
def test_rounds_give_the_same_merges(letters: str, vocab_size: int, minimum_frequency: int) -> None:
    changes: dict[str, Any] = {"vocab_size": vocab_size, "minimum_frequency": minimum_frequency}
    for seed in range(4):
        table = made_up_counts(seed, letters, 600)._table
        assert merges(table, large_text=0, **changes) == merges(table, large_text=NEVER, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"split_by_whitespace": False},
        {"treat_whitespace_as_suffix": True},
        {"allow_whitespace_only_pieces": True},
        {"max_sentencepiece_length": 3},
        {"auto_character_coverage": True},
        {"character_coverage": 0.9},
    ],
)
def test_rounds_under_other_options(changes: dict[str, Any]) -> None:
    table = made_up_counts(5, "abcdeé1", 2_000)._table
    wanted: dict[str, Any] = {"vocab_size": 900, "minimum_frequency": 0, **changes}
    assert merges(table, large_text=0, **wanted) == merges(table, large_text=NEVER, **wanted)


def test_words_in_parts_give_the_same_merges() -> None:
    parts = [made_up_counts(seed, "abcde", 400) for seed in range(5)]
    passes = 0

    def read() -> Iterator[_core.WordTable]:
        nonlocal passes
        passes += 1
        return iter([part._table for part in parts])

    wanted: dict[str, Any] = {"vocab_size": 700, "minimum_frequency": 0}
    assert merges(read, **wanted) == merges(sum_of(parts)._table, **wanted)
    assert passes == 1
    # A word this frequent makes the guess of the last frequency too high, so training reads the words once more.
    parts.append(WordCounts.from_mapping({"ab": 10**9}))
    assert merges(read, **wanted) == merges(sum_of(parts)._table, **wanted)
    assert passes == 3


def sum_of(parts: list[WordCounts]) -> WordCounts:
    return reduce(WordCounts.__add__, parts)


def test_an_error_while_reading_reaches_the_caller() -> None:
    def read() -> Iterator[_core.WordTable]:
        yield made_up_counts(1, "abc", 50)._table
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        merges(read, vocab_size=100, minimum_frequency=0)


def piecework(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment()
    )


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study with two languages of different weights, counted."""
    folder = tmp_path_factory.mktemp("large")
    draw = random.Random(3)
    for language in ("sv", "da"):
        words = ["".join(draw.choice("aeiklnrst") for _ in range(draw.randint(2, 9))) for _ in range(400)]
        lines = (" ".join(draw.choices(words, k=12)) for _ in range(200))
        (folder / f"{language}.txt").write_text("\n".join(lines) + "\n")
    (folder / "study.toml").write_text(
        'name = "large"\n[corpus]\npath = "{language}.txt"\ndocuments = "line"\n[weights]\nlanguage = { sv = 2 }\n'
        '[sampling]\ntrain = "100%"\neval = "0%"\nweighting = "counts"\n[recipe]\npreset = "plain"\nvocab_size = 300\n'
    )
    done = piecework("count", folder / "study.toml", "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


def test_a_stream_trains_the_same_tokenizer(counted: Path) -> None:
    counts = Counts.load(counted)
    for language in (None, "sv"):
        stream = counts.training_stream(language=language)
        loaded = counts.training(language=language)
        assert isinstance(stream, WordStream)
        assert pw.train(stream, vocab_size=300).model_bytes == pw.train(loaded, vocab_size=300).model_bytes


def test_memory_on_the_command_line(counted: Path, tmp_path: Path) -> None:
    def train(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return piecework("train", "--counts", counted, "--recipe", "plain", "--vocab-size", 300, *arguments)

    assert train("--out", tmp_path / "loaded").returncode == 0
    done = train("--out", tmp_path / "streamed", "--memory", "1GB")
    assert done.returncode == 0, done.stderr
    assert "needs about" in done.stderr
    models = [(tmp_path / name / "tokenizer.model").read_bytes() for name in ("loaded", "streamed")]
    assert models[0] == models[1]
    refused = train("--out", tmp_path / "refused", "--memory", "20MB")
    assert refused.returncode == 1
    assert "--memory allows 20.0 MB" in refused.stderr
    assert not (tmp_path / "refused").exists()


def test_the_estimate_is_near_what_was_measured() -> None:
    """Rows and peak memory of trainings at 64,000 pieces: benchmarks/results/scale.json."""
    found = json.loads((Path(__file__).parents[2] / "benchmarks/results/scale.json").read_text())
    for size in found["generated"].values():
        assert streamed_training_bytes(size["rows"]) / 1e6 == pytest.approx(size["train"]["peak_memory_mb"], rel=0.25)
