"""Shards: they cover every record once, however files are cut, and depend on nothing but files and settings."""

import os
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from piecework.common.subset_name import SubsetName
from piecework.corpus import Slice, find_files, open_batches
from piecework.corpus.streams import lines_before
from piecework.counting.machine import LARGEST_MERGE_BYTES, Budget, free_memory_bytes, parse_size
from piecework.counting.shards import Shard, plan_shards
from piecework.errors import InputError
from piecework.study.subsets import Subset


def subset(*paths: Path, **changes: Any) -> Subset:
    settings: dict[str, Any] = {
        "name": SubsetName("books", "sv"),
        "files": tuple(find_files(sorted(paths))),
        "text_field": "text",
        "documents": "line",
        "code_token": None,
        "weight": Fraction(1),
    }
    return Subset(**settings | changes)


def plan(*paths: Path, shard_bytes: int | None = None, folder: Path = Path(), **changes: Any) -> list[Shard]:
    return plan_shards([subset(*paths, **changes)], "settings", folder=folder, shard_bytes=shard_bytes)


def read(slices: list[Slice], **options: Any) -> list[str]:
    batches = open_batches(slices, text_unit="line", **options)
    return [document for batch in batches for document in _as_list(batch.documents)]


def _as_list(documents: Any) -> list[str]:
    return documents.to_pylist() if hasattr(documents, "to_pylist") else list(documents)


@given(
    data=st.lists(st.sampled_from(["", "a", "bb", "å", "cccccc", "\r", " "])).map("\n".join),
    ends_with_newline=st.booleans(),
    shard_bytes=st.integers(1, 9),
    batch_bytes=st.integers(1, 9),
)
@example(data="aaaa\nb", ends_with_newline=False, shard_bytes=1, batch_bytes=1)
def test_every_line_is_in_one_slice(data: str, ends_with_newline: bool, shard_bytes: int, batch_bytes: int) -> None:
    content = (data + "\n" * ends_with_newline).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_bytes(content)
        whole = [line.removesuffix("\r") for line in content.decode().split("\n") if line and not line.isspace()]
        shards = plan(path, shard_bytes=shard_bytes)
        slices = [part for shard in shards for part in shard.slices]
        found = read(slices, batch_bytes=batch_bytes)
        assert found == whole
        assert sum(shard.size_bytes for shard in shards) == len(content)
        # Progress and the lines before a slice add up too.
        line_number = 0
        for part in slices:
            assert lines_before(path, part.start) == line_number or part.start == 0
            line_number += sum(batch.lines for batch in open_batches([part], text_unit="line", batch_bytes=batch_bytes))
        assert line_number == content.count(b"\n")
        read_bytes = sum(batch.read_bytes for batch in open_batches(slices, text_unit="line"))
        assert read_bytes == len(content)


def test_a_byte_order_mark_only_at_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffa\n\ufeffb\n".encode())
    slices = [part for shard in plan(path, shard_bytes=3) for part in shard.slices]
    assert len(slices) > 1
    assert read(slices) == ["a", "\ufeffb"]


def test_parquet_is_cut_between_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = [f"{number} {os.urandom(20).hex()}" for number in range(1000)]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path, row_group_size=100)
    shards = plan(path, shard_bytes=path.stat().st_size // 4)
    assert len(shards) in (4, 5)
    assert sum(shard.size_bytes for shard in shards) == path.stat().st_size
    slices = [part for shard in shards for part in shard.slices]
    assert [(part.start, part.stop) for part in slices] == sorted((part.start, part.stop) for part in slices)
    assert read(slices) == texts
    for shard in shards:
        assert sum(batch.read_bytes for batch in open_batches(shard.slices)) == shard.size_bytes


def test_what_is_compressed_or_one_document_is_whole(tmp_path: Path) -> None:
    text = b"word " * 5000
    (tmp_path / "a.txt.zst").write_bytes(zstandard.compress(os.urandom(50_000)))
    (tmp_path / "b.txt").write_bytes(text)
    assert [part.stop for shard in plan(tmp_path / "a.txt.zst", shard_bytes=1000) for part in shard.slices] == [None]
    whole = plan(tmp_path / "b.txt", shard_bytes=1000, documents="file")
    assert [part.stop for shard in whole for part in shard.slices] == [None]
    assert len(plan(tmp_path / "b.txt", shard_bytes=1000)) == 25


def test_small_files_are_few_shards_and_large_ones_come_first(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number:04}.txt").write_bytes(b"x" * 100)
    (tmp_path / "z.txt.gz").write_bytes(os.urandom(90_000))
    shards = plan(*tmp_path.glob("*"), shard_bytes=40_000)
    assert [len(shard.slices) for shard in shards] == [1, *[100] * 10]
    assert len(plan(*tmp_path.glob("*"))) == 1


def test_a_corpus_of_terabytes_is_thousands_of_shards(tmp_path: Path) -> None:
    for number in range(50):
        with (tmp_path / f"{number}.jsonl").open("wb") as file:
            file.truncate(100_000_000_000)  # holes take no space
    assert 4500 <= len(plan(*tmp_path.glob("*"))) <= 5500


def test_keys_depend_on_files_and_settings_alone(tmp_path: Path) -> None:
    def keys(folder: Path, settings: str = "settings", **changes: Any) -> list[str]:
        subsets = [subset(*folder.glob("*.txt"), **changes)]
        return [shard.key for shard in plan_shards(subsets, settings, folder=folder, shard_bytes=10)]

    first, moved = tmp_path / "first", tmp_path / "moved"
    for folder in (first, moved):
        folder.mkdir()
        (folder / "a.txt").write_bytes(b"hello\n" * 10)
        os.utime(folder / "a.txt", ns=(7, 7))
    assert keys(first) == keys(moved)
    assert len(set(keys(first))) == 6
    for other in (
        keys(first, "others"),
        keys(first, text_field="content"),
        keys(first, code_token="<|python|>"),
        keys(first, name=SubsetName("books", "is")),
    ):
        assert set(other).isdisjoint(keys(first))
    os.utime(moved / "a.txt", ns=(7, 8))
    assert set(keys(moved)).isdisjoint(keys(first))


def test_weight_0_has_no_shards(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    assert plan(tmp_path / "a.txt", weight=Fraction(0)) == []


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"a\.txt: not a file that can be read again"):
        plan(tmp_path / "a.txt")


def test_shards_name_what_they_are(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"a\n" * 10)
    assert str(plan(tmp_path / "a.txt")[0]) == str(tmp_path / "a.txt")
    assert str(plan(tmp_path / "a.txt", shard_bytes=10)[1]) == f"{tmp_path}/a.txt, bytes 10 to 20"
    assert str(plan(tmp_path / "a.txt", tmp_path / "b.txt")[0]) == f"{tmp_path}/a.txt and 1 more"


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("10 kb", 10_000), ("1MiB", 1 << 20), ("0.5g", 500_000_000), ("2TB", 2 * 10**12), ("3KiB", 3072)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1iB", "1PB", "1 2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)


def test_memory_is_shared_out() -> None:
    assert free_memory_bytes() > 0
    for memory in (260_000_000, 500_000_000, 4_000_000_000):
        for threads in (1, 2, 64):
            budget = Budget.share_out(memory, threads)
            assert 1 <= budget.processes <= threads
            assert budget.processes * 2 * budget.table_bytes < memory
            assert 1 <= budget.merging <= budget.processes
            assert budget.merging == 1 or budget.merging * LARGEST_MERGE_BYTES < memory
    with pytest.raises(InputError, match=r"100 MB of memory .* 260MB or more"):
        Budget.share_out(100_000_000, 1)
