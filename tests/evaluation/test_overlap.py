"""Overlap against plain sets, at the full sizes and at every size."""

import pytest

import piecework as pw
from piecework.evaluation.overlap import overlap_curve


def learnt(tokenizer: pw.Tokenizer) -> set[str]:
    return {piece.text for piece in tokenizer.pieces if piece.group in ("regular", "character")}


def test_all_pairs(evaluation: pw.Evaluation) -> None:
    tokenizers = evaluation.tokenizers
    rows = pw.vocabulary_overlap(tokenizers, evaluation=evaluation).rows()
    assert len(rows) == len(tokenizers) * (len(tokenizers) - 1)
    for row in rows:
        first, second = (learnt(tokenizers[row[side]]) for side in ("first", "second"))
        shared = first & second
        assert (row["shared"], row["relative"]) == (len(shared), len(shared) / len(first))
        assert row["jaccard"] == len(shared) / len(first | second)
        use = evaluation.frequency_array(row["first"])
        name = row["first"]
        counts = use[evaluation.groups.index(name)] if name in evaluation.groups else use.sum(axis=0)
        pieces = [piece for piece in tokenizers[name].pieces if piece.text in first and piece.group != "byte"]
        total = sum(int(counts[piece.id]) for piece in pieces)
        assert row["weighted"] == sum(int(counts[piece.id]) for piece in pieces if piece.text in shared) / total


def test_every_size(evaluation: pw.Evaluation) -> None:
    multilingual, other = evaluation.tokenizers["multilingual"], evaluation.tokenizers["no"]
    curve = overlap_curve(multilingual, other, evaluation=evaluation, other_name="no")
    assert curve.weighted is not None
    assert curve.shared_at_equal_size is not None
    use = evaluation.frequency_array("no")[evaluation.groups.index("no")]
    others = learnt(other)
    ids = {piece.text: piece.id for piece in other.pieces}
    total = sum(int(use[ids[text]]) for text in others)
    for number in range(0, len(curve.vocab_sizes), 577):
        size = int(curve.vocab_sizes[number])
        pieces = learnt(multilingual.resize(size))
        assert curve.pieces[number] == len(pieces)
        assert curve.shared[number] == len(pieces & others)
        assert curve.jaccard[number] == len(pieces & others) / len(pieces | others)
        assert curve.relative[number] == len(pieces & others) / len(pieces)
        assert curve.relative_to_other[number] == len(pieces & others) / len(others)
        assert curve.weighted[number] == sum(int(use[ids[text]]) for text in pieces & others) / total
        try:
            resized = other.resize(size)
        except pw.InputError:
            assert curve.shared_at_equal_size[number] != curve.shared_at_equal_size[number]
        else:
            assert curve.shared_at_equal_size[number] == len(pieces & learnt(resized))
    at_full = pw.vocabulary_overlap({"a": multilingual, "b": other}).where(first="a").rows()[0]
    assert curve.shared[-1] == at_full["shared"]
    assert curve.table(1000).column("vocab_size")[-1] == multilingual.vocab_size


def test_a_name_is_needed(evaluation: pw.Evaluation) -> None:
    tokenizer = evaluation.tokenizers["sv"]
    with pytest.raises(pw.InputError, match="other_name"):
        overlap_curve(tokenizer, tokenizer, evaluation=evaluation)
    same = overlap_curve(tokenizer, tokenizer)
    assert same.weighted is None
    assert same.shared.tolist() == same.pieces.tolist()
    assert same.shared_at_equal_size is not None
    assert same.shared_at_equal_size.tolist() == same.pieces.tolist()
