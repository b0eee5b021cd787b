"""Pruning gives the ids of steps to the next merges, and SentencePiece gives the same ids."""

import json
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from cli.command import Run
from evaluation.counts import counted_study, made_up_texts
from piecework.counting.store import Counts
from piecework.health.behaviour_checks import sample_texts

SIZE, LARGER = 420, 520
TEXTS = made_up_texts()


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return counted_study(tmp_path_factory.mktemp("prune"), TEXTS)


@pytest.fixture(scope="module")
def larger(counts: Counts) -> pw.Tokenizer:
    return pw.train(counts.training(), pw.Recipe(vocab_size=LARGER, byte_fallback=True))


def test_sentencepiece_gives_the_same_ids(counts: Counts, larger: pw.Tokenizer) -> None:
    done = pw.prune(larger.resize(SIZE), counts, larger=larger)
    assert done.pruned
    assert done.filled
    assert done.active_size == SIZE
    processor = sentencepiece.SentencePieceProcessor(model_proto=done.tokenizer.model_bytes)
    texts = [*sample_texts(larger), *(text for each in TEXTS.values() for text in each)]
    found = done.tokenizer.encode_batch(texts)
    assert found == [processor.encode(text) for text in texts]
    assert max(number for ids in found for number in ids) < SIZE
    assert [done.tokenizer.decode(ids) for ids in found] == [larger.decode(larger.encode(text)) for text in texts]


def test_the_rest_is_encoded_as_by_the_larger_vocabulary(counts: Counts, larger: pw.Tokenizer) -> None:
    small = larger.resize(SIZE)
    done = pw.prune(small, counts, larger=larger)
    grown = larger.resize(done.tokenizer.vocab_size)
    pruned = {each.piece.text for each in done.pruned}
    same = 0
    for text in (text for each in TEXTS.values() for text in each):
        pieces = grown.encode_pieces(text)
        if pruned.isdisjoint(pieces):
            same += 1
            assert done.tokenizer.encode_pieces(text) == pieces
    assert same
    assert {piece.text for piece in done.filled} <= set(grown.piece_texts) - set(small.piece_texts)
    for old, new in enumerate(done.mapping):
        assert small.id_to_piece(old) == done.tokenizer.id_to_piece(new)


def test_costs_are_counted_on_the_training_text(counts: Counts, larger: pw.Tokenizer) -> None:
    done = pw.prune(larger.resize(SIZE), counts, larger=larger)
    grown = larger.resize(done.tokenizer.vocab_size)
    tokens = dict.fromkeys((each.piece.text for each in done.pruned), 0)
    before = after = 0
    for word, count in counts.training().items():
        # The training text has words at the start of a line without ▁; encoding adds it.
        text = word.replace("▁", " ", 1).removeprefix(" ")
        pieces = grown.encode_pieces(text)
        before += count * len(pieces)
        after += count * len(done.tokenizer.encode_pieces(text))
        for piece in pieces:
            if piece in tokens:
                tokens[piece] += count
    assert {each.piece.text: each.tokens for each in done.pruned} == tokens
    assert after - before == sum(each.cost for each in done.pruned)


def test_without_a_larger_vocabulary(counts: Counts, larger: pw.Tokenizer) -> None:
    done = pw.prune(larger, counts)
    assert done.filled == ()
    assert all(each.tokens == 0 for each in done.pruned)
    assert done.active_size == LARGER - len(done.pruned)


def test_another_training_is_refused(counts: Counts, larger: pw.Tokenizer) -> None:
    other = pw.train(["helt andra ord " * 9], vocab_size=300, byte_fallback=True, hard_vocab_limit=False)
    with pytest.raises(pw.InputError, match="not from the same training"):
        pw.prune(other, counts, larger=larger)


def test_the_command(run: Run, counts: Counts, larger: pw.Tokenizer, tmp_path: Path) -> None:
    larger.save(tmp_path / "larger")
    larger.resize(SIZE).save(tmp_path / "small")
    arguments = ("edit", tmp_path / "small", "--prune", "--counts", counts.folder, "--larger", tmp_path / "larger")
    done = run(*arguments, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["active_size"] == SIZE
    assert found["pruned"][0].keys() == {"piece", "tokens", "cost"}
    assert json.loads((tmp_path / "out/id_mapping.json").read_text())["new_ids"] == found["new_ids"]
    assert pw.Tokenizer.load(tmp_path / "out").vocab_size == found["new_size"]
    assert run(*arguments, "--out", tmp_path / "out").returncode == 1  # nothing is overwritten
    assert run(*arguments, "--dry-run").returncode == 0
    assert run("edit", tmp_path / "small", "--prune", "--out", tmp_path / "x").returncode == 2
    assert run(*arguments, "--truncate", "400", "--out", tmp_path / "x").returncode == 2


def test_a_byte_level_tokenizer_is_refused(run: Run, counts: Counts, tmp_path: Path) -> None:
    pre_tokens = pw.count_pre_tokens(["en ros är en ros"], pre_tokenizer="gpt2")
    pw.train(pre_tokens, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260)).save(tmp_path / "bytes")
    done = run("edit", tmp_path / "bytes", "--prune", "--counts", counts.folder, "--out", tmp_path / "out")
    assert (done.returncode, "a byte-level tokenizer cannot be pruned" in done.stderr) == (1, True)
