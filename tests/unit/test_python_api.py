"""What people expect of a tokenizer in Python: pickle, worker processes, arrays, and training on anything."""

import multiprocessing
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import piecework as pw

TEXTS = ["den som väntar på något gott", "väntar aldrig för länge", "", "  två  mellanslag"]


@pytest.fixture(scope="module")
def tokenizer() -> pw.Tokenizer:
    return pw.train(TEXTS, pw.Recipe.gpt_sw3(vocab_size=330, hard_vocab_limit=False))


def test_pickle(tokenizer: pw.Tokenizer) -> None:
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.model_bytes == tokenizer.model_bytes
    assert again.frequencies == tokenizer.frequencies
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(tokenizer: pw.Tokenizer, method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(tokenizer.encode, TEXTS) == tokenizer.encode_batch(TEXTS)


def test_ids_and_pieces(tokenizer: pw.Tokenizer) -> None:
    assert len(tokenizer) == tokenizer.vocab_size == len(tokenizer.pieces)
    for piece in tokenizer.pieces:
        assert tokenizer.piece_to_id(piece.text) == piece.id
        assert tokenizer.id_to_piece(piece.id) == piece.text
    assert tokenizer.piece_to_id("no such piece") is None
    assert (tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id) == (0, 1, 2, 3)
    for wrong in (-1, len(tokenizer), "a", None):
        with pytest.raises(pw.InputError, match="is not in the vocabulary"):
            tokenizer.id_to_piece(wrong)  # type: ignore[arg-type]


def test_start_and_end(tokenizer: pw.Tokenizer) -> None:
    ids = tokenizer.encode("väntar")
    assert tokenizer.encode("väntar", add_bos=True, add_eos=True) == [2, *ids, 3]
    assert tokenizer.encode(["väntar", ""], add_eos=True) == [[*ids, 3], [3]]
    plain = pw.train(TEXTS, vocab_size=60, hard_vocab_limit=False, bos_id=-1)
    assert plain.bos_id is None
    with pytest.raises(pw.InputError, match="add_bos: the vocabulary has no bos piece; train with bos_id"):
        plain.encode("x", add_bos=True)
    with pytest.raises(pw.InputError, match="add_bos"):
        plain.encode_batch(["x"], add_bos=True)


def test_batches(tokenizer: pw.Tokenizer) -> None:
    lists = tokenizer.encode_batch(TEXTS)
    arrays = tokenizer.encode_batch(TEXTS, output="numpy", threads=2)
    assert [array.tolist() for array in arrays] == lists
    assert {array.dtype for array in arrays} == {np.dtype(np.int32)}
    arrow = tokenizer.encode_batch(iter(TEXTS), output="arrow", add_eos=True)
    assert arrow.type == pa.list_(pa.int32())
    assert arrow.to_pylist() == [[*ids, 3] for ids in lists]
    assert tokenizer.decode_batch(lists) == tokenizer.decode_batch(arrays) == TEXTS
    assert tokenizer.decode_batch([]) == []


class Dataset:
    """An iterable of records with `column_names`, as `datasets.Dataset` has it."""

    column_names = ("id", "text")

    def __getitem__(self, name: str) -> list[str]:
        assert name == "text"
        return TEXTS


def records() -> Iterator[dict[str, Any]]:
    return ({"id": number, "text": text} for number, text in enumerate(TEXTS))


def test_training_on_anything() -> None:
    arguments = {"vocab_size": 60, "hard_vocab_limit": False}
    expected = pw.train(pw.count_words(TEXTS), pw.Recipe(**arguments)).model_bytes
    table = pa.table({"id": range(4), "text": TEXTS})
    frame = pd.DataFrame({"text": TEXTS, "other": 1})
    sources: list[Any] = [TEXTS, iter(TEXTS), [text.encode() for text in TEXTS], list(records()), records(), Dataset()]
    sources += [table, table["text"], table["text"].combine_chunks(), frame, frame["text"], np.array(TEXTS, object)]
    for source in sources:
        assert pw.train(source, **arguments).model_bytes == expected, type(source)
    renamed = table.rename_columns(["id", "content"])
    assert pw.train(renamed, text="content", **arguments).model_bytes == expected
    assert pw.train(TEXTS, pw.Recipe(hard_vocab_limit=False), vocab_size=60).model_bytes != b""


def test_missing_texts_are_counted() -> None:
    with_none = [*TEXTS, None, None]
    expected = pw.train(TEXTS, vocab_size=60, hard_vocab_limit=False).model_bytes
    sources: list[Any] = [with_none, pd.Series(with_none), pd.DataFrame({"text": with_none}), pa.array(with_none)]
    for source in [*sources, [{"text": text} for text in with_none]]:
        with pytest.warns(UserWarning, match="2 of 6 texts are missing"):
            assert pw.train(source, vocab_size=60, hard_vocab_limit=False).model_bytes == expected, type(source)


def test_the_recipe_is_honoured_on_texts() -> None:
    recipe = pw.Recipe(vocab_size=10, hard_vocab_limit=False, clean_up="gpt-sw3")
    assert pw.train(["a\u00a0b"], recipe).piece_to_id("\u00a0") is None
    assert pw.train(pa.array(["a\u00a0b"]), recipe).piece_to_id("\u00a0") is None
    normalized = pw.train(["ﬁn ﬁn"], vocab_size=10, hard_vocab_limit=False, normalization_rule_name="nfkc")
    assert normalized.piece_to_id("ﬁ") is None
    assert normalized.encode("ﬁn") == normalized.encode("fin")
    long = pw.train(["ab " * 20, "cd cd"], vocab_size=10, hard_vocab_limit=False, max_sentence_length=10)
    assert long.piece_to_id("a") is None
    assert pw.train(["a    b"], vocab_size=9, hard_vocab_limit=False, allow_whitespace_only_pieces=True).piece_to_id(
        "▁▁"
    )
    assert pw.train(["ab"], vocab_size=9, hard_vocab_limit=False, max_sentence_length=2**30).vocab_size == 9


def test_what_cannot_be_trained_on() -> None:
    for source, message in (
        ("one text", "write \\[text\\]"),
        (3, "are an iterable, or counts, not int"),
        ([1, 2], "text 0 is no str but int"),
        ([{"content": "x"}], 'record 0 has no field "text"; it has content; name one with text='),
        (pa.table({"content": ["x"]}), 'the table has no column "text"; it has content'),
        (pd.DataFrame({"content": ["x"]}), 'the table has no column "text"; it has content'),
    ):
        with pytest.raises(pw.InputError, match=message):
            pw.train(source, vocab_size=20)


def test_views(tokenizer: pw.Tokenizer) -> None:
    assert repr(tokenizer).startswith("Tokenizer(330 pieces: 4 special, 4 user-defined, 256 byte, ")
    assert "<td>whitespace</td><td>23</td>" in tokenizer._repr_html_()
    view = tokenizer.show("väntar <b>字")
    assert repr(view).endswith(f"({len(view.tokens)} tokens)")
    page = view._repr_html_()
    assert "&lt;" in page
    assert "<b>" not in page
    assert page.count("<span") == len(view.tokens)
