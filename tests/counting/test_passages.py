"""Passages and counts.json depend on the documents alone: not on files, their order, or their times."""

import os
import random
from pathlib import Path

import pytest

from counting.corpora import count_here, made_up_documents, make_study, write
from piecework.corpus.passages import CHARACTERS, Candidate, PassageChoice, cut_passage
from piecework.corpus.sampling import Placement
from piecework.counting.store import Counts


def placed(rank: int, *, evaluation: bool) -> Placement:
    return Placement(copies=0 if evaluation else 1, evaluation=evaluation, bucket=0, rank=rank)


def test_evaluation_documents_come_first_then_long_ones_then_the_hash() -> None:
    long = "Det var en gång. " * 12
    choice = PassageChoice("sv")
    for text, placement in (
        (long, placed(1, evaluation=False)),
        ("kort", placed(9, evaluation=True)),
        ("kortare", placed(5, evaluation=True)),
        (long + "tre", placed(8, evaluation=True)),
        (long + "fyra", placed(6, evaluation=True)),
        (long + "fem", placed(7, evaluation=True)),
        (long, placed(0, evaluation=False)),
        ("", placed(2, evaluation=True)),
    ):
        choice.offer(text.encode(), placement)
    assert choice.best == Candidate(is_trained_on=False, is_short=False, rank=6, text=(long + "fyra").strip())


def test_what_is_cut() -> None:
    assert cut_passage("  ", "sv") == ""
    text = "En mening. " * 60
    passage = cut_passage(text, "sv")
    assert text.startswith(passage)
    assert passage.endswith(".")
    assert len(passage) <= CHARACTERS
    assert cut_passage("import a\n\n" + "def f():\n    return 1\n\n" * 9, "code").startswith("def f():")


@pytest.mark.parametrize("layout", ["shuffled", "two files", "other shards", "touched", "compressed"])
def test_the_same_for_every_layout(tmp_path: Path, layout: str) -> None:
    documents = made_up_documents(400)
    write(tmp_path / "one" / "a_x-0.jsonl", documents)
    other = tmp_path / "other"
    if layout == "shuffled":
        write(other / "a_x-0.jsonl", random.Random(1).sample(documents, len(documents)))
    elif layout == "two files":
        write(other / "a_x-0.jsonl", documents[150:])
        write(other / "a_x-1.jsonl", documents[:150])
    elif layout == "compressed":
        write(other / "a_x-0.jsonl.zst", documents)
    else:
        write(other / "a_x-0.jsonl", documents)
        if layout == "touched":
            os.utime(other / "a_x-0.jsonl", (1, 1))
    for folder in (tmp_path / "one", other):
        shard_bytes = 3_000 if layout == "other shards" and folder == other else None
        count_here(make_study(folder), folder / "out" / "counts", shard_bytes=shard_bytes)
    first, second = (Counts.load(folder / "out").description for folder in (tmp_path / "one", other))
    assert first["passages"]
    for key in ("passages", "tables", "subsets", "skipped", "counting_key"):
        assert first[key] == second[key]
    if layout in ("touched", "other shards", "shuffled"):
        files = [folder / "out/counts/counts.json" for folder in (tmp_path / "one", other)]
        assert files[0].read_bytes() == files[1].read_bytes()
