"""`verify` finds every single damage of an export: a piece, an id, a score, a merge, an added token.

PIECEWORK_DAMAGES sets how many random damages are tried; `make test` tries some of them, with a fixed seed.
"""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import piecework as pw
from piecework.tokenizer.columns import merge_columns
from piecework.tokenizer.export import export_hf
from piecework.tokenizer.hard_texts import fuzzed_texts
from piecework.tokenizer.reachable import border_character
from piecework.tokenizer.verify import verify
from sentencepiece_oracle import parse

DAMAGES = int(os.environ.get("PIECEWORK_DAMAGES", "60"))


@pytest.fixture(scope="module")
def small(code_lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = pw.Recipe.gpt_sw3(vocab_size=900, control_symbols=["<c>"], character_coverage=0.98)
    folder = tmp_path_factory.mktemp("small")
    export_hf(pw.train(pw.count_words(code_lines[::20]), recipe), folder)
    return folder


def damage_json(content: dict[str, Any], rng: random.Random) -> str:
    """Changes one entry of a tokenizer.json, and says which."""
    vocab, merges, added = content["model"]["vocab"], content["model"]["merges"], content["added_tokens"]

    def delete_merge() -> str:
        return f"no merge {merges.pop(rng.randrange(len(merges)))}"

    def swap_merges() -> str:
        first, second = rng.sample(range(len(merges)), 2)
        merges[first], merges[second] = merges[second], merges[first]
        return f"merges {merges[first]} and {merges[second]} swapped"

    def swap_neighbours() -> str:
        at = rng.randrange(len(merges) - 1)
        merges[at], merges[at + 1] = merges[at + 1], merges[at]
        return f"merges {merges[at]} and {merges[at + 1]} swapped"

    def repeat_merge() -> str:
        merges.insert(rng.randrange(len(merges)), rng.choice(merges))
        return "a merge twice"

    def swap_ids() -> str:
        first, second = rng.sample(list(vocab), 2)
        vocab[first], vocab[second] = vocab[second], vocab[first]
        return f"ids of {first!r} and {second!r} swapped"

    def change_id() -> str:
        text = rng.choice(list(vocab))
        vocab[text] += rng.choice((1, 7, 100_000))
        return f"another id of {text!r}"

    def rename_piece() -> str:
        text = rng.choice(list(vocab))
        vocab[text + rng.choice(("e", "Ω", " "))] = vocab.pop(text)
        return f"{text!r} renamed"

    def delete_added() -> str:
        return f"no added token {added.pop(rng.randrange(len(added)))}"

    def change_added() -> str:
        token = rng.choice(added)
        name = rng.choice(list(token))
        token[name] = {str: "<other>", bool: not token[name], int: 5 if token[name] != 5 else 6}[type(token[name])]
        return f"{name} of an added token is {token[name]!r}"

    def change_model() -> str:
        name = rng.choice(["byte_fallback", "ignore_merges", "fuse_unk"])
        content["model"][name] = not content["model"][name]
        return f"{name} is {content['model'][name]}"

    kinds: list[Callable[[], str]] = [
        *(delete_merge, swap_merges, swap_neighbours, repeat_merge, swap_ids, change_id, rename_piece),
        *(delete_added, change_added),
    ]
    return rng.choice([*kinds, *kinds, change_model])()


def damage_model(model: Any, rng: random.Random) -> str:
    """Changes one piece of a .model, and says how."""
    piece = rng.choice(model.pieces)
    kind = rng.randrange(4)
    before = str(piece).replace("\n", " ")
    if kind == 0:
        piece.piece += rng.choice(("e", "Ω", "▁"))
    elif kind == 1:
        piece.score += rng.choice((-1.5, 0.5, 300.0, -300.0))
    elif kind == 2:
        piece.type = rng.choice([number for number in (1, 3, 4, 5) if number != piece.type])
    else:
        other = rng.choice([each for each in model.pieces if each.piece != piece.piece])
        piece.piece, other.piece = other.piece, piece.piece
    return f"{before}→ {str(piece)!r}"


def test_every_damage_is_found(small: Path, tmp_path: Path) -> None:
    whole = pw.Tokenizer.load(small)
    assert verify(whole, folder=small, runtimes=["tokenizers"]).is_fine
    rng = random.Random(7)
    missed = []
    for number in range(DAMAGES):
        folder = tmp_path / str(number)
        shutil.copytree(small, folder)
        if rng.random() < 0.7:
            content = orjson.loads((folder / "tokenizer.json").read_bytes())
            what = damage_json(content, rng)
            (folder / "tokenizer.json").write_bytes(orjson.dumps(content))
        else:
            name = rng.choice(["tokenizer.model", "spiece.model"])
            model = parse((folder / name).read_bytes())
            what = f"{name}: {damage_model(model, rng)}"
            (folder / name).write_bytes(model.SerializeToString())
        try:
            is_found = not verify(pw.Tokenizer.load(folder), folder=folder, runtimes=["tokenizers"]).is_fine
        except pw.PieceworkError:
            is_found = True  # the model cannot be loaded
        if not is_found:
            missed.append(what)
        shutil.rmtree(folder)
    assert missed == []


def test_a_missing_merge_shows_in_the_ids(small: Path, tmp_path: Path) -> None:
    """The ids alone show it: for every merge that makes a piece, one of the texts performs it."""
    whole = pw.Tokenizer.load(small)
    content = orjson.loads((small / "tokenizer.json").read_bytes())
    shutil.copytree(small, tmp_path / "damaged")
    rng = random.Random(3)
    pieces = [piece.text for piece in whole.pieces if piece.group == "regular"]
    for text in rng.sample(pieces, 15):
        used = [merge for merge in content["model"]["merges"] if "".join(merge) == text]
        kept = [merge for merge in content["model"]["merges"] if "".join(merge) != text]
        assert used
        damaged = {**content, "model": {**content["model"], "merges": kept}}
        (tmp_path / "damaged" / "tokenizer.json").write_bytes(orjson.dumps(damaged))
        (_, result) = verify(whole, folder=tmp_path / "damaged", runtimes=["tokenizers"]).results
        assert result.unexplained, text


def test_a_file_of_other_software_is_judged_by_its_ids(small: Path, tmp_path: Path) -> None:
    """A file that has only the merges that encoding performs gives the same ids, so `verify` accepts it."""
    whole = pw.Tokenizer.load(small)
    border = border_character(whole)
    performed = set()
    for piece in whole.pieces:
        if piece.type == "normal" and len(piece.text) > 1:
            text = border + piece.text + border
            merges = merge_columns(whole, text)
            for start, middle, end in zip(merges.starts, merges.middles, merges.ends, strict=True):
                performed.add((text[start:middle], text[middle:end]))
    content = orjson.loads((small / "tokenizer.json").read_bytes())
    every = content["model"]["merges"]
    content["model"]["merges"] = [merge for merge in every if tuple(merge) in performed]
    assert len(content["model"]["merges"]) < 0.9 * len(every)
    shutil.copytree(small, tmp_path / "other")
    (tmp_path / "other" / "tokenizer.json").write_bytes(orjson.dumps(content))
    done = verify(whole, list(fuzzed_texts(whole, 500)), folder=tmp_path / "other", runtimes=["tokenizers"])
    assert done.results[1].status == "compared"
    assert done.is_fine
