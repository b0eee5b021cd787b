"""Readers: every format gives the same documents, and every unusable record is counted once, by reason."""

import gzip
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from piecework import _core
from piecework.corpus import Batch, Reason, Skipped, find_files, limits, open_batches, readers, streams
from piecework.corpus.inputs import Slice
from piecework.corpus.streams import line_blocks, whole_lines
from piecework.errors import InputError

TEXTS = [
    "Hej världen",
    "góðan dag\nannan dag",
    "emoji 🙂\u2028",
    " spaces  \tand\ttabs ",
    "\r\n",
    "a\u0000b",
    "x" * 5000,
]


def documents(*paths: Path, skipped: Skipped | None = None, **options: object) -> list[str]:
    """All documents as strings, for every kind of batch."""
    found: list[str] = []
    for batch in open_batches(paths, skipped=skipped, **options):  # type: ignore[arg-type]
        for document in as_list(batch):
            found.append(document.decode() if isinstance(document, bytes) else document)
    return found


def as_list(batch: Batch) -> list[str | bytes]:
    return batch.documents.to_pylist() if hasattr(batch.documents, "to_pylist") else list(batch.documents)


def jsonl(texts: Iterable[str], field: str = "text") -> bytes:
    return "".join(json.dumps({"id": 7, field: text}, ensure_ascii=False) + "\n" for text in texts).encode()


def write(path: Path, data: bytes) -> Path:
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = zstandard.compress(data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def write_parquet(path: Path, column: pyarrow.Array, **options: object) -> Path:
    table = pyarrow.table({"id": pyarrow.array(range(len(column))), "text": column})
    pyarrow.parquet.write_table(table, path, **options)
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "A.JSONL"])
def test_jsonl(tmp_path: Path, name: str, suffix: str) -> None:
    assert documents(write(tmp_path / (name + suffix), jsonl(TEXTS))) == TEXTS


@pytest.mark.parametrize("options", [{}, {"row_group_size": 2}, {"compression": "zstd"}, {"use_dictionary": False}])
@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        pyarrow.binary(),
        pyarrow.large_binary(),
    ],
    ids=str,
)
def test_parquet(tmp_path: Path, kind: pyarrow.DataType, options: dict[str, object]) -> None:
    values = [text.encode() for text in TEXTS] if "binary" in str(kind) else TEXTS
    column = pyarrow.array(values, kind)
    path = write_parquet(tmp_path / "a.parquet", column, **options)
    assert documents(path) == TEXTS
    assert documents(path, batch_bytes=100) == TEXTS


@pytest.mark.parametrize("name", ["a.txt", "a.text", "a.md", "a.py", "a", "a.txt.gz", "a.txt.zst", "a.py.gz", "a.gz"])
def test_text(tmp_path: Path, name: str) -> None:
    text = "\n".join(TEXTS)
    assert "".join(documents(write(tmp_path / name, text.encode()))) == text


def test_another_field(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", jsonl(["hej"], field="content"))
    assert documents(path, text_field="content") == ["hej"]


def test_text_blocks_end_after_a_line(tmp_path: Path) -> None:
    lines = [b"%d %s\n" % (number, b"x" * (number % 300)) for number in range(40_000)]
    path = write(tmp_path / "a.txt", b"".join(lines))
    batches = list(open_batches([path], batch_bytes=1 << 20))
    assert len(batches) > 3
    assert all(as_list(batch)[0].endswith(b"\n") for batch in batches)  # type: ignore[arg-type]
    assert b"".join(as_list(batch)[0] for batch in batches) == b"".join(lines)  # type: ignore[misc]


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"b", b"\n"))), st.integers(1, 12))
@settings(max_examples=300)
def test_whole_lines_loses_nothing(chunks: list[bytes], block_bytes: int) -> None:
    blocks = [block.data for block in whole_lines(iter(chunks), block_bytes)]
    assert b"".join(blocks) == b"".join(chunks)
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(blocks)


@given(st.binary(max_size=60).map(lambda data: data.replace(b"b", b"\n")), st.integers(1, 12))
@settings(max_examples=300)
def test_blocks_of_a_file_lose_nothing(data: bytes, block_bytes: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        blocks = list(line_blocks(Path(file.name), None, block_bytes))
    assert b"".join(block.data for block in blocks) == data
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])
    assert all(len(block.data) == block.read_bytes > 0 for block in blocks)


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_line_of_20_megabytes(tmp_path: Path, suffix: str) -> None:
    texts = ["before", "long " * 4_000_000, "after"]
    assert documents(write(tmp_path / f"a.jsonl{suffix}", jsonl(texts))) == texts
    blocks = documents(write(tmp_path / f"a.txt{suffix}", "\n".join(texts).encode()))
    assert "".join(blocks) == "\n".join(texts)
    assert any(texts[1] in block for block in blocks)


@pytest.mark.parametrize("change", [lambda data: b"\xef\xbb\xbf" + data, lambda data: data.rstrip(b"\n")])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_byte_order_mark_and_missing_last_newline(tmp_path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    skipped = Skipped()
    assert documents(write(tmp_path / name, change(jsonl(TEXTS))), skipped=skipped) == TEXTS
    assert skipped.total == 0


def test_carriage_returns_and_blank_lines(tmp_path: Path) -> None:
    skipped = Skipped()
    data = b'{"text": "a"}\r\n\r\n  \n{"text": "b"}\r\n\n'
    assert documents(write(tmp_path / "a.jsonl", data), skipped=skipped) == ["a", "b"]
    assert skipped.total == 0
    # In text a carriage return is a character like any other; only the mark at the start is dropped.
    assert documents(write(tmp_path / "a.txt", b"\xef\xbb\xbfa\r\n\xef\xbb\xbfb")) == ["a\r\n\ufeffb"]


def test_each_reason_is_counted(tmp_path: Path) -> None:
    lines = [
        b'{"text": "good"}',
        b'{"text": "cut',
        b"no json",
        b'{"text": NaN}',
        b'{"text": "tab\tinside"}',
        b'["text"]',
        b'"text"',
        b"null",
        b"{}",
        b'{"Text": "x"}',
        b'{"text": null}',
        b'{"text": 1}',
        b'{"text": ["x"]}',
        b'{"text": {"text": "x"}}',
        b'{"text": true}',
        b'{"text": "\xff"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\\ud800"}',
        b'{"text": "\\udc00\\ud800"}',
        b'{"text": ""}',
        b'{"text": "also good"}',
    ]
    path = write(tmp_path / "a.jsonl", b"\n".join(lines))
    skipped = Skipped()
    assert documents(path, skipped=skipped) == ["good", "also good"]
    assert skipped.by_reason() == {
        Reason.MALFORMED_JSON: 4,
        Reason.NOT_AN_OBJECT: 3,
        Reason.FIELD_MISSING: 2,
        Reason.FIELD_NULL: 1,
        Reason.NOT_A_STRING: 4,
        Reason.INVALID_UTF8: 2,
        Reason.LONE_SURROGATE: 2,
        Reason.EMPTY: 1,
    }
    assert skipped.total == len(lines) - 2
    assert skipped.locations(Reason.MALFORMED_JSON) == [f"{path}:{line}" for line in (2, 3, 4)]
    assert skipped.locations(Reason.EMPTY) == [f"{path}:20"]
    assert documents(path, batch_bytes=1) == ["good", "also good"]


def test_line_numbers_go_on_from_block_to_block(tmp_path: Path) -> None:
    lines = [b'{"text": "%s"}' % (b"x" * 1000)] * 5000 + [b"bad"]
    path = write(tmp_path / "a.jsonl", b"\n".join(lines))
    skipped = Skipped()
    assert len(documents(path, skipped=skipped, batch_bytes=1 << 20)) == 5000
    assert skipped.locations(Reason.MALFORMED_JSON) == [f"{path}:5001"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "a", "n": 1e999}',
        b'{"text": "a", "other": "\\ud800"}',
        b'{"text": "a", "n": ' + b"9" * 5000 + b"}",
        b'{"text": "b", "text": "a"}',
    ],
)
def test_a_flaw_in_another_field_does_no_harm(tmp_path: Path, line: bytes) -> None:
    assert documents(write(tmp_path / "a.jsonl", line)) == ["a"]


def test_a_record_nested_too_deeply(tmp_path: Path) -> None:
    skipped = Skipped()
    line = b'{"text": "a", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert documents(write(tmp_path / "a.jsonl", line), skipped=skipped) == []
    assert skipped.by_reason() == {Reason.MALFORMED_JSON: 1}


@pytest.mark.parametrize("batch_bytes", [1, 16 << 20])
def test_reasons_in_parquet(tmp_path: Path, batch_bytes: int) -> None:
    values = [b"good", None, b"", b"\xff", None, b"also good", b"\xc3"]
    column = pyarrow.array(values, pyarrow.binary()).view(pyarrow.string())
    path = write_parquet(tmp_path / "a.parquet", column, row_group_size=3)
    skipped = Skipped()
    assert documents(path, skipped=skipped, batch_bytes=batch_bytes) == ["good", "also good"]
    assert skipped.by_reason() == {Reason.FIELD_NULL: 2, Reason.INVALID_UTF8: 2, Reason.EMPTY: 1}
    assert skipped.locations(Reason.FIELD_NULL) == [f"{path}: row 2", f"{path}: row 5"]
    assert skipped.locations(Reason.INVALID_UTF8)[0] == f"{path}: row 4"


def test_a_parquet_column_of_another_type(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", pyarrow.array([1, None, 3]))
    skipped = Skipped()
    assert documents(path, skipped=skipped) == []
    assert skipped.by_reason() == {Reason.FIELD_NULL: 1, Reason.NOT_A_STRING: 2}


def test_a_parquet_file_without_the_column(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", pyarrow.array(["a", "b", "c"]))
    skipped = Skipped()
    assert documents(path, skipped=skipped, text_field="content") == []
    assert skipped.by_reason() == {Reason.FIELD_MISSING: 3}


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.parquet", "a.txt.gz", "a.jsonl.zst"])
def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    texts = [f"{number} {number * 2654435761 % 2**32} {'word ' * 100}" for number in range(9000)]
    if name.endswith("parquet"):
        write_parquet(path, pyarrow.array(texts), row_group_size=700)
    else:
        write(path, jsonl(texts))
    batches = list(open_batches([path], batch_bytes=1 << 18))
    assert len(batches) > 5
    assert sum(batch.read_bytes for batch in batches) == path.stat().st_size
    assert {batch.file.path for batch in batches} == {path}


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.txt.zst", "a.jsonl.zst", "zero.gz", "zero.zst"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.startswith("zero"):
        path.touch()
    else:
        write(path, b"")
    skipped = Skipped()
    assert documents(path, skipped=skipped) == []
    assert skipped.total == 0


def test_an_empty_parquet_file(tmp_path: Path) -> None:
    assert documents(write_parquet(tmp_path / "a.parquet", pyarrow.array([], pyarrow.string()))) == []


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.txt.zst", "a.jsonl.zst", "a.parquet"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_truncated_files(tmp_path: Path, name: str, kept: float) -> None:
    path = tmp_path / name
    texts = [str(number) for number in range(20_000)]
    if name.endswith("parquet"):
        write_parquet(path, pyarrow.array(texts))
    else:
        write(path, jsonl(texts))
    os.truncate(path, int(path.stat().st_size * kept))
    with pytest.raises(InputError, match="truncated") as caught:
        documents(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.zst", "a.parquet"])
def test_files_that_are_not_what_their_name_says(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"this is plain text\n" * 100)
    with pytest.raises(InputError, match="not a valid") as caught:
        documents(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("pad", [b"", b"\0" * 10_000])
def test_several_members_and_frames(tmp_path: Path, pad: bytes) -> None:
    parts = [b"first\n" * 3000, b"", b"second\n", bytes(range(32, 127)) * 500]
    (tmp_path / "a.gz").write_bytes(pad.join(gzip.compress(part) for part in parts) + pad)
    (tmp_path / "a.zst").write_bytes(b"".join(zstandard.compress(part) for part in parts))
    expected = b"".join(parts).decode()
    assert "".join(documents(tmp_path / "a.gz")) == "".join(documents(tmp_path / "a.zst")) == expected


def test_a_very_compressible_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt.zst", b"a\n" * (32 << 20))
    assert sum(len(batch.documents[0]) for batch in open_batches([path])) == 64 << 20


def test_folders_globs_and_order(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ["b/z.txt", "b/c/y.jsonl", "a.md", "code.py", ".hidden.txt", ".git/config.txt"]:
        (tmp_path / name).write_bytes(b"{}\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    write(tmp_path / "archive.tar.gz", b"name\0\0\0")
    write(tmp_path / "script.sh.gz", b"echo\n")

    def found(*patterns: str) -> list[str]:
        return [str(file.path.relative_to(tmp_path)) for file in find_files(str(tmp_path / p) for p in patterns)]

    assert found("") == ["a.md", "b/c/y.jsonl", "b/z.txt", "code.py", "script.sh.gz"]
    assert found("b/z.txt", "a.md") == ["b/z.txt", "a.md"]
    assert found("*.md") == ["a.md"]
    assert found("**/*.txt", "b/*/*.jsonl") == ["b/z.txt", "b/c/y.jsonl"]
    assert found("*.png") == ["picture.png"]
    (tmp_path / "a[1].txt").touch()
    assert found("a[1].txt") == ["a[1].txt"]


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no-such\.txt: no such file or folder"):
        open_batches([tmp_path / "no-such.txt"])
    with pytest.raises(InputError, match=r"\*\.jsonl: no file matches"):
        open_batches([tmp_path / "*.jsonl"])
    with pytest.raises(InputError, match="no readable file"):
        open_batches([tmp_path])
    (tmp_path / "a.parquet.gz").touch()
    with pytest.raises(InputError, match=r"a\.parquet\.gz.*decompress"):
        open_batches([tmp_path / "a.parquet.gz"])


def test_a_pipe() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"a line\nanother")
    os.close(write_end)
    assert documents(Path(f"/dev/fd/{read_end}")) == ["a line\nanother"]
    os.close(read_end)


def test_skipped_adds_up() -> None:
    first, second = Skipped(), Skipped()
    first.add("a", Reason.EMPTY, [1])
    for line in range(5):
        second.add("a", Reason.EMPTY, [line + 2])
    second.add("b", Reason.FIELD_NULL, [9], count=1000)
    first.update(second)
    assert first.by_file() == {"a": {Reason.EMPTY: 6}, "b": {Reason.FIELD_NULL: 1000}}
    assert first.locations(Reason.EMPTY) == ["a:1", "a:2", "a:3"]
    assert str(first) == "1,006 records skipped: 1,000 field null (b:9), 6 empty (a:1)"
    assert str(Skipped()) == "no record skipped"


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents of at most 100 bytes, and words of at most 40."""
    for module in (limits, readers, streams):
        if hasattr(module, "MAX_DOCUMENT_BYTES"):
            monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", 100)
        if hasattr(module, "MAX_WORD_BYTES"):
            monkeypatch.setattr(module, "MAX_WORD_BYTES", 40)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("batch_bytes", [1, 64, 4096])
def test_long_documents_and_words_are_skipped(tmp_path: Path, suffix: str, batch_bytes: int) -> None:
    lines = ["a b", "x " * 50, "x " * 50 + "y", "w" * 40, "w" * 41, "", "å" * 20, "å" * 21, "c" * 500, "end"]
    kept = [lines[number] for number in (0, 1, 3, 6, 9)]
    path = write(tmp_path / f"a.txt{suffix}", "\n".join(lines).encode())
    for unit in ("line", "block"):
        skipped = Skipped()
        batches = open_batches([path], text_unit=unit, batch_bytes=batch_bytes, skipped=skipped)
        found = [text for batch in batches for text in as_list(batch)]
        if unit == "block":
            found = [line.decode() for block in found for line in block.split(b"\n") if line]  # type: ignore[union-attr,arg-type]
        assert found == kept
        assert skipped.by_reason() == {Reason.TOO_LONG: 2, Reason.WORD_TOO_LONG: 2}
        assert skipped.locations(Reason.TOO_LONG) == [f"{path}:3", f"{path}:9"]
        assert skipped.locations(Reason.WORD_TOO_LONG) == [f"{path}:5", f"{path}:8"]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_long_lines_of_jsonl_and_slices(tmp_path: Path, suffix: str) -> None:
    texts = ["one", "x " * 60, "two", "w" * 60, "y" * 1000, "three"]
    path = write(tmp_path / f"a.jsonl{suffix}", jsonl(texts))
    [file] = find_files([path])
    size = file.size_bytes
    cuts = [0, size // 3, size // 2, size] if not suffix else [0, None]
    skipped = Skipped()
    found: list[object] = []
    for start, stop in pairwise(cuts):
        part = Skipped()
        batches = open_batches([Slice(file, start or 0, stop)], batch_bytes=7, skipped=part)
        found += [text for batch in batches for text in as_list(batch)]
        skipped.update(part)
    assert found == ["one", "two", "three"]
    assert skipped.by_reason() == {Reason.TOO_LONG: 2, Reason.WORD_TOO_LONG: 1}


@pytest.mark.usefixtures("small_limits")
def test_long_files_and_values(tmp_path: Path) -> None:
    for name, text in {"a": "x " * 60, "b": "w" * 50, "c": "fine"}.items():
        write(tmp_path / f"{name}.txt", text.encode())
    skipped = Skipped()
    batches = open_batches([tmp_path], text_unit="file", skipped=skipped)
    assert [text for batch in batches for text in as_list(batch)] == ["fine"]
    assert skipped.by_file() == {
        str(tmp_path / "a.txt"): {Reason.TOO_LONG: 1},
        str(tmp_path / "b.txt"): {Reason.WORD_TOO_LONG: 1},
    }
    path = tmp_path / "p.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["x " * 60, None, "w" * 50, "fine", ""]}), path)
    skipped = Skipped()
    assert [text for batch in open_batches([path], skipped=skipped) for text in as_list(batch)] == ["fine"]
    assert skipped.by_reason() == {
        Reason.FIELD_NULL: 1,
        Reason.EMPTY: 1,
        Reason.TOO_LONG: 1,
        Reason.WORD_TOO_LONG: 1,
    }


@given(st.text("ab \n", max_size=300), st.integers(1, 30))
def test_long_words_are_found(text: str, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_WORD_BYTES", limit)
        assert limits.has_long_word(text.encode()) == any(len(word) > limit for word in re.split("[ \n]", text))


def test_files_with_several_names_are_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    path = write(folder / "deep" / "a.txt", b"hej")
    (folder / "deep" / "loop").symlink_to(folder)
    (folder / "link.txt").symlink_to(path)
    os.link(path, folder / "deep" / "hard.txt")
    assert [file.path.name for file in find_files([folder])] == ["link.txt"]
    assert [file.path.name for file in find_files([str(folder / "**" / "*.txt")])] == ["link.txt"]
    # A file that is given twice is read twice.
    assert len(find_files([path, path])) == 2


def test_a_pipe_that_nothing_writes_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PIPE_WAIT_S", 0.2)
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    with pytest.raises(InputError, match="a named pipe that nothing writes to"):
        list(open_batches([path]))

    def write_late() -> None:
        with path.open("wb") as file:
            time.sleep(0.5)
            file.write(b"hej\n")

    monkeypatch.setattr(streams, "PIPE_WAIT_S", 60.0)
    thread = threading.Thread(target=write_late)
    thread.start()
    assert [text for batch in open_batches([path], text_unit="line") for text in as_list(batch)] == ["hej"]
    thread.join()


def test_line_feeds_are_counted_in_blocks_and_in_the_rest() -> None:
    for size in (0, 1, 239, 240, 241, 700):
        for data in (b"\n" * size, b"a\n" * (size // 2), b"x" * size, (bytes(range(256)) * 3)[:size]):
            assert _core.count_newlines(data) == data.count(b"\n")
