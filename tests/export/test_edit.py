"""Edited models load in SentencePiece and encode as they should. Edits that would break a model are refused."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import adversarial
import piecework as pw
from cli.command import Run
from piecework.tokenizer.edit import Edited, edit
from piecework.tokenizer.export import export_hf
from piecework.tokenizer.reachable import reachable_pieces
from piecework.tokenizer.verify import verify
from sentencepiece_oracle import encode_batch, load, parse


@pytest.fixture(scope="module")
def tokenizer(code_lines: list[str]) -> pw.Tokenizer:
    return pw.train(pw.count_words(code_lines, threads=2), pw.Recipe.gpt_sw3(vocab_size=3_000, whitespace_runs=None))


@pytest.fixture(scope="module")
def with_runs(code_lines: list[str]) -> pw.Tokenizer:
    return pw.train(pw.count_words(code_lines, threads=2), pw.Recipe.gpt_sw3(vocab_size=3_000))


@pytest.fixture(scope="module")
def texts(stdlib_sources: list[str]) -> list[str]:
    return [*stdlib_sources[::160], *(adversarial.text(seed) for seed in range(200))]


def check(before: pw.Tokenizer, done: Edited) -> None:
    """The files agree with each other, the mapping with the pieces, and SentencePiece with us."""
    after = done.tokenizer
    message = parse(after.model_bytes)
    assert message.trainer_spec.vocab_size == len(message.pieces) == after.vocab_size
    lines = after.vocab_text.removesuffix("\n").split("\n")
    assert [line.rpartition("\t")[0] for line in lines] == [piece.piece for piece in message.pieces]
    symbols = [piece.piece for piece in message.pieces if piece.type == piece.USER_DEFINED]
    assert sorted(message.trainer_spec.user_defined_symbols) == sorted(symbols)
    processor = load(after.model_bytes)
    assert processor.get_piece_size() == after.vocab_size
    assert len(done.mapping) == before.vocab_size
    for old, new in enumerate(done.mapping):
        if new is not None and before.pieces[old].type != "unused":
            assert processor.id_to_piece(new) == before.pieces[old].text
            assert after.pieces[new].type == before.pieces[old].type
    kept = [new for new in done.mapping if new is not None]
    assert kept == sorted(set(kept)), "pieces keep their order"
    gone = {old for old, new in enumerate(done.mapping) if new is None}
    assert {piece.id for piece in done.dropped} == gone
    assert len(kept) + len(done.added) - sum(n.id in kept for n in done.added) == after.vocab_size


def assert_maps(before: pw.Tokenizer, done: Edited, texts: list[str]) -> None:
    """Texts that contain no dropped and no added piece are encoded to the same pieces."""
    changed = [piece.text.replace("▁", " ") for piece in (*done.dropped, *done.added)]
    same = [text for text in texts if not any(part in f" {text.replace('▁', ' ')}" for part in changed)]
    expected = [[done.mapping[i] for i in ids] for ids in encode_batch(load(before.model_bytes), same)]
    assert encode_batch(load(done.tokenizer.model_bytes), same) == expected
    assert done.tokenizer.encode_batch(same) == expected


def test_truncation_is_training_at_that_size(tokenizer: pw.Tokenizer, with_runs: pw.Tokenizer) -> None:
    for model in (tokenizer, with_runs):
        for size in (2_999, 2_000, 1_000):
            done = edit(model, truncate=size)
            assert done.tokenizer.model_bytes == model.resize(size).model_bytes
            assert done.unreachable == ()
            check(model, done)


def test_symbols_take_reserved_places(tokenizer: pw.Tokenizer, texts: list[str]) -> None:
    reserved = edit(tokenizer, reserve=3, pad_to_multiple=128)
    size = reserved.tokenizer.vocab_size
    assert size % 128 == 0
    assert {piece.type for piece in reserved.added} == {"unused"}
    check(tokenizer, reserved)
    assert_maps(tokenizer, reserved, texts)
    done = edit(reserved.tokenizer, add_symbols=["<|sv|>", "<|da|>"])
    assert done.tokenizer.vocab_size == size
    assert [piece.id for piece in done.added] == [3_000, 3_001]
    assert done.mapping == tuple(range(size))
    check(reserved.tokenizer, done)
    python = done.tokenizer.encode("<|python|>")[-1]
    assert load(done.tokenizer.model_bytes).encode("<|sv|>hej<|python|>")[1] == 3_000
    assert load(done.tokenizer.model_bytes).encode("<|sv|>hej<|python|>")[-1] == python
    again = edit(done.tokenizer, add_symbols=["<|reserved_7|>"])
    assert again.added[0].id == 3_007, "a place is reserved under this very name"
    more = edit(tokenizer, add_symbols=["<|sv|>"])
    assert more.tokenizer.vocab_size == 3_001


def test_whitespace_runs(tokenizer: pw.Tokenizer, with_runs: pw.Tokenizer, texts: list[str]) -> None:
    for order in ("portable", "paper"):
        done = edit(tokenizer, whitespace_runs=(2, 24), run_order=order)
        assert [piece.group for piece in done.added] == ["whitespace"] * 23
        check(tokenizer, done)
        assert_maps(tokenizer, done, texts)
        for length in range(1, 60):
            run = load(done.tokenizer.model_bytes).encode(" " * length, out_type=str)
            assert run == ["▁" * 24] * ((length + 1) // 24) + ["▁" * ((length + 1) % 24)] * ((length + 1) % 24 > 0)
    assert edit(with_runs, whitespace_runs=(2, 24)).added == (), "those that are there are not added twice"
    assert [len(piece.text) for piece in edit(with_runs, whitespace_runs=(20, 26), run_order="paper").added] == [25, 26]


def test_runs_are_those_of_training(tokenizer: pw.Tokenizer, code_lines: list[str]) -> None:
    """Runs added afterwards, in place of the last merges, give the model that training with runs gives."""
    counts = pw.count_words(code_lines, threads=2)
    for order in ("portable", "paper"):
        trained = pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=3_000, whitespace_runs=order))
        done = edit(tokenizer, truncate=3_000 - 23, whitespace_runs=(2, 24), run_order=order)
        assert done.tokenizer.model_bytes == trained.model_bytes


def test_what_depends_on_a_piece(tokenizer: pw.Tokenizer, texts: list[str]) -> None:
    """By default such an edit is refused. With `unreachable`, the dependants are kept and reported, or dropped too."""
    with pytest.raises(pw.InputError, match=r"without 'se' the pieces .* are unreachable; drop them too") as error:
        edit(tokenizer, drop=["se"])
    kept = edit(tokenizer, drop=["se"], unreachable="keep")
    assert kept.unreachable
    assert repr(kept.unreachable[0].text) in str(error.value)
    reachable = reachable_pieces(kept.tokenizer)
    before = reachable_pieces(tokenizer)
    lost = {kept.mapping[i] for i in range(3_000) if before[i] and kept.mapping[i] is not None} - set(
        map(int, reachable.nonzero()[0])
    )
    assert {piece.id for piece in kept.unreachable} == lost
    check(tokenizer, kept)
    dropped = edit(tokenizer, drop=["se"], unreachable="drop")
    assert {piece.text for piece in dropped.dropped} >= {"se", *(piece.text for piece in kept.unreachable)}
    assert dropped.unreachable == ()
    check(tokenizer, dropped)
    assert_maps(tokenizer, dropped, texts)


def test_a_character_that_others_need(tokenizer: pw.Tokenizer) -> None:
    with pytest.raises(pw.InputError, match=r"without 'z' the piece.* unreachable"):
        edit(tokenizer, drop=["z"])
    done = edit(tokenizer, drop=["z"], unreachable="drop")
    assert not any("z" in piece.text for piece in done.tokenizer.pieces if piece.type == "normal")
    assert load(done.tokenizer.model_bytes).encode("z", out_type=str) == ["▁", "<0x7A>"]
    check(tokenizer, done)


def test_a_symbol_that_hides_pieces(tokenizer: pw.Tokenizer) -> None:
    with pytest.raises(pw.InputError, match=r"with the symbol 'ret' the pieces .* are unreachable"):
        edit(tokenizer, add_symbols=["ret"], drop=["ret"] if "ret" in {p.text for p in tokenizer.pieces} else [])


def test_ids_can_stay(tokenizer: pw.Tokenizer, texts: list[str], tmp_path: Path) -> None:
    words = [piece.text for piece in tokenizer.pieces[-400:] if piece.group == "regular"][-5:]
    words = words or [piece.text for piece in tokenizer.pieces if piece.group == "regular"][-5:]
    done = edit(tokenizer, drop=[*words, "<|sql|>"], keep_ids=True, unreachable="drop")
    assert done.tokenizer.vocab_size == tokenizer.vocab_size
    assert all(new in (None, old) for old, new in enumerate(done.mapping))
    assert all(done.tokenizer.pieces[piece.id].type == "unused" for piece in done.dropped)
    check(tokenizer, done)
    assert_maps(tokenizer, done, texts)
    export_hf(done.tokenizer, tmp_path)
    compared = verify(done.tokenizer, texts[:200], folder=tmp_path, runtimes=["tokenizers", "AutoTokenizer"])
    assert compared.is_fine


@pytest.mark.parametrize("seed", range(16))
def test_random_edits(seed: int, with_runs: pw.Tokenizer, tokenizer: pw.Tokenizer, texts: list[str]) -> None:
    rng = random.Random(seed)
    model = rng.choice([with_runs, tokenizer])
    regular = [piece.text for piece in model.pieces if piece.group in ("regular", "character", "whitespace")]
    options: dict[str, Any] = {"unreachable": rng.choice(["keep", "drop"]), "keep_ids": rng.random() < 0.3}
    if rng.random() < 0.7:
        options["drop"] = rng.sample(regular, rng.choice([1, 3, 20]))
        options["drop"] += rng.sample(["<|sql|>", "<|shell|>"], rng.choice([0, 0, 1]))
    if rng.random() < 0.4 and not options["keep_ids"]:
        options["truncate"] = rng.randint(1_500, 2_900)
    if rng.random() < 0.4 and "▁" not in options.get("drop", ()):
        options |= {"whitespace_runs": (2, rng.choice([4, 24, 30])), "run_order": rng.choice(["paper", "portable"])}
    if rng.random() < 0.5:
        options["add_symbols"] = rng.sample(["<|sv|>", "<|da|>", "<|x y|>", "\u0301\u0300"], rng.randint(1, 3))
    if rng.random() < 0.5:
        options["reserve"] = rng.choice([1, 10])
    if rng.random() < 0.5:
        options["pad_to_multiple"] = rng.choice([8, 128])
    done = edit(model, **options)
    check(model, done)
    assert done.tokenizer.vocab_size % options.get("pad_to_multiple", 1) == 0
    if options["unreachable"] == "drop":
        assert done.unreachable == ()
    assert_maps(model, done, texts)
    ours = done.tokenizer.encode_batch(texts)
    assert ours == encode_batch(load(done.tokenizer.model_bytes), texts)
    again = edit(done.tokenizer, reserve=1)
    check(done.tokenizer, again)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["<unk>"]}, "'<unk>' (id 1) cannot be dropped: it is the unknown piece"),
        ({"drop": ["<s>"]}, "cannot be dropped: it is a special piece"),
        ({"drop": ["<0x41>"]}, "cannot be dropped: it is one of the 256 bytes"),
        ({"drop": ["no such piece"]}, "no piece 'no such piece' in the vocabulary"),
        ({"truncate": 100}, "cannot truncate to 100: special pieces, symbols, bytes, characters and whitespace runs"),
        ({"truncate": 5_000}, "cannot truncate to 5,000: only 3,000 pieces are left"),
        ({"add_symbols": ["<|python|>"]}, "'<|python|>' is a piece already, with id"),
        ({"add_symbols": ["<x>", "<x>"]}, "the symbol '<x>' is given twice"),
        ({"add_symbols": [""]}, "is empty"),
        ({"whitespace_runs": (1, 4)}, "give lengths of at least 2"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_mistakes(tokenizer: pw.Tokenizer, options: dict[str, Any], message: str) -> None:
    with pytest.raises(pw.InputError) as error:
        edit(tokenizer, **options)
    assert message in str(error.value)


def test_command(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "unwanted.txt").write_text("landen\n▁verhet\t-3\n", encoding="utf-8")
    pieces = {piece.text: piece.id for piece in pw.Tokenizer.load(model).pieces}
    unwanted = [text for text in pieces if len(text) > 6 and text.isalpha()][:2]
    (tmp_path / "unwanted.txt").write_text("".join(f"{text}\t-3\n" for text in unwanted), encoding="utf-8")
    edits = ("--drop", "unwanted.txt", "--unreachable", "drop", "--add-symbol", "<|sv|>", "--pad-to-multiple", "128")
    dry = run("edit", model, *edits, "--dry-run", "--json")
    assert dry.returncode == 0, dry.stderr
    assert json.loads(dry.stdout)["out"] is None
    assert not (tmp_path / "new").exists()
    done = run("edit", model, *edits, "--out", "new")
    assert done.returncode == 0, done.stderr
    assert "next: piecework verify new" in done.stderr
    new = pw.Tokenizer.load(tmp_path / "new")
    assert new.vocab_size % 128 == 0
    mapping = json.loads((tmp_path / "new" / "id_mapping.json").read_text())
    assert mapping["new_ids"][pieces[unwanted[0]]] is None
    assert mapping["added"][0]["piece"] == "<|sv|>"
    assert mapping["new_size"] == new.vocab_size == len((tmp_path / "new" / "tokenizer.vocab").read_text().splitlines())
    again = run("edit", model, *edits, "--out", "new")
    assert again.returncode == 1
    assert "pass --force to overwrite them" in again.stderr


def test_command_mistakes(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "latin1.txt").write_bytes("för\n".encode("latin-1"))
    for arguments, code, message in (
        ((model, "--out", "x"), 2, "nothing to edit"),
        ((model, "--reserve", "2"), 2, 'missing option "--out DIR"'),
        ((model, "--whitespace-runs", "a:b", "--out", "x"), 2, "write the shortest and the longest length as 2:24"),
        ((model, "--drop", "latin1.txt", "--out", "x"), 1, "not valid UTF-8; write one piece per line"),
        ((model, "--drop", "<unk>", "--out", "x"), 1, "cannot be dropped"),
        (("missing.model", "--reserve", "2", "--out", "x"), 1, "no such model file"),
    ):
        done = run("edit", *arguments)
        assert done.returncode == code, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()
