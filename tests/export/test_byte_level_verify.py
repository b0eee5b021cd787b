"""`verify` and `export` of byte-level tokenizers: every runtime agrees, and every single damage of a file is found.

PIECEWORK_DAMAGES sets how many random damages are tried; `make test` tries some of them, with a fixed seed.
"""

import base64
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import tiktoken
import tokenizers

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts
from cli.command import Run
from cli.conftest import model, run, text_file  # noqa: F401  # fixtures
from piecework.tokenizer.byte_level_ranks import irregularities, merges_of
from piecework.tokenizer.byte_level_runtimes import BYTE_LEVEL_RUNTIMES

DAMAGES = int(os.environ.get("PIECEWORK_DAMAGES", "60"))


def train(pre_tokenizer: str, vocab_size: int = 420) -> pw.ByteLevelTokenizer:
    counts = pw.count_pre_tokens(
        [*fuzzed_texts(300, seed=31), "så är det, it's 2026 "] * 2, pre_tokenizer=pre_tokenizer
    )
    special = ["<|end|>", "<|pad|>"]
    return pw.train(
        counts, pw.Recipe.byte_level(pre_tokenizer=pre_tokenizer, vocab_size=vocab_size, special_tokens=special)
    )


@pytest.fixture(scope="module")
def tokenizer() -> pw.ByteLevelTokenizer:
    return train("llama3")


@pytest.fixture(scope="module")
def folder(tokenizer: pw.ByteLevelTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    for form in ("hf", "tiktoken"):
        pw.export(tokenizer, folder, to=form)  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize("name", pw.PreTokenizer.names())
def test_every_runtime(name: str) -> None:
    """All runtimes are installed for the tests. tiktoken takes one pattern, gigatoken takes those it knows."""
    tokenizer = train(name)
    done = pw.verify(tokenizer, fuzzed_texts(300, seed=32))
    assert [result.name for result in done.results] == ["piecework", *(each.name for each in BYTE_LEVEL_RUNTIMES)]
    for result in done.results[1:]:
        is_refused = (name == "deepseek-v3" and result.name == "tiktoken") or result.name == "gigatoken"
        assert result.status == "compared" or (is_refused and result.status == "not supported"), result
        # gigatoken reads the pattern of cl100k without its part for whitespace at the end of a text.
        assert result.unexplained == 0, (result.name, result.differences)
    assert done.unseen == 13  # the bytes that UTF-8 does not use


def test_files_of_tiktoken_load_with_their_settings(tokenizer: pw.ByteLevelTokenizer, folder: Path) -> None:
    loaded = pw.ByteLevelTokenizer.load(folder / "tokenizer.tiktoken")
    assert loaded.pre_tokenizer == tokenizer.pre_tokenizer
    assert loaded.model.special_tokens == tokenizer.model.special_tokens
    assert not loaded.note
    texts = [text + "<|end|>" for text in fuzzed_texts(500, seed=33)]
    assert loaded.encode_batch(texts, allowed_special="all") == tokenizer.encode_batch(texts, allowed_special="all")
    assert merges_of(loaded.model) == tokenizer.model.merges


def test_ranks_become_merges(folder: Path, tmp_path: Path) -> None:
    """A tokenizer of ranks alone, exported for Hugging Face: the same ids, also for tokens that no merge makes."""
    settings = orjson.loads((folder / "tokenizer.tiktoken.json").read_bytes())
    ranks = dict(line.split() for line in (folder / "tokenizer.tiktoken").read_bytes().splitlines())
    ranks[base64.b64encode(b" qzjx")] = b"%d" % settings["vocab_size"]  # no merge makes it
    settings |= {"vocab_size": settings["vocab_size"] + 1, "ignore_merges": True}
    (tmp_path / "own.tiktoken").write_bytes(b"".join(b"%s %s\n" % each for each in ranks.items()))
    (tmp_path / "own.tiktoken.json").write_bytes(orjson.dumps(settings))
    loaded = pw.ByteLevelTokenizer.load(tmp_path / "own.tiktoken")
    assert loaded.encode(" qzjx") == [settings["vocab_size"] - 1]
    pw.export(loaded, tmp_path / "hf", to="hf")
    assert pw.verify(loaded, fuzzed_texts(300, seed=34), folder=tmp_path / "hf").is_fine
    rust = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    assert rust.encode("a qzjx").ids == loaded.encode("a qzjx")


def damage_json(content: dict[str, Any], rng: random.Random) -> str:
    vocab, merges, added = content["model"]["vocab"], content["model"]["merges"], content["added_tokens"]

    def delete_merge() -> str:
        return f"no merge {merges.pop(rng.randrange(len(merges)))}"

    def swap_merges() -> str:
        first = rng.randrange(len(merges) - 1)
        second = rng.choice([first + 1, *(each for each in range(len(merges)) if each != first)])
        merges[first], merges[second] = merges[second], merges[first]
        return f"merges {merges[first]} and {merges[second]} swapped"

    def repeat_merge() -> str:
        merges.insert(rng.randrange(len(merges)), rng.choice(merges))
        return "a merge twice"

    def change_merge() -> str:
        at = rng.randrange(len(merges))
        merges[at] = [merges[at][0], rng.choice(["a", "e", merges[0][1]])]
        return f"merge {at} is {merges[at]}"

    def swap_ids() -> str:
        first, second = rng.sample(list(vocab), 2)
        vocab[first], vocab[second] = vocab[second], vocab[first]
        return f"ids of {first!r} and {second!r} swapped"

    def change_id() -> str:
        text = rng.choice(list(vocab))
        vocab[text] += rng.choice((1, 7, 1_000))
        return f"another id of {text!r}"

    def rename_token() -> str:
        text = rng.choice(list(vocab))
        vocab[text + rng.choice(("e", "Ω", " "))] = vocab.pop(text)
        return f"{text!r} renamed"

    def delete_token() -> str:
        text = rng.choice(list(vocab))
        del vocab[text]
        return f"no token {text!r}"

    def change_added() -> str:
        if rng.random() < 0.3:
            return f"no added token {added.pop(rng.randrange(len(added)))}"
        token = rng.choice(added)
        name = rng.choice(list(token))
        token[name] = {str: "<other>", bool: not token[name], int: 5 if token[name] != 5 else 6}[type(token[name])]
        return f"{name} of an added token is {token[name]!r}"

    def change_part() -> str:
        name, value = rng.choice(
            [
                ("normalizer", {"type": "Lowercase"}),
                ("pre_tokenizer", {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}),
                ("decoder", None),
                ("post_processor", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
                ("truncation", {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}),
            ]
        )
        content[name] = value
        return f"{name} is {value}"

    def change_model() -> str:
        name = rng.choice(["byte_fallback", "ignore_merges", "fuse_unk"])
        content["model"][name] = not content["model"][name]
        return f"{name} is {content['model'][name]}"

    kinds: list[Callable[[], str]] = [
        *(delete_merge, swap_merges, repeat_merge, change_merge, swap_ids, change_id, rename_token, delete_token),
        *(change_added, change_part, change_model),
    ]
    return rng.choice(kinds)()


def damage_ranks(lines: list[bytes], rng: random.Random) -> str:
    at = rng.randrange(len(lines))
    token, rank = lines[at].split()
    kind = rng.randrange(4)
    if kind == 0:
        lines.pop(at)
    elif kind == 1:
        lines[at] = base64.b64encode(base64.b64decode(token) + b"e") + b" " + rank
    elif kind == 2:
        lines[at] = token + b" %d" % (int(rank) + rng.choice((1, 7, 1_000)))
    else:
        other = rng.choice([each for each in range(len(lines)) if each != at])
        tokens = [lines[each].split() for each in (at, other)]
        lines[at], lines[other] = tokens[1][0] + b" " + tokens[0][1], tokens[0][0] + b" " + tokens[1][1]
    return f"ranks: {kind} at {at}"


def damage_settings(content: dict[str, Any], rng: random.Random) -> str:
    name = rng.choice(list(content))
    if name == "pat_str":
        content[name] = r"\S+|\s+"
    elif name == "vocab_size":
        content[name] += 1
    elif name == "ignore_merges":
        content[name] = not content[name]
    else:
        content[name] = {**content[name], "<|other|>": 419} if rng.random() < 0.5 else {"<|pad|>": 0}
    return f"{name} is {content[name]}"


def damage_config(content: dict[str, Any], rng: random.Random) -> str:
    token = rng.choice(list(content["added_tokens_decoder"].values()))
    name = rng.choice(list(token))
    token[name] = "<other>" if name == "content" else not token[name]
    return f"config: {name} is {token[name]}"


def damage_one(folder: Path, rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.6:
        return _change_json(folder / "tokenizer.json", damage_json, rng)
    if kind < 0.85:
        path = folder / "tokenizer.tiktoken"
        lines = path.read_bytes().splitlines()
        what = damage_ranks(lines, rng)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return what
    if kind < 0.93:
        return _change_json(folder / "tokenizer.tiktoken.json", damage_settings, rng)
    return _change_json(folder / "tokenizer_config.json", damage_config, rng)


def _change_json(path: Path, damage: Callable[[dict[str, Any], random.Random], str], rng: random.Random) -> str:
    content = orjson.loads(path.read_bytes())
    what = damage(content, rng)
    path.write_bytes(orjson.dumps(content))
    return f"{path.name}: {what}"


def test_every_damage_is_found(folder: Path, tmp_path: Path) -> None:
    """The folder has both exports. Verifying has only its damaged files, and no other information."""
    assert pw.verify(pw.ByteLevelTokenizer.load(folder), folder=folder).is_fine
    rng = random.Random(7)
    missed = []
    for number in range(DAMAGES):
        damaged = tmp_path / str(number)
        shutil.copytree(folder, damaged)
        before = {path.name: path.read_bytes() for path in damaged.iterdir()}
        what = damage_one(damaged, rng)
        if all(orjson_or_bytes(path) == orjson_or_bytes(folder / path.name) for path in damaged.iterdir()):
            assert before  # the damage changed nothing
            continue
        try:
            loaded = pw.ByteLevelTokenizer.load(damaged)
            is_found = not pw.verify(loaded, folder=damaged, runtimes=["tokenizers", "tiktoken"]).is_fine
        except pw.PieceworkError:
            is_found = True  # it cannot be loaded
        if not is_found:
            missed.append(what)
        shutil.rmtree(damaged)
    assert missed == []


def orjson_or_bytes(path: Path) -> Any:
    data = path.read_bytes()
    return orjson.loads(data) if path.suffix == ".json" else sorted(data.splitlines())


def test_damages_of_a_tokenizer_json_alone(folder: Path, tmp_path: Path) -> None:
    """Without a second file, the order of ids and merges shows a wrong merge, id or token."""
    rng = random.Random(8)
    path = tmp_path / "tokenizer.json"
    for kind in range(40):
        content = orjson.loads((folder / "tokenizer.json").read_bytes())
        vocab, merges = content["model"]["vocab"], content["model"]["merges"]
        if kind % 2:
            merges.pop(rng.randrange(len(merges)))
        else:
            first, second = rng.sample([text for text in vocab if len(text) > 1 and not text.startswith("<")], 2)
            vocab[first], vocab[second] = vocab[second], vocab[first]
        path.write_bytes(orjson.dumps(content))
        assert list(irregularities(pw.ByteLevelTokenizer.load(path).model)), kind


def test_a_missing_merge_shows_in_the_ids(folder: Path, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    """The ids alone show it: for every merge, one of the texts performs it."""
    content = orjson.loads((folder / "tokenizer.json").read_bytes())
    merges = content["model"]["merges"]
    shutil.copytree(folder, tmp_path / "damaged")
    for at in random.Random(3).sample(range(len(merges)), 8):
        damaged = {**content, "model": {**content["model"], "merges": [*merges[:at], *merges[at + 1 :]]}}
        (tmp_path / "damaged" / "tokenizer.json").write_bytes(orjson.dumps(damaged))
        (_, result) = pw.verify(tokenizer, folder=tmp_path / "damaged", runtimes=["tokenizers"]).results
        assert result.unexplained, merges[at]


def test_commands(run: Run, tmp_path: Path, tokenizer: pw.ByteLevelTokenizer) -> None:  # noqa: F811
    tokenizer.save(tmp_path / "own")
    for form in ("hf", "tiktoken"):
        done = run("export", "own", "--to", form, "--out", "out", "--json")
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("SHA256SUMS", "tokenizer.json", "tokenizer.tiktoken", "tokenizer.tiktoken.json", "tokenizer_config.json"),
    ]
    done = run("verify", "out", "--fuzzed", "100", "--json", "--runtimes", "tokenizers,tiktoken")
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout)["same_everywhere"]
    refused = run("export", "own", "--to", "llama", "--out", "llama")
    assert refused.returncode == 1
    assert 'no format "llama"; there is hf and tiktoken' in refused.stderr
    content = orjson.loads((tmp_path / "out" / "tokenizer.json").read_bytes())
    content["model"]["merges"].pop(20)
    (tmp_path / "out" / "tokenizer.json").write_bytes(orjson.dumps(content))
    done = run("verify", "out", "--fuzzed", "0", "--runtimes", "tiktoken")
    assert done.returncode == 1
    assert "tokenizer.json" in done.stderr


def test_what_tiktoken_cannot_hold_is_refused(tmp_path: Path, model: Path) -> None:  # noqa: F811
    with pytest.raises(pw.ModelError, match="tiktoken takes one pattern, and deepseek-v3 has several"):
        pw.export(train("deepseek-v3"), tmp_path, to="tiktoken")
    with pytest.raises(pw.InputError, match='"tiktoken" is for byte-level tokenizers'):
        pw.export(pw.Tokenizer.load(model), tmp_path, to="tiktoken")
    assert not any(tmp_path.iterdir())
    with pytest.raises(pw.InputError, match='no runtime "kitoken" for byte-level tokenizers; there are tokenizers'):
        pw.verify(train("gpt2"), runtimes=["kitoken"])
    assert tiktoken.__version__
