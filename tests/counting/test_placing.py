"""Placing documents in the core: the same decisions as the sampler's definition in Python, document by document."""

import random
from fractions import Fraction
from pathlib import Path

import pytest

from piecework import _core
from piecework.common.subset_name import SubsetName
from piecework.corpus import open_batches
from piecework.corpus.passages import PassageChoice
from piecework.corpus.sampling import Sampler
from piecework.counting.tables import DocumentCounter

NAMES = [SubsetName("books", language) for language in ("sv", "da", "is")]
FRACTIONS = [Fraction(1), Fraction(1, 2), Fraction(1, 100), Fraction(0), Fraction(7, 3)]
WEIGHTS = [Fraction(1), Fraction(3), Fraction(1, 7), Fraction(0), Fraction(25, 2), Fraction(10**18 - 1)]


def texts(draw: random.Random) -> list[str]:
    """Of all lengths around the blocks of the hash, some empty."""
    lengths = [*range(130), *(draw.randrange(128 * n - 2, 128 * n + 3) for n in range(1, 9)), 5000]
    return ["".join(draw.choice("abc åäö ▁\n🙂") for _ in range(length)) for length in lengths]


@pytest.mark.parametrize("number", range(40))
def test_the_core_places_as_the_sampler_does(number: int) -> None:
    draw = random.Random(number)
    weights = {name: draw.choice(WEIGHTS) for name in NAMES}
    evaluation = draw.choice([Fraction(0), Fraction(1, 500), Fraction(1, 30), Fraction(1, 10**20)])
    if max(weights.values()) * evaluation > Fraction(1, 2):
        evaluation = Fraction(0)
    sampler = Sampler(
        seed=draw.choice([0, 1, 2**64 - 1, draw.randrange(2**64)]),
        train=draw.choice(FRACTIONS),
        evaluation=evaluation,
        weights=weights,
        weighting=draw.choice(["documents", "counts"]),
    )
    for name in NAMES:
        placer = sampler.placer(name)
        for text in texts(draw):
            placed = sampler.place(text.encode(), name)
            assert placer.place(text.encode()) == (placed.copies, placed.evaluation, placed.bucket, placed.rank)


@pytest.mark.parametrize("prefix", [b"", b"<|python|>"])
def test_a_batch_is_counted_as_its_documents_are(prefix: bytes) -> None:
    draw = random.Random(7)
    name = NAMES[0]
    sampler = Sampler(seed=3, train=Fraction(1, 2), evaluation=Fraction(1, 8), weights={name: Fraction(4)})
    documents = [text for text in texts(draw) if text]
    expected, whole = DocumentCounter(), DocumentCounter()
    best, offered = PassageChoice("sv"), PassageChoice("sv")
    sides: dict[str, list[str]] = {"train": [], "eval": [], "unused": []}
    copies = 0
    for text in documents:
        placement = sampler.place(text.encode(), name)
        best.offer(text.encode(), placement)
        side = "eval" if placement.evaluation else "train" if placement.copies else "unused"
        sides[side].append(text)
        copies += placement.copies
        if placement.evaluation:
            expected.add_evaluation([text], [placement.bucket], prefix)
        elif placement.copies:
            expected.add_training([prefix + text.encode()], placement.copies)
    for batch in (documents[:50], documents[50:]):
        placed = whole.add_placed(batch, sampler.placer(name), prefix=prefix, passage=offered)
        for index in placed.passages:
            offered.offer(batch[index].encode(), sampler.place(batch[index].encode(), name))
        for side in sides:
            rest = [text for text in batch if text in sides[side]]
            sizes = (len(rest), sum(map(len, rest)), sum(len(text.encode()) for text in rest))
            assert getattr(placed, side) == sizes
        copies -= placed.train_copies
    assert copies == 0
    assert offered.best == best.best
    assert whole.take() == expected.take()


BLANK = ["", " ", "\t", "\r", " \u00a0\u2003", "\x1c\x1f", "\x85", "\u3000\r"]
FULL = ["hej", " hej ", "hej\r", "\rhej", "hej\r\r", "\u200b", "▁", "å\x00", "🙂\u2028", "\ufeff"]


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\n\n"])
def test_lines_as_an_arrow_array(end: str, tmp_path: Path) -> None:
    draw = random.Random(1)
    path = tmp_path / "lines.txt"
    for _ in range(50):
        path.write_bytes(("\n".join(draw.choices(BLANK + FULL, k=20)) + end).encode())
        (usual,) = open_batches([path], text_unit="line")
        (arrow,) = open_batches([path], text_unit="line", lines_as_arrow=True)
        documents = arrow.documents
        assert not isinstance(documents, list)
        assert documents.to_pylist() == usual.documents  # type: ignore[union-attr]
        assert (arrow.lines, arrow.read_bytes) == (usual.lines, usual.read_bytes)


def test_a_block_with_invalid_bytes_is_read_line_by_line(tmp_path: Path) -> None:
    assert _core.line_documents(b"a\nb\xff\n") is None
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\nb\xff\nc")
    (batch,) = open_batches([path], text_unit="line", lines_as_arrow=True)
    assert batch.documents == ["a", "c"]
