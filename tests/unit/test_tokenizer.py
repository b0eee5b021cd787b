"""One tokenizer: its vocabulary, whitespace runs, files, sizes, and the edges of encoding and decoding."""

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import piecework as pw
from piecework.tokenizer.columns import merge_columns
from piecework.tokenizer.steps import piece_halves
from sentencepiece_oracle import load, parse

LINES = [
    "def main(arguments):",
    "    for argument in arguments:",
    "        print(argument, end=' ')",
    "    return 0 if arguments else 12",
    "<|python|>import sys; sys.exit(main(sys.argv))",
    "den som väntar på något gott väntar aldrig för länge",
] * 3
ORDERS = ["paper", "portable"]


def train(size: int, lines: list[str] = LINES, **options: Any) -> pw.Tokenizer:
    return pw.train(pw.count_words(lines), pw.Recipe(vocab_size=size, **options))


def train_paper(size: int = 400, **options: Any) -> pw.Tokenizer:
    return pw.train(pw.count_words(LINES), pw.Recipe.gpt_sw3(vocab_size=size, **options))


@pytest.fixture(scope="module")
def tiny() -> pw.Tokenizer:
    """<unk> <s> </s> ab ▁ab ▁abab a b ▁"""
    return train(9, ["abab ab"])


@pytest.fixture(scope="module")
def paper() -> pw.Tokenizer:
    return train_paper()


# The vocabulary.


def test_pieces_by_hand(tiny: pw.Tokenizer) -> None:
    assert [(piece.id, piece.text, piece.score, piece.type) for piece in tiny.pieces] == [
        (0, "<unk>", 0.0, "unknown"),
        (1, "<s>", 0.0, "control"),
        (2, "</s>", 0.0, "control"),
        (3, "ab", 0.0, "normal"),
        (4, "▁ab", -1.0, "normal"),
        (5, "▁abab", -2.0, "normal"),
        (6, "a", -3.0, "normal"),
        (7, "b", -4.0, "normal"),
        (8, "▁", -5.0, "normal"),
    ]
    assert str(tiny.pieces[3].score) == "-0.0"
    assert len(tiny) == tiny.vocab_size == 9
    assert repr(tiny) == "Tokenizer(9 pieces: 3 special, 3 regular, 3 character)"


def test_groups_by_hand(tiny: pw.Tokenizer) -> None:
    assert tiny.groups() == [
        pw.VocabularyGroup("special", 3, ((0, 2),), ("<unk>", "<s>", "</s>")),
        pw.VocabularyGroup("regular", 3, ((3, 5),), ("ab", "▁ab", "▁abab")),
        pw.VocabularyGroup("character", 3, ((6, 8),), ("a", "b", "▁")),
    ]


def test_groups_of_the_paper(paper: pw.Tokenizer) -> None:
    groups = {group.name: group for group in paper.groups()}
    assert list(groups) == ["special", "user-defined", "byte", "regular", "character", "whitespace"]
    assert groups["special"].ranges == ((0, 3),)
    assert groups["user-defined"].ranges == ((4, 7),)
    assert groups["byte"].ranges == ((8, 263),)
    assert groups["whitespace"].ranges == ((377, 399),)
    assert groups["whitespace"].count == 23
    (regular,), (character,) = groups["regular"].ranges, groups["character"].ranges
    assert (regular[0], character[1]) == (264, 376)
    assert regular[1] + 1 == character[0]
    assert sum(group.count for group in groups.values()) == 400


def test_a_group_may_be_in_several_stretches() -> None:
    groups = {group.name: group for group in train(60, unk_id=0, bos_id=5, eos_id=-1).groups()}
    assert groups["special"].ranges == ((0, 0), (5, 5))
    assert groups["regular"].ranges[0] == (1, 4)


def test_length_histogram(tiny: pw.Tokenizer, paper: pw.Tokenizer) -> None:
    assert tiny.length_histogram() == {1: 3, 2: 1, 3: 1, 5: 1}
    histogram = paper.length_histogram()
    assert list(histogram) == sorted(histogram)
    assert sum(histogram.values()) == 400 - 264
    assert histogram[24] == 1


def test_settings() -> None:
    given = {"character_coverage": 0.9999, "user_defined_symbols": ["<x>"], "split_digits": True}
    settings = train(60, **given, add_dummy_prefix=False, pad_id=3).settings()
    expected = given | {"model_type": "bpe", "vocab_size": 60, "pad_id": 3, "add_dummy_prefix": False}
    assert expected.items() <= settings.items()
    assert settings["name"] == "identity"
    assert "byte_fallback" not in settings, "only what was given"


# Whitespace runs.


@pytest.mark.parametrize("order", ORDERS)
def test_runs_are_the_last_pieces(order: Any) -> None:
    plain, runs = train_paper(377, whitespace_runs=None), train_paper(400, whitespace_runs=order)
    assert runs.pieces[:377] == plain.pieces
    lowest = plain.pieces[-1].score
    added = runs.pieces[377:]
    assert {piece.type for piece in added} == {"normal"}
    lengths = [len(piece.text) for piece in added]
    scores = [piece.score for piece in added]
    assert all(piece.text == "▁" * len(piece.text) for piece in added)
    if order == "paper":
        assert lengths == list(range(2, 25))
        assert set(scores) == {lowest - 1}
    else:
        assert lengths == list(range(24, 1, -1))
        assert scores == [lowest - 1 - i for i in range(23)]


@pytest.mark.parametrize("order", ORDERS)
def test_runs_in_sentencepiece(order: Any, tmp_path: Path) -> None:
    tokenizer = train_paper(whitespace_runs=order)
    model = parse(tokenizer.model_bytes)
    assert model.trainer_spec.vocab_size == len(model.pieces) == 400
    path = tokenizer.save(tmp_path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert processor.vocab_size() == 400
    assert len((tmp_path / "tokenizer.vocab").read_text(encoding="utf-8").splitlines()) == 400
    for n in range(60):
        for text in (" " * n, "a" + " " * n, "a" + " " * n + "b", " " * n + "b"):
            assert tokenizer.encode(text) == processor.encode(text)
            assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("order", ORDERS)
def test_indentation_is_one_token(order: Any) -> None:
    tokenizer = train_paper(whitespace_runs=order)
    assert tokenizer.encode_pieces("        a")[0] in ("▁" * 8, "▁" * 9)
    assert tokenizer.encode_pieces("\n" + " " * 24)[2] == "▁" * 24


def test_runs_take_the_place_of_merges() -> None:
    plain, runs = train_paper(400, whitespace_runs=None), train_paper(400)

    def regular(tokenizer: pw.Tokenizer) -> list[str]:
        return [piece.text for piece in tokenizer.pieces if piece.group == "regular"]

    assert regular(runs) == regular(plain)[:-23]


# Files.


def test_save_and_load(paper: pw.Tokenizer, tmp_path: Path) -> None:
    path = paper.save(tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "tokenizer.model"
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "SHA256SUMS",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer.vocab",
        "tokenizer_config.json",
    ]
    assert path.read_bytes() == paper.model_bytes
    for again in (pw.Tokenizer.load(path), pw.Tokenizer.load(str(path)), pw.Tokenizer.load(path.parent)):
        assert again.model_bytes == paper.model_bytes
        assert again.pieces == paper.pieces
        assert again.encode("    print(1)") == paper.encode("    print(1)")
    assert pw.Tokenizer.from_bytes(paper.model_bytes).model_bytes == paper.model_bytes


def test_nothing_is_overwritten_unless_forced(tiny: pw.Tokenizer, paper: pw.Tokenizer, tmp_path: Path) -> None:
    tiny.save(tmp_path)
    with pytest.raises(pw.InputError, match=r"tokenizer\.model and .*tokenizer\.vocab exist already"):
        paper.save(tmp_path)
    assert (tmp_path / "tokenizer.model").read_bytes() == tiny.model_bytes
    paper.save(tmp_path, force=True)
    assert (tmp_path / "tokenizer.model").read_bytes() == paper.model_bytes
    (tmp_path / "tokenizer.model").unlink()
    with pytest.raises(pw.InputError, match=r"tokenizer\.vocab exists already"):
        paper.save(tmp_path)
    assert not (tmp_path / "tokenizer.model").exists()


def test_save_where_it_cannot_be(tiny: pw.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(pw.InputError, match="file"):
            tiny.save(folder)


def test_the_vocab_file_is_sentencepieces(tmp_path: Path) -> None:
    recipe = pw.Recipe.gpt_sw3(vocab_size=420, whitespace_runs=None)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(tmp_path / "theirs"),
        minloglevel=2,
        **recipe.sentencepiece_arguments(),
    )
    tokenizer = pw.train(pw.count_words(LINES), recipe)
    tokenizer.save(tmp_path)
    assert (tmp_path / "tokenizer.vocab").read_bytes() == (tmp_path / "theirs.vocab").read_bytes()


@pytest.mark.parametrize("order", ORDERS)
def test_the_vocab_file_has_the_runs(order: Any, tmp_path: Path) -> None:
    tokenizer = train_paper(whitespace_runs=order)
    tokenizer.save(tmp_path)
    lines = (tmp_path / "tokenizer.vocab").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    for line, piece in zip(lines, tokenizer.pieces, strict=True):
        assert line == f"{piece.text}\t{piece.score:.6g}"
    assert lines[264].endswith("\t-0")


# Sizes.


@pytest.mark.parametrize("runs", [None, *ORDERS])
def test_resize_is_training_at_that_size(runs: Any) -> None:
    large = train_paper(420, whitespace_runs=runs)
    for size in (419, 400, 380, 360, 350):
        assert large.resize(size).model_bytes == train_paper(size, whitespace_runs=runs).model_bytes
    assert large.resize(420).model_bytes == large.model_bytes
    assert large.resize(400).resize(360).model_bytes == large.resize(360).model_bytes
    assert large.vocab_size == 420, "the large one stays as it is"


def test_resize_of_a_loaded_model() -> None:
    loaded = pw.Tokenizer.from_bytes(train_paper(420).model_bytes)
    assert loaded.resize(360).model_bytes == train_paper(360).model_bytes


def test_resize_errors(tiny: pw.Tokenizer) -> None:
    assert [piece.text for piece in tiny.resize(6).pieces] == ["<unk>", "<s>", "</s>", "a", "b", "▁"]
    with pytest.raises(pw.InputError, match="cannot resize to 10: the vocabulary has 9 pieces"):
        tiny.resize(10)
    for size in (5, 1, 0, -3):
        with pytest.raises(pw.InputError, match="alone take 6"):
            tiny.resize(size)


def test_a_special_piece_must_fit() -> None:
    tokenizer = train(60, pad_id=55)
    assert tokenizer.resize(56).pieces[55].text == "<pad>"
    with pytest.raises(pw.InputError, match="55"):
        tokenizer.resize(50)


def test_a_special_piece_must_fit_what_the_text_allows() -> None:
    with pytest.raises(pw.PieceworkError, match="190"):
        train(200, ["hello world"], pad_id=190, hard_vocab_limit=False)


# Encoding and decoding.


def test_encode_by_hand(tiny: pw.Tokenizer) -> None:
    assert tiny.encode("abab ab") == [5, 4]
    assert tiny.encode_pieces("ababab  b") == ["▁abab", "ab", "▁", "▁", "b"]
    assert tiny.encode(b"abab ab") == [5, 4]
    assert tiny.encode("") == tiny.encode(b"") == []
    assert tiny.encode_pieces("") == tiny.tokens("") == []
    assert tiny.encode("a?!b") == [8, 6, 0, 7]
    assert tiny.encode_pieces("a?!b") == ["▁", "a", "?!", "b"]


def test_tokens_by_hand(paper: pw.Tokenizer, tiny: pw.Tokenizer) -> None:
    assert tiny.tokens("ab?ab") == [
        pw.Token(4, "▁ab", 0, 2),
        pw.Token(0, "?", 2, 3),
        pw.Token(3, "ab", 3, 5),
    ]
    # If a character is several byte tokens, only the last one has its offsets. Offsets are in characters.
    places = [(token.piece, token.start, token.end) for token in paper.tokens("ö😀ö")]
    assert places[:2] == [("▁", 0, 0), ("ö", 0, 1)]
    assert places[2:5] == [("<0xF0>", 1, 1), ("<0x9F>", 1, 1), ("<0x98>", 1, 1)]
    assert places[5:] == [("<0x80>", 1, 2), ("ö", 2, 3)]


def test_invalid_text(paper: pw.Tokenizer) -> None:
    processor = load(paper.model_bytes)
    for text in (b"\xff", b"a\xe2\x96 b", b"\xed\xa0\x80\xf0\x9f"):
        assert paper.encode(text) == processor.encode(text)
        assert paper.decode(paper.encode(text)).count("\ufffd") >= 1


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ud83d\ude00", "för\ud800länge"], ids=ascii)
def test_lone_surrogates(text: str, paper: pw.Tokenizer) -> None:
    replaced = "".join("\ufffd" * 3 if "\ud800" <= c <= "\udfff" else c for c in text)
    assert paper.encode(text) == paper.encode(replaced)
    assert paper.encode_batch([text, "a"]) == [paper.encode(replaced), paper.encode("a")]
    tokens = paper.tokens(text)
    assert [token.id for token in tokens] == paper.encode(text)
    assert tokens[-1].end == len(text)


def test_batches(paper: pw.Tokenizer) -> None:
    expected = [paper.encode(line) for line in LINES]
    for texts in (LINES, tuple(LINES), iter(LINES), (line.encode() for line in LINES)):
        assert paper.encode_batch(texts, threads=2) == expected
    assert paper.encode_batch([]) == []
    assert paper.encode_batch(["", "a", ""]) == [[], paper.encode("a"), []]


def test_batches_of_many_kinds_of_text(paper: pw.Tokenizer) -> None:
    # Texts are converted in groups of about 256 KB: here there are some groups of each kind, and of all kinds.
    kinds: list[str | bytes] = [
        "a house " * 40,
        "älv å " * 30,
        "字 žluť " * 20,
        "🙂 é",
        "lone \ud800",
        "sv å".encode(),
        b"\xff\xe5",
    ]
    texts = [text for text in kinds for _ in range(2_000)] + kinds * 1_000
    expected = {text: paper.encode(text) for text in kinds}
    for threads in (1, 3):
        arrays = paper.encode_batch(texts, as_arrays=True, threads=threads)
        assert arrays.to_arrow().to_pylist() == [expected[text] for text in texts]
        assert paper.encode_batch(texts, threads=threads) == [expected[text] for text in texts]
        with pytest.raises(TypeError, match="a text must be str or bytes, not int"):
            paper.encode_batch([*texts, 1], as_arrays=True, threads=threads)  # type: ignore[call-overload]


@pytest.mark.parametrize("text", [None, 1, ["a"]], ids=repr)
def test_a_text_is_text(text: Any, paper: pw.Tokenizer) -> None:
    for use in (paper.encode_pieces, paper.tokens, *([] if isinstance(text, list) else [paper.encode])):
        with pytest.raises((TypeError, pw.InputError)):
            use(text)
    with pytest.raises((TypeError, pw.InputError)):
        paper.encode_batch([text])


def test_decode(paper: pw.Tokenizer, tiny: pw.Tokenizer) -> None:
    assert tiny.decode([5, 4]) == tiny.decode((5, 4)) == tiny.decode(iter([5, 4])) == "abab ab"
    assert tiny.decode([1, 4, 2]) == "ab"
    assert tiny.decode([4, 0, 3]) == "ab ⁇ ab"
    assert tiny.decode([]) == ""
    assert paper.decode(paper.encode("på 😀\n\tlänge  ")) == "på 😀\n\tlänge  "
    bytes_of_half_a_character = [8 + byte for byte in "😀".encode()[:2]]
    assert paper.decode(bytes_of_half_a_character) == "\ufffd\ufffd"


@pytest.mark.parametrize("wrong", [-1, 9, 2**31, 2**32, 2**32 + 1, 2**70, 1.5, "1", None], ids=repr)
def test_an_id_that_is_none(wrong: Any, tiny: pw.Tokenizer) -> None:
    with pytest.raises(pw.InputError) as error:
        tiny.decode([3, wrong, 4])
    assert f"id {wrong!r}" in str(error.value)
    assert "9 pieces" in str(error.value)


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    pw.train(pw.count_words(LINES), pw.Recipe(vocab_size=60), progress=lambda *call: seen.append(call))
    done, wanted = seen[-1]
    assert done == wanted > 0


def test_progress_may_stop_the_training() -> None:
    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pw.train(pw.count_words(LINES), pw.Recipe(vocab_size=60), progress=stop)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"byte_fallback": False},
        {"add_dummy_prefix": False},
        {"remove_extra_whitespaces": True},
        {"user_defined_symbols": ["<|sv|>", "\n", "▁"]},
        {"normalization_rule_name": "nmt_nfkc"},
    ],
)
def test_columns_of_a_long_text_are_the_tokens(settings: dict[str, Any]) -> None:
    """The offsets of a long text are computed in another way than those of a short one."""
    rng = random.Random(3)
    words = ["en", " ros", " är", " är", " en", " Ros", " röd", " blå"]
    others = ["\n", "\t", "▁", "  ", "京", "😀", "\ud800", "e\u0301", "\0", "<|sv|>", "ﬁ", "\u3000", "<0x41>"]
    tokenizer = pw.train([" ".join(rng.choices(words, k=200))], vocab_size=600, hard_vocab_limit=False, **settings)
    text = "".join(rng.choice(words if rng.random() < 0.7 else others) * rng.choice((1, 1, 3)) for _ in range(9_000))
    for each in (text, text.replace("\ud800", ""), "".join(rng.choices(words, k=6_000))):
        columns = tokenizer.token_columns(each)
        spans = zip(columns.ids.tolist(), columns.starts.tolist(), columns.ends.tolist(), strict=True)
        assert list(spans) == [(token.id, token.start, token.end) for token in tokenizer.tokens(each)]


def test_halves_are_joined_by_the_last_merge() -> None:
    """Also of pieces in which a symbol could start: their merges are looked for in another way."""
    tokenizer = train(400, user_defined_symbols=["<|python|>", "ent"], hard_vocab_limit=False)
    texts, halves = tokenizer.piece_texts, piece_halves(tokenizer).tolist()
    for number, (text, (left, right)) in enumerate(zip(texts, halves, strict=True)):
        merges = merge_columns(tokenizer, f"\ue000{text.replace('▁', ' ')}\ue000")
        whole = (merges.starts == 1) & (merges.ends == 1 + len(text))
        if tokenizer.pieces[number].type == "normal" and whole.any():
            middle = int(merges.middles[whole][-1]) - 1
            assert (texts[left], texts[right]) == (text[:middle], text[middle:])
        else:
            assert (left, right) == (-1, -1)
