"""Counts 200 MB of text and trains from the counts, under a memory limit: the tokenizer equals SentencePiece's.

The text is made up. It has more than two million distinct words, so training streams them from disk, in rounds.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import piecework as pw
from cli.command import COMMAND, environment
from piecework.cli.training_estimate import streamed_training_bytes
from piecework.counting.store import Counts
from sentencepiece_oracle import assert_same_model, sp_train_file

SIZE_BYTES = 200_000_000
VOCAB_SIZE = 16_000
SYLLABLES = [
    first + vowel + last for first in "bdfghklmnprstv" for vowel in "aeiouyåäö" for last in ("", "n", "r", "st")
]


def write_text(path: Path) -> None:
    """Words of one to three syllables by Zipf's law. A twentieth is spread evenly, so that many words occur once."""
    two = [a + b for a in SYLLABLES for b in SYLLABLES]
    words = np.array([*SYLLABLES, *two, *(a + b for a in SYLLABLES[:16] for b in two)], dtype=object)
    draw = np.random.default_rng(1)
    with path.open("w") as file:
        written = 0
        while written < SIZE_BYTES:
            # There are four million words. The 6 % of draws beyond them are folded back into the list.
            rows = words[draw.zipf(1.17, (100_000, 14)) % len(words)]
            written += file.write("".join(" ".join(row) + "\n" for row in rows.tolist()))


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
    distinct = len(counts.training())
    assert distinct > 2_000_000
    assert streamed_training_bytes(distinct) < 1e9
