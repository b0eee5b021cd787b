"""Vocabulary groups, unreachable pieces, and the use of a vocabulary by language."""

import numpy as np
import pytest

import adversarial
import piecework as pw
from evaluation.vocabularies import tokenizer_of
from piecework.evaluation.piece_columns import piece_columns
from piecework.tokenizer.pieces import GROUP_ORDER
from piecework.tokenizer.reachable import reachable_pieces


def test_a_piece_out_of_reach() -> None:
    # In "abcd" ab is made first, and then neither abc nor cd is a piece.
    tokenizer = tokenizer_of(["ab", "bc", "bcd", "abcd", "▁b", "xyz"], "▁abcdxyz")
    assert tokenizer.encode_pieces("zabcd") == ["▁", "z", "ab", "c", "d"]
    table = pw.analyse_vocabulary(tokenizer).unreachable
    found = {row["piece"]: row["reason"] for row in table.rows() if row["group"] != "byte"}
    assert found == {"abcd": "its characters merge differently", "xyz": "no two pieces merge into it"}


def test_pieces_from_inside_words_are_within_reach() -> None:
    """Decoding drops ▁ and encoding adds it, so encode(decode(i)) does not tell whether they are reachable."""
    tokenizer = tokenizer_of(["us", "hus", "▁h", "▁hus"], "▁hus")
    hus = next(piece.id for piece in tokenizer.pieces if piece.text == "hus")
    assert tokenizer.encode(tokenizer.decode([hus])) != [hus]
    assert reachable_pieces(tokenizer)[hus]


def test_bytes() -> None:
    tokenizer = tokenizer_of([], "▁a" + "".join(map(chr, range(0xC0, 0x100))))
    reachable = reachable_pieces(tokenizer)
    out = {piece.text for piece in tokenizer.pieces if piece.type == "byte" and not reachable[piece.id]}
    never = {f"<0x{byte:02X}>" for byte in (0xC0, 0xC1, *range(0xF5, 0x100))}
    # The letter a and space are pieces; C3 starts the characters from U+00C0 to U+00FF, and all of these are pieces.
    assert out == never | {"<0x61>", "<0x20>", "<0xC3>"}
    reasons = {row["piece"]: row["reason"] for row in pw.analyse_vocabulary(tokenizer).unreachable.rows()}
    assert reasons["<0xFF>"] == "UTF-8 has no such byte"
    assert reasons["<0xC3>"] == "every character with this byte is a piece"


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("prefix", [True, False])
def test_no_text_has_an_unreachable_piece(byte_fallback: bool, prefix: bool) -> None:
    texts = [adversarial.text(seed).replace("\0", "") for seed in range(80)]
    recipe = pw.Recipe(vocab_size=3000, hard_vocab_limit=False, byte_fallback=byte_fallback, add_dummy_prefix=prefix)
    tokenizer = pw.train(pw.count_words(texts), recipe)
    reachable = reachable_pieces(tokenizer)
    unknown = next(piece.id for piece in tokenizer.pieces if piece.type == "unknown")
    for text in texts:
        for token in tokenizer.encode(text):
            assert reachable[token] or token == unknown
    # And each piece that is reported as reachable is a token between characters that are in no piece.
    for piece in tokenizer.pieces:
        if reachable[piece.id] and piece.type == "normal":
            assert piece.id in tokenizer.encode(f"\U0010fffd{piece.text}\U0010fffd".replace("▁", " "))


def test_columns_are_those_of_the_pieces() -> None:
    recipe = pw.Recipe.gpt_sw3(vocab_size=900, hard_vocab_limit=False, user_defined_symbols=("▁a", "bc"))
    tokenizer = pw.train(pw.count_words([adversarial.text(seed) for seed in range(9)]), recipe)
    columns = piece_columns(tokenizer)
    assert columns.texts.to_pylist() == [piece.text for piece in tokenizer.pieces]
    assert [GROUP_ORDER[number] for number in columns.groups] == [piece.group for piece in tokenizer.pieces]
    assert columns.characters.tolist() == [len(piece.text) for piece in tokenizer.pieces]
    assert columns.spaces.tolist() == [piece.text.count("▁") for piece in tokenizer.pieces]
    assert set(np.array(GROUP_ORDER)[columns.groups]) >= {"special", "user-defined", "byte", "regular", "whitespace"}


def test_groups_and_lengths(tokenizers: dict[str, pw.Tokenizer]) -> None:
    tokenizer = tokenizers["multilingual"]
    analysis = pw.analyse_vocabulary(tokenizer)
    groups = {row["group"]: row for row in analysis.groups.rows()}
    assert groups["special"]["ids"] == "0-3"
    assert groups["user-defined"]["ids"] == "4-7"
    assert groups["byte"]["ids"] == "8-263"
    assert groups["whitespace"]["pieces"] == 23
    assert sum(row["pieces"] for row in groups.values()) == tokenizer.vocab_size
    text = analysis.lengths.where(kind="text").rows()
    counted = {row["characters"]: row["pieces_with_space_counted"] for row in text}
    assert {length: count for length, count in counted.items() if count} == tokenizer.length_histogram()
    for column in ("pieces_with_space_counted", "pieces_without_space_counted"):
        assert sum(analysis.lengths.column(column)) == tokenizer.vocab_size
    # ▁ and the 23 runs have no character but ▁.
    assert text[0]["characters"] == 0
    assert text[0]["pieces_without_space_counted"] == 24
    assert analysis.lengths.where(kind="byte").column("pieces_with_space_counted") == [256]


def test_groups_that_are_not_contiguous() -> None:
    recipe = pw.Recipe(vocab_size=30, unk_id=0, bos_id=5, eos_id=9, hard_vocab_limit=False)
    tokenizer = pw.train(pw.count_words(["ett två tre fyra fem"]), recipe)
    row = pw.analyse_vocabulary(tokenizer).groups.where(group="special").rows()[0]
    assert (row["ids"], row["pieces"], row["contiguous"]) == ("0, 5, 9", 3, False)


def test_use(evaluation: pw.Evaluation) -> None:
    analysis = pw.analyse_vocabulary(evaluation.tokenizers["multilingual"], evaluation, name="multilingual")
    assert analysis.use is not None
    assert analysis.unused is not None
    frequencies = evaluation.frequency_array("multilingual")
    rows = {row["language"]: row for row in analysis.use.rows()}
    assert sum(row["share_of_use"] for row in rows.values()) == pytest.approx(1)
    for number, language in enumerate(evaluation.groups):
        used = {i for i in range(frequencies.shape[1]) if frequencies[number, i]}
        others = {i for i in range(frequencies.shape[1]) if np.delete(frequencies, number, axis=0)[:, i].any()}
        assert rows[language]["pieces_used"] == len(used)
        assert rows[language]["pieces_only_here"] == len(used - others)
    never = {row["id"] for row in analysis.unused.rows()}
    assert never
    assert not frequencies[:, sorted(never)].any()
    assert "share_of_use" in analysis.use.columns
