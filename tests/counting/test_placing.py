"""Placing documents in the core: the same decisions as the sampler's definition in Python, document by document."""

import json
import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from piecework import _core
from piecework.common.subset_name import SubsetName
from piecework.corpus import open_batches
from piecework.corpus.passages import PassageChoice
from piecework.corpus.sampling import Sampler
from piecework.corpus.skipped import Skipped
from piecework.counting.tables import DocumentCounter

NAMES = [SubsetName("books", language) for language in ("sv", "da", "is")]
FRACTIONS = [Fraction(1), Fraction(1, 2), Fraction(1, 100), Fraction(0), Fraction(7, 3)]
WEIGHTS = [Fraction(1), Fraction(3), Fraction(1, 7), Fraction(0), Fraction(25, 2), Fraction(10**18 - 1)]


def texts(draw: random.Random) -> list[str]:
    """Texts of all lengths around the block size of the hash; some are empty."""
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


FIELDS = [
    '{"text": "hej"}',
    ' {"id": 1, "text": "hej", "more": {"text": [null, true, false, -1.5e+3, "]}", {}, []]}} ',
    '{"text": "a\\nb\\t\\"\\\\\\/\\b\\f\\r\\u00e5\\ud83d\\ude42\\u0000"}',
    '{"te\\u0078t": "en nyckel", "n\u00e4sta": "\\ud83d"}',
    '{"text": "g\u00e5ng p\u00e5 g\u00e5ng 🙂 och mer text \u00e4n sexton byte, \\u2028 med tecken"}',
    "",
    " \t\r",
    '{"text": "f\u00f6rst", "text": "sist"}',
    '{"a": 1e999, "b": 123456789012345678901234567890, "text": "stora tal"}',
]
BROKEN = [
    '{"text": ""}',
    '{"text": null}',
    '{"text": 1}',
    '{"other": "hej"}',
    "{}",
    "[]",
    '"text"',
    "\x0b",
    '{"text": "hej"',
    '{"text": "hej"}}',
    '{"text": "hej",}',
    '{"text": "hej" "a": 1}',
    "{'text': 'hej'}",
    '{"text": "hej", "a": 01}',
    '{"text": "hej", "a": 1.}',
    '{"text": "hej", "a": -}',
    '{"text": "hej", "a": 1e}',
    '{"text": "hej", "a": nul}',
    '{"text": "hej", "a": NaN}',
    '{"text": "hej", "a": [1, 2}',
    '{"text": "hej", "a": "\\x"}',
    '{"text": "hej", "a": "\\u12g4"}',
    '{"text": "tab\tinne"}',
    '{"text": "\\ud83d"}',
    '{"text": "\\ude42\\ud83d"}',
    '{"text": "\\ud83d\\u0041"}',
    '{"text": "hej", "a": ' + "[" * 5000 + "]" * 5000 + "}",
    '{"text": "hej", "a": ' + "[" * 500 + "]" * 500 + "}",
    '{"text": "\\',
    "{",
    '{"',
    '{"text',
]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_jsonl_as_an_arrow_array(end: str, tmp_path: Path) -> None:
    """The same documents and the same skipped records as line by line in Python."""
    draw = random.Random(1)
    path = tmp_path / "lines.jsonl"
    for number in range(120):
        lines = draw.choices(FIELDS, k=6)
        if number < len(BROKEN):
            lines[draw.randrange(6)] = BROKEN[number]
        path.write_bytes(("\n".join(lines) + end).encode("utf-8", "surrogatepass"))
        skipped, in_core = Skipped(), Skipped()
        (usual,) = open_batches([path], skipped=skipped)
        (arrow,) = open_batches([path], skipped=in_core, lines_as_arrow=True)
        documents = arrow.documents
        assert (documents if isinstance(documents, list) else documents.to_pylist()) == usual.documents, lines
        assert (arrow.lines, arrow.read_bytes) == (usual.lines, usual.read_bytes)
        assert in_core == skipped


def test_which_jsonl_is_read_in_the_core() -> None:
    """The core reads a block that is plainly valid. It returns None if a line needs a closer look."""

    def texts(lines: list[str], longest: int = 1000) -> list[str] | None:
        block = "\n".join(lines).encode("utf-8", "surrogatepass")
        columns = _core.json_documents(block, "text", longest=longest)
        if columns is None:
            return None
        offsets, data, newlines = columns
        assert newlines == block.count(b"\n")
        return [bytes(data[start:stop]).decode() for start, stop in pairwise(offsets)]

    plain = [FIELDS[number] for number in (0, 1, 2, 4, 5, 6, 8)]
    assert texts(plain) == [json.loads(line)["text"] for line in plain if line.strip()]
    assert texts(plain, longest=5) is None
    assert texts(["", *plain, "", " ", ""]) == texts(plain)
    assert texts([]) == []
    for line in BROKEN:
        assert texts([plain[0], line]) is None, line
    assert _core.json_documents(b'{"text": "\xff"}', "text", longest=9) is None


def test_texts_of_all_lengths_are_placed_alike() -> None:
    """Texts that are hashed side by side are placed as each text alone: for lengths up to some blocks, in any order."""
    name = NAMES[0]
    sampler = Sampler(seed=5, train=Fraction(1, 2), evaluation=Fraction(1, 4), weights={name: Fraction(1)})
    draw = random.Random(2)
    lengths = [*range(1, 400), 1000, 5000]
    for batch in (lengths, draw.sample(lengths, 300), draw.sample(lengths, 5), [700], []):
        documents = ["x" * length for length in batch]
        copies = [sampler.place(document.encode(), name) for document in documents]
        counter = DocumentCounter()
        placed = counter.add_placed(documents, sampler.placer(name), prefix=b"", passage=PassageChoice("sv"))
        words = [text for text, place in zip(documents, copies, strict=True) if place.copies]
        assert counter.take()["train"].column("word").to_pylist() == sorted(words)
        assert placed.eval[0] == sum(place.evaluation for place in copies)
