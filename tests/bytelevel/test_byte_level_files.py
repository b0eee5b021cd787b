"""Files that cannot be used are refused with the reason, each part by its name."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import tokenizers
import transformers

import piecework as pw
from piecework.tokenizer.load import load_tokenizer

TEXTS = ["a rose is a rose is a rose"]


@pytest.fixture
def tokenizer() -> pw.ByteLevelTokenizer:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    return pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=260, special_tokens=["<s>"]))


def _set(*path: str | int, value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("model", "type", value="Unigram"), "model.type Unigram"),
        (_set("model", "dropout", value=0.1), "model.dropout = 0.1"),
        (_set("model", "byte_fallback", value=True), "model.byte_fallback = True"),
        (_set("model", "end_of_word_suffix", value="</w>"), "model.end_of_word_suffix = '</w>'"),
        (_set("normalizer", value={"type": "NFC"}), "normalizer NFC"),
        (_set("normalizer", value={"type": "Sequence", "normalizers": [{"type": "NFC"}]}), "normalizer NFC"),
        (_set("decoder", value={"type": "Metaspace"}), "decoder Metaspace"),
        (
            _set("decoder", value={"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Strip"}]}),
            "decoder ByteLevel, Strip",
        ),
        (_set("pre_tokenizer", "use_regex", value=False), "ByteLevel with use_regex = false alone, which cuts nothing"),
        (_set("added_tokens", 0, "id", value=300), "the id 300 of '<s>', to which tokenizers gives 0"),
        (_set("pre_tokenizer", value=None), "pre_tokenizer: none"),
        (_set("pre_tokenizer", value={"type": "Metaspace"}), "Metaspace; the last must be ByteLevel"),
        (_set("pre_tokenizer", "add_prefix_space", value=True), "add_prefix_space = true"),
        (_set("added_tokens", 0, "lstrip", value=True), "lstrip of '<s>'"),
    ],
)
def test_unsupported_parts_are_named(
    change: Callable[[Any], None], message: str, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path
) -> None:
    content = orjson.loads(tokenizer.json_bytes)
    change(content)
    path = tmp_path / "tokenizer.json"
    path.write_bytes(orjson.dumps(content))
    with pytest.raises(pw.ModelError) as caught:
        pw.ByteLevelTokenizer.load(path)
    assert f"{path}: not supported: " in str(caught.value)
    assert message in str(caught.value)


def test_added_tokens_have_the_ids_of_tokenizers_or_are_refused(
    tokenizer: pw.ByteLevelTokenizer, tmp_path: Path
) -> None:
    """tokenizers takes the id of the vocabulary, or the next free one, whatever the file says."""
    rng = random.Random(5)
    path = tmp_path / "tokenizer.json"
    loaded = refused = 0
    for _ in range(150):
        content = orjson.loads(tokenizer.json_bytes)
        texts = rng.sample(["ro", "ros", "<a>", "<b>", "", "a rose", "Ġa", "e", "é"], rng.randint(1, 5))
        for number, text in enumerate(texts):
            wanted = content["model"]["vocab"].get(text, 260 + number)
            flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            entry = {
                "id": wanted + rng.choice((0, 0, 0, 0, 1)),
                "content": text,
                **flags,
                "special": rng.random() < 0.5,
            }
            content["added_tokens"].append(entry)
        path.write_bytes(orjson.dumps(content))
        try:
            found = pw.ByteLevelTokenizer.load(path)
        except pw.ModelError as error:
            assert "to which tokenizers gives" in str(error)
            refused += 1
            continue
        loaded += 1
        rust = tokenizers.Tokenizer.from_file(str(path))
        for added in (found.model.special_tokens, found.model.added_tokens):
            assert {text: rust.token_to_id(text) for text in added} == dict(added)
        for text in ("a rose is <a> rose", "<b><a> ros", "e é Ġa a"):
            ids = found.encode(text, allowed_special="all")
            assert ids == rust.encode(text, add_special_tokens=False).ids
            if "é" not in texts and "Ġa" not in texts:  # the library takes their characters for bytes
                assert found.decode(ids) == text == rust.decode(ids, skip_special_tokens=False)
    assert loaded > 20
    assert refused > 20


def test_bytes_that_are_merged_to_the_id_of_an_added_token_come_back(
    tokenizer: pw.ByteLevelTokenizer, tmp_path: Path
) -> None:
    content = orjson.loads(tokenizer.json_bytes)
    number = content["model"]["vocab"]["Ġros"]
    content["added_tokens"].append({"id": number, "content": "Ġros", "special": False, "normalized": False})
    content["added_tokens"][-1] |= {"single_word": False, "lstrip": False, "rstrip": False}
    (tmp_path / "tokenizer.json").write_bytes(orjson.dumps(content))
    loaded = pw.ByteLevelTokenizer.load(tmp_path)
    assert number in loaded.encode("a rosy")
    assert loaded.decode(loaded.encode("a rosy")) == "a rosy"


def test_what_a_file_does_besides_ids_is_saved_again(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    """The post-processor puts <s> in front in transformers; truncation and padding do not act here."""
    rust = tokenizers.Tokenizer.from_str(tokenizer.json_bytes.decode())
    rust.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    rust.enable_truncation(4)
    rust.enable_padding(length=6)
    rust.save(str(tmp_path / "tokenizer.json"))
    loaded = pw.ByteLevelTokenizer.load(tmp_path)
    assert loaded.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    loaded.resize(258).save(tmp_path / "again")
    parts = [orjson.loads((folder / "tokenizer.json").read_bytes()) for folder in (tmp_path, tmp_path / "again")]
    for name in ("post_processor", "truncation", "padding"):
        assert parts[0][name] == parts[1][name] is not None
    assert (tmp_path / "tokenizer.json").read_bytes() == loaded.json_bytes
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    assert auto("a rose")["input_ids"] == [0, *loaded.resize(258).encode("a rose")]


def test_all_unsupported_parts_are_named_at_once(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    content = orjson.loads(tokenizer.json_bytes)
    _set("normalizer", value={"type": "Lowercase"})(content)
    _set("pre_tokenizer", value={"type": "Sequence", "pretokenizers": [{"type": "Digits"}]})(content)
    (tmp_path / "tokenizer.json").write_bytes(orjson.dumps(content))
    with pytest.raises(pw.ModelError, match=r"normalizer Lowercase; pre_tokenizer: Digits; the last must be ByteLevel"):
        pw.ByteLevelTokenizer.load(tmp_path)


def assert_refused(tokenizer: pw.ByteLevelTokenizer, change: Callable[[Any], None], message: str, folder: Path) -> None:
    content = orjson.loads(tokenizer.json_bytes)
    change(content)
    (folder / "tokenizer.json").write_bytes(orjson.dumps(content))
    with pytest.raises(pw.ModelError, match=message):
        pw.ByteLevelTokenizer.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("model", "merges", 0, value=["a", "zz"]), "merge 0: 'zz' is not in the vocabulary"),
        (_set("model", "merges", 0, value=["a"]), r"merge 0: \['a'\] is not two tokens"),
        (_set("model", "merges", value=None), "the model has no vocab, or no merges"),
        (_set("model", "vocab", "▁", value=260), "the token '▁' has a character that stands for no byte"),
    ],
)
def test_damaged_json(
    change: Callable[[Any], None], message: str, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path
) -> None:
    assert_refused(tokenizer, change, message, tmp_path)


def test_a_byte_that_is_no_token(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    content = orjson.loads(tokenizer.json_bytes)
    del content["model"]["vocab"]["!"]
    (tmp_path / "tokenizer.json").write_bytes(orjson.dumps(content))
    with pytest.raises(pw.ModelError, match="no token for the byte 33"):
        pw.ByteLevelTokenizer.load(tmp_path)


def _ranks(tokenizer: pw.ByteLevelTokenizer, folder: Path) -> tuple[Path, list[bytes]]:
    path = folder / "own.tiktoken"
    tokenizer.save_tiktoken(path)
    return path, path.read_bytes().splitlines()


def test_a_gap_in_ranks(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    path, lines = _ranks(tokenizer, tmp_path)
    with pytest.raises(pw.InputError, match=r"no token has rank 0, but ranks go up to 259; .* special_tokens="):
        pw.ByteLevelTokenizer.load(path)
    loaded = pw.ByteLevelTokenizer.load(path, pre_tokenizer="gpt2", special_tokens={"<s>": 0})
    assert loaded.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    assert loaded.note == ""
    path.write_bytes(b"\n".join(line for line in lines if not line.endswith(b" 258")))
    with pytest.raises(pw.InputError, match="no token has rank 258"):
        pw.ByteLevelTokenizer.load(path, special_tokens={"<s>": 0})
    with pytest.raises(pw.InputError, match="rank 5 is that of a token and of a special token"):
        pw.ByteLevelTokenizer.load(path, special_tokens={"<s>": 5})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"!!! 7", "is not a token in base64 and its rank"),
        (b"eno= x", "is not a token in base64 and its rank"),
        (b"YQ== 900", "the token b'a' is there twice"),
        (b"enp6 258", "two tokens have the same rank"),
        (b"enp6 -1", "is not a token in base64 and its rank"),
        (b"enp6 1000000000000", "no token has rank 0, but ranks go up to 1000000000000"),
    ],
)
def test_damaged_ranks(line: bytes, message: str, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    path, lines = _ranks(tokenizer, tmp_path)
    path.write_bytes(b"\n".join([*lines, line]))
    with pytest.raises(pw.InputError, match=message):
        pw.ByteLevelTokenizer.load(path)


def _id_of(number: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["model"]["vocab"].update({"zzzz": number})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_id_of(10**12), "ids go up to 1,000,000,000,000, and only .* of them are used"),
        (_id_of(-1), "the id of 'zzzz' is -1; ids are whole numbers from 0 on"),
        (_id_of("7"), "the id of 'zzzz' is '7'"),
        (_id_of(258), "and 'zzzz' have the same id 258"),
        (lambda content: content.update(added_tokens=[{"content": "x"}]), "not a tokenizer.json: KeyError: 'id'"),
        (lambda content: content.update(pre_tokenizer="ByteLevel"), "not a tokenizer.json: AttributeError"),
        (
            lambda content: content.update(
                pre_tokenizer={
                    "type": "Sequence",
                    "pretokenizers": [
                        {"type": "Split", "pattern": {"Regex": "(x"}, "behavior": "Isolated", "invert": False},
                        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                    ],
                }
            ),
            r"tokenizer.json: pre_tokenizer: the pattern '\(x' is broken",
        ),
    ],
)
def test_json_that_would_fill_the_memory_or_crash(
    change: Callable[[dict[str, Any]], None], message: str, tokenizer: pw.ByteLevelTokenizer, tmp_path: Path
) -> None:
    """Each is a message with the file, and none fills the memory."""
    assert_refused(tokenizer, change, message, tmp_path)


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(pw.InputError, match="no byte-level tokenizer in this folder"):
        pw.ByteLevelTokenizer.load(tmp_path)
    path = tmp_path / "tokenizer.json"
    for data, message in (
        (b"", "the file is empty"),
        (b"{", "not valid JSON"),
        (b"{}", "neither a tokenizer.json"),
        (b'{"config": {}, "vocab": []}', "not a tekken.json: KeyError"),
    ):
        path.write_bytes(data)
        with pytest.raises(pw.InputError, match=message):
            pw.ByteLevelTokenizer.load(path)
    with pytest.raises(pw.InputError, match="cannot be read"):
        pw.ByteLevelTokenizer.load(tmp_path / "none.json")


def test_ranks_are_saved_as_merges(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    path, _ = _ranks(tokenizer, tmp_path)
    loaded = pw.ByteLevelTokenizer.load(path, pre_tokenizer="gpt2", special_tokens={"<s>": 0})
    rust = tokenizers.Tokenizer.from_file(str(loaded.save(tmp_path / "out")))
    again = pw.ByteLevelTokenizer.load(tmp_path / "out")
    for text in TEXTS:
        ids = loaded.encode(text)
        assert ids == tokenizer.encode(text) == again.encode(text) == rust.encode(text, add_special_tokens=False).ids


def test_ids_between_ranks_and_special_tokens_are_unused(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    """As in the encodings of tiktoken: o200k has no 199998, and nothing between its two special tokens."""
    path, lines = _ranks(tokenizer, tmp_path)
    path.write_bytes(b"\n".join(b"%s %d" % (token, int(rank) - 1) for token, rank in map(bytes.split, lines)))
    loaded = pw.ByteLevelTokenizer.load(path, pre_tokenizer="gpt2", special_tokens={"<s>": 270, "<e>": 280})
    assert loaded.vocab_size == 281
    assert loaded.encode("<s>", allowed_special="all") == [270]
    assert loaded.encode(TEXTS[0]) == [number - 1 for number in tokenizer.encode(TEXTS[0])]
    with pytest.raises(pw.InputError, match="has the id -1; ids start at 0"):
        pw.ByteLevelTokenizer.load(path, special_tokens={"<s>": -1})


def test_special_tokens_that_do_not_exist(tokenizer: pw.ByteLevelTokenizer) -> None:
    with pytest.raises(pw.InputError, match=r"""allowed_special is "all" or a list of tokens, such as \['<s>'\]"""):
        tokenizer.encode("<s>", allowed_special="<s>")
    with pytest.raises(pw.InputError, match="'<S>' is not a special token of this tokenizer; did you mean \"<s>\""):
        tokenizer.encode("<s>", allowed_special=["<S>"])


def test_a_special_token_that_is_merged_cannot_be_ranked(tmp_path: Path) -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=262, special_tokens=["<s>", "Ġrose"])
    with pytest.raises(pw.ModelError, match="ids do not rise in the order of merges"):
        pw.train(counts, recipe).save_tiktoken(tmp_path / "own.tiktoken")


def test_load_tokenizer_takes_byte_level_files(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert isinstance(loaded, pw.ByteLevelTokenizer)
    assert loaded.model == tokenizer.model


def test_the_other_class_says_who_loads_it(tokenizer: pw.ByteLevelTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    with pytest.raises(pw.InputError, match=r"no such model file; .* ByteLevelTokenizer\.load reads"):
        pw.Tokenizer.load(tmp_path)
