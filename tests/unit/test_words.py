"""What counts as a word, what training makes of words, and the table that holds their counts."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import piecework as pw

LAYOUTS = [pa.string(), pa.large_string(), pa.string_view()]


def words(*texts: str | bytes) -> dict[str, int]:
    return dict(pw.count_words(texts).items())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("ett", {"ett": 1}),
        ("ett två", {"ett": 1, "▁två": 1}),
        # Lines end at "\n" only; an empty line is no line.
        ("a\nb\n\n\nb a\n", {"a": 1, "b": 2, "▁a": 1}),
        ("a\r\nb\r", {"a\r": 1, "b\r": 1}),
        ("a\x0bb\x0cc\x85d\u2028e\u2029f", {"a\x0bb\x0cc\x85d\u2028e\u2029f": 1}),
        # Words end at " " only, and each space starts one.
        ("a\tb\u00a0c\u3000d", {"a\tb\u00a0c\u3000d": 1}),
        ("a  b", {"a": 1, "▁": 1, "▁b": 1}),
        (" a", {"": 1, "▁a": 1}),
        ("a ", {"a": 1, "▁": 1}),
        ("   ", {"": 1, "▁": 3}),
        # A literal ▁ is a space; its neighbours in Unicode are characters.
        ("a▁b ▁c", {"a": 1, "▁": 1, "▁b": 1, "▁c": 1}),
        ("▀a▂ ▃", {"▀a▂": 1, "▁▃": 1}),
        # A line with ▅ is left out, the lines around it are not.
        ("a\nb ▅ c\n▅\nd▅e\nf", {"a": 1, "f": 1}),
        # NUL is a character like others here.
        ("a\0b", {"a\0b": 1}),
    ],
    ids=repr,
)
def test_words_of_a_text(text: str, expected: dict[str, int]) -> None:
    assert words(text) == expected
    assert words(text.encode()) == expected


def test_a_document_is_its_lines() -> None:
    assert words("ett två\ntre ett") == words("ett två", "tre ett") == words(b"ett tv\xc3\xa5", "tre ett")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a\xff", "a\ufffd"),
        (b"\xe2\x96", "\ufffd\ufffd"),  # ▁ cut short
        (b"\xc0\x80", "\ufffd\ufffd"),  # overlong
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # a surrogate
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),  # past U+10FFFF
        (b"\xf0\x9f\x98\xe5", "\ufffd" * 4),
        (b"\xe5\n", "\ufffd"),
    ],
    ids=repr,
)
def test_each_invalid_byte_is_one_replacement_character(text: bytes, expected: str) -> None:
    counts = pw.count_words([text])
    assert list(counts.items()) == [(expected, 1)]
    assert counts.invalid_bytes == expected.count("\ufffd")


def test_a_lone_surrogate_is_three_invalid_bytes() -> None:
    counts = pw.count_words(["a\ud800 \udfff", "å"])
    assert dict(counts.items()) == {"a" + "\ufffd" * 3: 1, "▁" + "\ufffd" * 3: 1, "å": 1}
    assert counts.invalid_bytes == 6


def test_what_is_left_out_is_counted() -> None:
    counts = pw.count_words(["a ▅\nb\n▅▅▅", "12345\n123456"], max_sentence_length=5)
    assert dict(counts.items()) == {"b": 1, "12345": 1}
    assert counts.dropped_lines == 1  # "▅▅▅" is nine bytes: the line is too long, so its characters are not read
    assert counts.long_lines == 2
    assert pw.count_words(["a ▅\nb\n▅▅▅"]).dropped_lines == 2


# What training makes of the words.


def trained(lines: list[str], **options: Any) -> pw.Tokenizer:
    defaults = {"vocab_size": 1_000, "hard_vocab_limit": False, "character_coverage": 1.0}
    return pw.train(pw.count_words(lines), pw.Recipe(**(defaults | options)))


def merges(lines: list[str], **options: Any) -> list[str]:
    return [piece.text for piece in trained(lines, **options).pieces if piece.group == "regular"]


def characters(lines: list[str], **options: Any) -> str:
    return "".join(piece.text for piece in trained(lines, **options).pieces if piece.group == "character")


def test_the_prefix_is_put_before_the_first_word() -> None:
    assert merges(["ab"]) == ["ab", "▁ab", "▁a"]
    assert merges(["ab"], add_dummy_prefix=False) == ["ab"]
    assert merges([" ab"], add_dummy_prefix=False) == ["ab", "▁ab", "▁a"]


@pytest.mark.parametrize("boundary", ["<s>", "</s>", "<unk>", "<x>", "<c>", "\x1f", "\0"], ids=repr)
def test_nothing_merges_through_a_meta_piece(boundary: str) -> None:
    lines = [f"ab{boundary}ab"]
    options = {"user_defined_symbols": ["<x>"], "control_symbols": ["<c>"], "add_dummy_prefix": False}
    assert merges(lines, **options) == ["ab"]
    assert characters(lines, **options) == "ab"


def test_byte_pieces_are_meta_pieces_where_there_are_any() -> None:
    assert merges(["a<0x0A>b"], byte_fallback=True, add_dummy_prefix=False) == []
    assert "<0x" in merges(["a<0x0A>b"], split_by_unicode_script=False)


def test_the_longest_meta_piece_is_taken() -> None:
    options = {"user_defined_symbols": ["ab", "abc"], "add_dummy_prefix": False}
    assert characters(["abcd abx"], **options) == "dx▁"


def test_characters_by_count_then_code_point() -> None:
    assert characters(["cab bå å c å"]) == "▁åbca"


@pytest.mark.parametrize(
    ("text", "coverage", "expected"),
    [
        # 98 of 100 characters are a: enough for 0.98, not for 0.99.
        ("a" * 98 + "bc", 0.98, "a"),
        ("a" * 98 + "bc", 0.9801, "ab"),
        ("a" * 98 + "bc", 0.99, "ab"),
        ("a" * 98 + "bc", 1.0, "abc"),
        # The boundary counts as covered, but is never required; NUL does not count at all.
        ("a" * 97 + "\x1f\x1fb", 0.99, "a"),
        ("a" * 97 + "\t\tb", 0.99, "a\t"),
        ("a" * 99 + "\0b", 0.99, "a"),
        ("a" * 98 + "\0\0\0bc", 0.99, "ab"),
    ],
)
def test_character_coverage(text: str, coverage: float, expected: str) -> None:
    assert characters([text], character_coverage=coverage, add_dummy_prefix=False) == expected


def test_nothing_merges_across_a_character_that_is_not_covered() -> None:
    lines = ["ab"] * 99 + ["axb"]
    assert merges(lines, character_coverage=0.99, add_dummy_prefix=False) == ["ab"]


def test_required_characters_are_there() -> None:
    assert characters(["aab"], required_chars="xb", add_dummy_prefix=False) == "abx"


def test_the_longest_piece() -> None:
    assert max(map(len, merges(["a" * 100], add_dummy_prefix=False))) == 16
    assert merges(["abcd"], max_sentencepiece_length=2, add_dummy_prefix=False) == ["ab", "cd", "bc"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abαβ", ["ab", "αβ"]),
        ("ab12", ["12", "ab"]),
        ("a-b", []),
        ("字か", ["字か"]),  # Han, Hiragana and Katakana are one
        ("カー", ["カー"]),
        ("a\u0301", ["a\u0301"]),  # a combining mark has the script of the character before it
        ("ab\u0560\u0560", ["ab", "\u0560\u0560"]),  # Armenian came later: in Unicode 9.0 it has no script
    ],
    ids=repr,
)
def test_a_piece_has_one_script(text: str, expected: list[str]) -> None:
    assert merges([text], add_dummy_prefix=False) == expected
    free = merges([text], add_dummy_prefix=False, split_by_unicode_script=False)
    assert text in free


def test_digits() -> None:
    options = {"add_dummy_prefix": False, "split_by_unicode_script": False}
    assert merges(["a1２b"], split_digits=True, **options) == []
    assert "a1２b" in merges(["a1２b"], **options)


def test_the_mark_stands_only_at_the_start_of_a_piece() -> None:
    pieces = merges(["a b a b a b"])
    assert pieces == ["▁a", "▁b"]


# Arrow.

TEXTS = ["ett två", "", "tre\nfyra  fem", "en rad som är längre än tolv byte", "ett", "▅", "å" * 13]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_arrow_is_as_a_list(layout: pa.DataType, threads: int) -> None:
    expected = pw.count_words(TEXTS)
    array = pa.array(TEXTS, layout)
    assert pw.count_words(array, threads=threads) == expected
    assert pw.count_words(array, threads=threads).dropped_lines == 1


@pytest.mark.parametrize("layout", [*LAYOUTS, pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
@pytest.mark.parametrize("first", range(4))
def test_arrow_slices_and_nulls(layout: pa.DataType, first: int) -> None:
    texts = ["sju", None, *TEXTS, None, "åtta nio"] * 3
    array = pa.array(texts, layout)
    for part in (slice(first, None), slice(first, 11), slice(first, first), slice(first, first + 1)):
        expected = pw.count_words([text for text in texts[part] if text is not None])
        assert pw.count_words(array[part]) == expected


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_arrow_in_chunks(layout: pa.DataType) -> None:
    chunks = [pa.array(TEXTS[:2], layout), pa.array([], layout), pa.array([None, *TEXTS[2:]], layout)]
    assert pw.count_words(pa.chunked_array(chunks)) == pw.count_words(TEXTS)
    assert len(pw.count_words(pa.chunked_array([], layout))) == 0


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_arrow_with_nothing_in_it(layout: pa.DataType) -> None:
    assert len(pw.count_words(pa.array([], layout))) == 0
    assert len(pw.count_words(pa.array([None, None], layout))) == 0
    assert len(pw.count_words(pa.array(["", ""], layout))) == 0


def test_arrow_bytes_may_be_invalid() -> None:
    counts = pw.count_words(pa.array([b"a\xff", b"b"]))
    assert dict(counts.items()) == {"a\ufffd": 1, "b": 1}
    assert counts.invalid_bytes == 1


@pytest.mark.parametrize(
    "array",
    [pa.array([1, 2]), pa.array(["a"]).dictionary_encode(), pa.array([["a"]]), pa.chunked_array([[1]])],
    ids=lambda array: str(array.type),
)
def test_arrow_of_another_type_is_an_error(array: pa.Array) -> None:
    with pytest.raises(pw.InputError, match="string"):
        pw.count_words(array)


# The table.


def test_items_are_sorted_by_their_bytes() -> None:
    counts = pw.count_words(["z å a 😀 \uffee ▂", "z ▀"])
    items = [word for word, _ in counts.items()]
    assert items == sorted(items, key=str.encode)
    assert dict(counts.items())["z"] == 2


def test_length_total_and_repr() -> None:
    counts = pw.count_words(["a b a b", "a b"])
    assert (len(counts), counts.total) == (3, 6)
    assert repr(counts) == "WordCounts(3 words, 6 in all)"
    assert counts.memory_bytes > 0


def test_many_words() -> None:
    texts = [f"ord{i % 50_000} {i % 7}" for i in range(100_000)]
    counts = pw.count_words(texts, threads=2)
    assert len(counts) == 50_007
    assert counts.total == 200_000
    assert dict(counts.items())["ord77"] == 2


def test_sums() -> None:
    first, second = pw.count_words(["a b\n▅", b"\xff"]), pw.count_words(["a a", "▅"])
    total = first + second
    assert total == pw.count_words(["a b", b"\xff", "a a"])
    assert (total.dropped_lines, total.invalid_bytes) == (2, 1)
    assert first == pw.count_words(["a b", b"\xff"]), "the parts stay as they are"
    first += second
    assert first == total


def test_scaling() -> None:
    counts = pw.count_words(["a b a"])
    assert dict(counts.scale(3).items()) == {"a": 3, "▁a": 3, "▁b": 3}
    assert counts.scale(1) == counts
    assert counts.scale(2) == counts + counts
    for wrong in (0, -1):
        with pytest.raises(pw.InputError, match="scaled by 1 and more"):
            counts.scale(wrong)


def test_equality() -> None:
    assert pw.count_words(["a b"]) == pw.count_words(["a b"]) + pw.WordCounts.from_mapping({})
    assert pw.count_words(["a b"]) != pw.count_words(["a b b"])
    assert pw.count_words(["a b"]) != pw.count_words(["a", "b"])
    assert pw.count_words(["a"]) != {"a": 1}
    with pytest.raises(TypeError):
        hash(pw.count_words(["a"]))


def test_from_mapping() -> None:
    mapping = {"": 4, "▁": 2, "hus": 1, "▁hus": 2**64 - 8, "ö" * 100: 1}
    assert dict(pw.WordCounts.from_mapping(mapping).items()) == mapping
    counted = pw.count_words(["  ett två", "ett\n tre"])
    assert pw.WordCounts.from_mapping(dict(counted.items())) == counted
    assert len(pw.WordCounts.from_mapping({})) == 0


@pytest.mark.parametrize("word", ["a b", "a\nb", "a▁b", "▁▁", "▁a "], ids=repr)
def test_a_word_is_one_word(word: str) -> None:
    with pytest.raises(pw.InputError, match="no space"):
        pw.WordCounts.from_mapping({word: 1})


@pytest.mark.parametrize("count", [-1, 2**64, "1", 1.5, None], ids=repr)
def test_a_count_is_a_whole_number(count: Any) -> None:
    with pytest.raises(pw.InputError, match="count"):
        pw.WordCounts.from_mapping({"a": count})


@pytest.mark.parametrize("word", [1, None, "\ud800"], ids=repr)
def test_a_word_is_text(word: Any) -> None:
    with pytest.raises(pw.InputError):
        pw.WordCounts.from_mapping({word: 1})


def test_words_that_are_counted_no_time() -> None:
    counts = pw.WordCounts.from_mapping({"a": 5, "b": 5, "ba": 0})
    recipe = pw.Recipe(vocab_size=10, add_dummy_prefix=False, hard_vocab_limit=False)
    pieces = [piece.text for piece in pw.train(counts, recipe).pieces]
    assert pieces[-2:] == ["a", "b"]


def overflowing() -> pw.WordCounts:
    return pw.WordCounts.from_mapping({"a": 2**63, "b": 2**63})


@pytest.mark.parametrize(
    "use",
    [
        lambda: overflowing() + overflowing(),
        lambda: overflowing().scale(2),
        lambda: overflowing().scale(2**64),
        lambda: pw.train(overflowing()),
        lambda: pw.train(pw.WordCounts.from_mapping({"ab": 2**63}), pw.Recipe(add_dummy_prefix=False)),
    ],
    ids=["sum", "scale", "scale by more than 64 bits", "train", "train on characters"],
)
def test_a_count_that_overflows_is_an_error(use: Callable[[], object]) -> None:
    with pytest.raises(pw.InputError, match="64 bits"):
        use()


def test_a_table_that_overflows_can_be_shown() -> None:
    assert "2 words" in repr(overflowing())
    with suppress(pw.InputError):
        assert overflowing().total == 2**64


# Files.


def test_save_and_load(tmp_path: Path) -> None:
    counts = pw.count_words(["  ett två ▁tre", "ett\tfyra", "å" * 500, b"\xff", "a\0b", ""])
    counts.save(tmp_path / "counts.parquet")
    assert pw.WordCounts.load(tmp_path / "counts.parquet") == counts
    assert [path.name for path in tmp_path.iterdir()] == ["counts.parquet"]
    table = pq.read_table(tmp_path / "counts.parquet")
    assert table.column_names == ["word", "count"]
    assert dict(zip(*table.to_pydict().values(), strict=True)) == dict(counts.items())


def test_save_and_load_nothing(tmp_path: Path) -> None:
    pw.count_words([]).save(tmp_path / "none.parquet")
    assert len(pw.WordCounts.load(tmp_path / "none.parquet")) == 0


def test_equal_counts_are_equal_files(tmp_path: Path) -> None:
    texts = [f"{i} {i * i % 91} {i % 10}" for i in range(3_000)]
    pw.count_words(texts, threads=1).save(tmp_path / "one")
    pw.count_words(reversed(texts), threads=3).save(tmp_path / "two")
    (pw.count_words(texts[:1_000]) + pw.count_words(texts[1_000:])).save(tmp_path / "three")
    pw.WordCounts.load(tmp_path / "one").save(tmp_path / "four")
    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three", "four")}) == 1


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_load_what_another_tool_wrote(layout: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"count": pa.array([1, 2, 3], pa.int32()), "word": pa.array(["b", "▁a", "b"], layout)})
    pq.write_table(table, tmp_path / "theirs.parquet")
    assert dict(pw.WordCounts.load(tmp_path / "theirs.parquet").items()) == {"b": 4, "▁a": 2}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"word": ["a"]}, "columns word and count"),
        ({"word": ["a"], "count": [-1]}, "whole number"),
        ({"word": ["a"], "count": [1.5]}, "whole number"),
        ({"word": ["a"], "count": ["x"]}, "whole number"),
        ({"word": ["a", "b"], "count": [1, None]}, "count"),
        ({"word": ["a", None], "count": [1, 2]}, "word"),
        ({"word": ["a b"], "count": [1]}, "no space"),
        ({"word": [b"\xff"], "count": [1]}, "text"),
        ({"word": [["a"]], "count": [1]}, "text"),
        ({"word": ["a", "a"], "count": pa.array([2**63, 2**63], pa.uint64())}, "64 bits"),
    ],
)
def test_load_what_is_no_table_of_words(columns: dict[str, Any], problem: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "bad.parquet")
    with pytest.raises(pw.InputError, match=problem) as error:
        pw.WordCounts.load(tmp_path / "bad.parquet")
    assert "bad.parquet" in str(error.value)


def test_load_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hej")
    pw.count_words(["a b"]).save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    (tmp_path / "short").write_bytes(good[: len(good) // 2])
    (tmp_path / "flipped").write_bytes(good[:10] + bytes(byte ^ 0xFF for byte in good[10:60]) + good[60:])
    for name in ("text", "short", "flipped", "missing", "."):
        with pytest.raises(pw.InputError):
            pw.WordCounts.load(tmp_path / name)


def test_save_where_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "no" / "counts", tmp_path / "file" / "counts", tmp_path):
        with pytest.raises(pw.InputError, match="cannot write"):
            pw.count_words(["a"]).save(path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("word", [b"\x80", b"a\xff", b"\xe2\x96\x81\xc3"])
def test_a_word_that_is_no_utf8(tmp_path: Path, word: bytes) -> None:
    """Parquet is not checked when it is read."""
    offsets = pa.array([0, len(word)], pa.int64()).buffers()[1]
    words = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(word)])
    pq.write_table(pa.table({"word": words, "count": pa.array([1], pa.uint64())}), tmp_path / "counts.parquet")
    with pytest.raises(pw.InputError, match=r"counts\.parquet: a word is not valid UTF-8"):
        pw.WordCounts.load(tmp_path / "counts.parquet")
