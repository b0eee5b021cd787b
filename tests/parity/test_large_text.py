"""Text to counts on disk to a tokenizer, under a limit on memory: the tokenizer that SentencePiece trains.

3 MB of made-up text; with PIECEWORK_PARITY=all 200 MB, whose words come from disk in a stream, and train in rounds.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from cli.command import COMMAND, environment
from piecework.cli.training_estimate import streamed_training_bytes
from piecework.counting.store import Counts
from sentencepiece_oracle import assert_same_model, sp_train_file

EVERYTHING = os.environ.get("PIECEWORK_PARITY") == "all"
SIZE_BYTES = 200_000_000 if EVERYTHING else 3_000_000
VOCAB_SIZE = 64_000 if EVERYTHING else 4_000
SYLLABLES = [
    first + vowel + last for first in "bdfghklmnprstv" for vowel in "aeiouyåäö" for last in ("", "n", "r", "st")
]


def write_text(path: Path) -> None:
    """Words of one to five syllables, by Zipf's law; the rarest occur once, as in real text."""
    draw = np.random.default_rng(1)
    with path.open("w") as file:
        written = 0
        while written < SIZE_BYTES:
            numbers = draw.zipf(1.25, 400_000)
            words = [word_of(number) for number in numbers.tolist()]
            lines = [" ".join(words[start : start + 14]) for start in range(0, len(words), 14)]
            text = "\n".join(lines) + "\n"
            written += file.write(text)


def word_of(number: int) -> str:
    """A word of its own for each number; large numbers give long words."""
    word = ""
    while number and len(word) < 15:
        number, index = divmod(number, len(SYLLABLES))
        word += SYLLABLES[index]
    return word


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    write_text(folder / "text_sv.txt")
    (folder / "study.toml").write_text(
        'name = "large"\n[corpus]\npath = "text_{language}.txt"\ndocuments = "line"\n'
        '[sampling]\ntrain = "100%"\neval = "0%"\n[recipe]\npreset = "plain"\n'
    )
    piecework("count", folder / "study.toml", "--out", folder / "out", "--memory", "400MB")
    return folder


def piecework(*arguments: object) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.slow
def test_large_text_gives_the_tokenizer_of_sentencepiece(counted: Path) -> None:
    recipe = pw.Recipe(vocab_size=VOCAB_SIZE)
    said = piecework(
        "train", "--counts", counted / "out", "--out", counted / "tokenizer", "--vocab-size", VOCAB_SIZE,
        "--recipe", "plain", "--memory", "1GB",
    )  # fmt: skip
    assert "needs about" in said
    ours = (counted / "tokenizer" / "tokenizer.model").read_bytes()
    assert_same_model(ours, sp_train_file(counted / "text_sv.txt", recipe))
    counts = Counts.load(counted / "out")
    assert pw.train(counts.training_stream(), recipe).model_bytes == ours
    assert streamed_training_bytes(len(counts.training())) < 1e9
