"""Input that is too large, too small, damaged or no input at all: a clear error or a right result, never a crash."""

import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from piecework.tokenizer.schema import TYPE_NUMBERS
from sentencepiece_oracle import largest_size_in, load, parse, sp_train, sp_train_with

SOFT = {"hard_vocab_limit": False, "character_coverage": 1.0}


# A vocabulary that is too large, or too small.


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_dummy_prefix": False},
        {"byte_fallback": True},
        {"split_digits": True, "user_defined_symbols": ["wor"]},
        {"max_sentencepiece_length": 3, "character_coverage": 0.98},
    ],
    ids=str,
)
@pytest.mark.parametrize("lines", [["hello world 123 hello"], ["a"], ["aaaa bbbb"], ["abab" * 5]], ids=repr)
def test_the_largest_vocabulary_is_named(lines: list[str], options: dict[str, Any]) -> None:
    recipe = pw.Recipe(vocab_size=5_000, **options)
    with pytest.raises(RuntimeError) as theirs:
        sp_train(lines, recipe)
    with pytest.raises(pw.VocabularyTooLargeError) as ours:
        pw.train(pw.count_words(lines), recipe)
    largest = largest_size_in(str(theirs.value))
    assert ours.value.largest == largest
    assert f"at most {largest}" in str(ours.value)
    assert pw.train(pw.count_words(lines), recipe.model_copy(update={"vocab_size": largest})).vocab_size == largest


def test_the_largest_vocabulary_with_runs() -> None:
    counts = pw.count_words(["hello world"])
    with pytest.raises(pw.VocabularyTooLargeError) as error:
        pw.train(counts, pw.Recipe.gpt_sw3())
    largest = error.value.largest
    assert pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=largest)).vocab_size == largest


def test_the_largest_vocabulary_above_a_minimum_frequency() -> None:
    counts = pw.count_words(["abab ab x"])
    with pytest.raises(pw.VocabularyTooLargeError, match="minimum_frequency = 2") as error:
        pw.train(counts, pw.Recipe(vocab_size=100, minimum_frequency=2))
    tokenizer = pw.train(counts, pw.Recipe(vocab_size=error.value.largest, minimum_frequency=2))
    assert [piece.text for piece in tokenizer.pieces if piece.group == "regular"] == ["ab", "▁ab"]


@pytest.mark.parametrize("recipe", [pw.Recipe(vocab_size=6), pw.Recipe.gpt_sw3(vocab_size=280)], ids=["plain", "paper"])
def test_a_vocabulary_that_is_too_small(recipe: pw.Recipe) -> None:
    with pytest.raises(pw.RecipeError, match=r"too small.*raise vocab_size"):
        pw.train(pw.count_words(["hello world"]), recipe)


# Words and lines that are too long for others.


@pytest.mark.parametrize(
    "word",
    [
        "a" * 1_000_000,
        "ab" * 500_000,
        "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "".join(random.Random(2).choices("åäö字😀a1", k=200_000)),
    ],
    ids=["one letter", "two letters", "random letters", "random scripts"],
)
def test_a_word_of_a_million_characters(word: str) -> None:
    tokenizer = pw.train(pw.count_words([word]), pw.Recipe(vocab_size=400, **SOFT))
    regular = [piece.text for piece in tokenizer.pieces if piece.group == "regular"]
    assert regular
    assert all(piece.lstrip("▁") in word for piece in regular)
    for text in (word, word[:70_000]):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode(word[:70_000]) == load(tokenizer.model_bytes).encode(word[:70_000])


def test_a_long_word_trains_as_many_short_ones_would() -> None:
    # One word of 2**17 letters gives the same pieces as two words of 2**16 letters.
    options = {"vocab_size": 30, "add_dummy_prefix": False, "character_coverage": 1.0, "hard_vocab_limit": False}
    long, short = (
        pw.train(pw.count_words(lines), pw.Recipe(**options)) for lines in (["ab" * 65_536], ["ab" * 32_768] * 2)
    )
    assert [piece.text for piece in long.pieces][:6] == [piece.text for piece in short.pieces][:6]


def test_a_line_of_100_megabytes() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(1, 9))) for _ in range(2_000)]
    part = " ".join(rng.choices(words, k=20_000)) + " "
    times = 100_000_000 // len(part) + 1
    line = part.encode() * times
    assert len(line) >= 100_000_000

    counts = pw.count_words([line], threads=2)
    once = dict(pw.count_words([part]).items())
    # Each part has all words, except two: the first word of the line, and the last one, which is empty.
    first = part.split(" ")[0]
    expected = {word: count * times for word, count in once.items() if word not in (first, "▁")}
    expected[first] = 1
    expected["▁" + first] = once.get("▁" + first, 0) * times + times - 1
    expected["▁"] = 1
    assert dict(counts.items()) == expected

    tokenizer = pw.train(counts, pw.Recipe(vocab_size=1_000))
    ids = tokenizer.encode(line[: len(part) * 50])
    assert tokenizer.decode(ids) == part * 50

    short = pw.count_words([line, b"kort rad"], max_sentence_length=4_192)
    assert (len(short), short.long_lines) == (2, 1)


def test_many_empty_lines_and_documents() -> None:
    counts = pw.count_words(["\n" * 1_000_000, *[""] * 100_000, "a"], threads=2)
    assert dict(counts.items()) == {"a": 1}


def test_more_threads_than_there_is_work() -> None:
    text = "ett två tre\n" * 100_000
    assert pw.count_words([text] * 3, threads=100) == pw.count_words([text] * 3)


def test_more_threads_than_the_system_gives() -> None:
    """In a process that has room for the stacks of about a hundred threads."""
    program = """
import resource
import piecework as pw
texts = ["ett två tre\\n" * 100_000] * 30
expected = pw.count_words(texts)
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    print(pw.count_words(texts, threads=2_000) == expected)
except pw.PieceworkError as error:
    print("threads" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize("threads", [0, -1, 2**40])
def test_a_number_of_threads_that_is_none(threads: int) -> None:
    with pytest.raises(pw.InputError, match="threads"):
        pw.count_words(["a"], threads=threads)


# No text.


@pytest.mark.parametrize("texts", [[], [""], ["\n\n"], ["▅"], ["a ▅ b"], [b""]], ids=repr)
def test_nothing_to_train_on(texts: list[str | bytes]) -> None:
    counts = pw.count_words(texts)
    assert (len(counts), counts.total) == (0, 0)
    with pytest.raises(pw.InputError, match="no text"):
        pw.train(counts)


@pytest.mark.parametrize("text", ["\0", "\t", "\0\0 \0", " ", "\ufffd", "\r"], ids=repr)
@pytest.mark.parametrize("prefix", [True, False])
def test_next_to_nothing(text: str, prefix: bool) -> None:
    counts = pw.count_words([text])
    recipe = pw.Recipe(vocab_size=20, add_dummy_prefix=prefix, **SOFT)
    if text == "\0" and not prefix:
        with pytest.raises(pw.InputError, match="no character but NUL"):
            pw.train(counts, recipe)
        return
    tokenizer = pw.train(counts, recipe)
    assert tokenizer.pieces[0].text == "<unk>"
    tokenizer.decode(tokenizer.encode(text + "a"))


def test_nul_in_text() -> None:
    lines = ["a\0b a\0b", "\0", "ab\0"]
    recipe = pw.Recipe(vocab_size=9, character_coverage=1.0)
    tokenizer = pw.train(pw.count_words(lines), recipe)
    assert tokenizer.model_bytes == sp_train(lines, recipe)
    paper = pw.train(pw.count_words(lines), pw.Recipe.gpt_sw3(vocab_size=400, **SOFT))
    for text in ("\0", "a\0b", "\0\0  \0"):
        assert paper.encode(text) == load(paper.model_bytes).encode(text)
        assert paper.decode(paper.encode(text)) == text


@pytest.mark.parametrize("texts", ["text", b"text"], ids=repr)
def test_one_text_instead_of_many(texts: Any) -> None:
    with pytest.raises(pw.InputError, match=r"count_words\(\[text\]\)"):
        pw.count_words(texts)


@pytest.mark.parametrize("texts", [None, 5, [None], ["a", 5], [["a"]]], ids=repr)
def test_texts_that_are_none(texts: Any) -> None:
    with pytest.raises((TypeError, pw.InputError)):
        pw.count_words(texts)


def test_a_weight_that_overflows() -> None:
    counts = pw.count_words(["a a"])
    for weight in (2**63, 2**64 - 1):
        assert dict(counts.scale(weight).items()) == {"a": weight, "▁a": weight}
        with pytest.raises(pw.InputError, match="64 bits"):
            counts.scale(weight).scale(2)
        with pytest.raises(pw.InputError, match="64 bits"):
            pw.train(counts.scale(weight), pw.Recipe(vocab_size=6))
    for weight in (2**64, 10**30):
        with pytest.raises(pw.InputError, match="64 bits"):
            counts.scale(weight)
    largest = pw.WordCounts.from_mapping({"aa": 2**61})
    assert pw.train(largest, pw.Recipe(vocab_size=6)).vocab_size == 6


# Files that are no models.


@pytest.fixture(scope="module")
def model() -> bytes:
    lines = ["def f(x):", "    return x + 1", "den som väntar på något gott"]
    return pw.train(pw.count_words(lines), pw.Recipe.gpt_sw3(vocab_size=330)).model_bytes


def is_refused(data: bytes) -> str:
    with pytest.raises(pw.ModelError) as error:
        pw.Tokenizer.from_bytes(data)
    return str(error.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"{}", b"This is some text.\n" * 100, b"\x89PNG\r\n\x1a\n", b"\xff" * 50, bytes(1_000)],
    ids=lambda data: repr(data[:10]),
)
def test_no_model(data: bytes, tmp_path: Path) -> None:
    assert "not a SentencePiece model" in is_refused(data)
    (tmp_path / "m.model").write_bytes(data)
    with pytest.raises(pw.ModelError, match=r"m\.model"):
        pw.Tokenizer.load(tmp_path / "m.model")


def test_a_model_of_one_empty_piece() -> None:
    is_refused(b"\x0a\x00")


def test_a_model_that_was_cut_short(model: bytes) -> None:
    # Every length near the ends of the three parts, and a sample of those between.
    lengths = {*range(64), *range(len(model) - 700, len(model)), *range(0, len(model), 37)}
    for length in sorted(lengths):
        is_refused(model[:length])


def test_random_bytes() -> None:
    rng = random.Random(4)
    for _ in range(2_000):
        is_refused(rng.randbytes(rng.choice([1, 2, 5, 20, 200, 5_000])))


def test_a_damaged_model(model: bytes) -> None:
    """A model with a few wrong bytes is refused, or it works."""
    rng = random.Random(5)
    refused = 0
    for _ in range(3_000):
        damaged = bytearray(model)
        for _ in range(rng.choice([1, 1, 2, 10])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.2:
            at = rng.randrange(len(damaged))
            del damaged[at : at + rng.choice([1, 2, 8])]
        try:
            tokenizer = pw.Tokenizer.from_bytes(bytes(damaged))
        except pw.ModelError:
            refused += 1
            continue
        ids = tokenizer.encode("    return väntar <|python|>\n😀")
        tokenizer.decode([*ids, 0, tokenizer.vocab_size - 1])
        tokenizer.tokens("något gott")
        pieces = [(piece.piece, str(piece.score), piece.type) for piece in parse(bytes(damaged)).pieces]
        assert [(piece.text, str(piece.score), TYPE_NUMBERS[piece.type]) for piece in tokenizer.pieces] == pieces
        assert len(tokenizer.pieces) == tokenizer.vocab_size == sum(group.count for group in tokenizer.groups())
        assert tokenizer.settings()["model_type"] == "bpe"
        assert tokenizer.vocab_text.count("\t") >= tokenizer.vocab_size
        with suppress(pw.PieceworkError):
            tokenizer.resize(tokenizer.vocab_size - 1)
    assert 0 < refused < 3_000


def test_fields_that_nobody_knows(model: bytes) -> None:
    """A piece of a later format: with unknown fields of every wire type, and with an unknown type of piece."""
    fields = b"\x0a\x03new\x15\x00\x00\x80\xbf" + b"\x18\x09"
    fields += b"\x20\x96\x01" + b"\x29" + bytes(8) + b"\x32\x02ab" + b"\x3b\x43\x08\x07\x44\x3c" + b"\x4d" + bytes(4)
    piece = b"\x0a" + bytes([len(fields)]) + fields
    tokenizer = pw.Tokenizer.from_bytes(piece + model)
    assert tokenizer.pieces[0] == pw.Piece(0, "new", -1.0, "normal")
    assert tokenizer.pieces[1].text == pw.Tokenizer.from_bytes(model).pieces[0].text
    assert tokenizer.model_bytes == piece + model


@pytest.mark.parametrize("kind", ["unigram", "word", "char"])
def test_a_model_of_another_kind(kind: str) -> None:
    lines = ["ett två tre fyra fem sex", "sju åtta nio tio elva tolv"]
    other = sp_train_with(lines, model_type=kind, vocab_size=24, hard_vocab_limit=False)
    assert f"a {kind} model; only BPE" in is_refused(other)


def _duplicate(model: Any) -> None:
    model.pieces[300].piece = model.pieces[301].piece


def _empty(model: Any) -> None:
    model.pieces[300].piece = ""


def _no_unknown(model: Any) -> None:
    model.pieces[1].type = model.pieces[1].CONTROL


def _two_unknown(model: Any) -> None:
    model.pieces[2].type = model.pieces[2].UNKNOWN


def _byte_missing(model: Any) -> None:
    model.pieces[20].type = model.pieces[20].NORMAL


def _strange_byte(model: Any) -> None:
    model.pieces[20].piece = "<0xGG>"


def _no_normalizer(model: Any) -> None:
    model.ClearField("normalizer_spec")


def _damaged_rules(model: Any) -> None:
    model.normalizer_spec.precompiled_charsmap = b"\xff" * 100


@pytest.mark.parametrize(
    "change",
    [_duplicate, _empty, _no_unknown, _two_unknown, _byte_missing, _strange_byte, _no_normalizer, _damaged_rules],
)
def test_a_model_that_cannot_be(change: Callable[[Any], None], model: bytes) -> None:
    message = parse(model)
    change(message)
    is_refused(message.SerializeToString())


def test_rules_that_give_no_utf8(model: bytes) -> None:
    """Normalisation rules that change "a" to a byte that is no UTF-8. This damage shows only while encoding."""
    message = parse(model)
    units = [0] * 768
    units[0] = 256 << 10
    units[256 ^ ord("a")] = ((256 ^ ord("a")) ^ 512) << 10 | 0x100 | ord("a")
    units[512] = 1 << 31
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    message.normalizer_spec.precompiled_charsmap = len(trie).to_bytes(4, "little") + trie + b"\xff\0"
    tokenizer = pw.Tokenizer.from_bytes(message.SerializeToString())
    for text in ("a", "aa", "xax", "a" * 100):
        ids = tokenizer.encode(text)
        assert all(0 <= piece < tokenizer.vocab_size for piece in ids)
        assert [token.id for token in tokenizer.tokens(text)] == ids
        tokenizer.decode(ids)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.model").mkdir()
    for path in (tmp_path, tmp_path / "folder.model", tmp_path / "missing.model"):
        with pytest.raises(pw.InputError, match="no such model file"):
            pw.Tokenizer.load(path)
    (tmp_path / "file").touch()
    with pytest.raises(pw.InputError):
        pw.Tokenizer.load(tmp_path / "file" / "tokenizer.model")
