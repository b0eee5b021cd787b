"""A study's weights, code tokens and clean-up; skipped records; the contents of tokenized.json; the command."""

import hashlib
import json
from pathlib import Path

import pytest
import sentencepiece
from click.testing import CliRunner

import piecework as pw
from counting.corpora import jsonl
from dataset.readers import read_dataset, read_megatron
from piecework.cli import group
from piecework.cli.token_mix import mix_sentences
from piecework.errors import InputError

LETTER = "abcdefghij"


def write_study(folder: Path, weights: str = "", recipe: str = "") -> Path:
    folder.mkdir()
    for name in ("law_sv", "news_is"):
        (folder / f"{name}.jsonl").write_bytes(jsonl([f"{name} {letter} {n}" for n in range(40) for letter in LETTER]))
    (folder / "code.py").write_text("import os\n    x\u00a0= 1\r\n")
    path = folder / "study.toml"
    path.write_text(
        f"""
name = "test"
[corpus]
path = "{{category}}_{{language}}.jsonl"
[[corpus.subset]]
path = "code.py"
language = "code"
category = "python"
code_token = "<|python|>"
[weights]
{weights}
[recipe]
{recipe}
"""
    )
    return path


def test_weights_take_documents_more_or_less_often(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    weights = 'subset = { "law_sv" = 0.25, "news_is" = 2.5, "python_code" = 3 }'
    study = pw.Study.load(write_study(tmp_path / "study", weights))
    dataset = pw.tokenize(study, tokenizer, out=tmp_path / "ids", threads=1)
    rows = {f"{row['category']}_{row['language']}": row for row in dataset.subset_rows}
    assert {name: row["read_documents"] for name, row in rows.items()} == {
        "law_sv": 400,
        "news_is": 400,
        "python_code": 1,
    }
    assert 70 < rows["law_sv"]["documents"] < 130
    assert 950 < rows["news_is"]["documents"] < 1050
    assert rows["python_code"]["documents"] == 3
    texts = [f"news_is {letter} {n}" for n in range(40) for letter in LETTER]
    found = [tokenizer.decode(ids) for ids in read_megatron(tmp_path / "ids/news_is-00000")]
    assert [text for text in texts if text in set(found)] == texts
    assert all(found.count(text) in (2, 3) for text in texts)
    assert found == sorted(found, key=texts.index), "copies follow each other, in the order of the files"
    assert sum(dataset.shares("language").values()) == pytest.approx(1)


def test_code_tokens_and_clean_up(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    study = pw.Study.load(write_study(tmp_path / "study", recipe='clean_up = "gpt-sw3"'))
    pw.tokenize(study, tokenizer, out=tmp_path / "ids", threads=1)
    oracle = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)
    [document] = read_megatron(tmp_path / "ids/python_code-00000")
    assert document == oracle.encode("<|python|>import os\n    x= 1\n")
    assert oracle.piece_to_id("<|python|>") in document
    plain = pw.train(["import os"] * 3, vocab_size=12)
    with pytest.raises(InputError, match=r"python_code: its documents start with <\|python\|>, which is no symbol"):
        pw.tokenize(study, plain, out=tmp_path / "other", threads=1)


def test_code_tokens_of_byte_level_tokenizers(tmp_path: Path) -> None:
    recipe = pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=270, special_tokens=("<|end|>", "<|python|>"))
    tokenizer = pw.train(pw.count_pre_tokens(["import os import os law_sv news_is"] * 9, pre_tokenizer="gpt2"), recipe)
    study = pw.Study.load(write_study(tmp_path / "study"))
    pw.tokenize(study, tokenizer, out=tmp_path / "ids", eos="<|end|>", threads=1)
    [document] = read_megatron(tmp_path / "ids/python_code-00000")
    ids = tokenizer.model.special_tokens
    assert document == [ids["<|python|>"], *tokenizer.encode("import os\n    x\u00a0= 1\r\n"), ids["<|end|>"]]
    with pytest.raises(InputError, match=r"no eos piece; its special pieces are <\|end\|>, <\|python\|>: name one"):
        pw.tokenize(study, tokenizer, out=tmp_path / "other", append_eos=True)


def test_added_tokens_are_taken_first(tmp_path: Path, byte_level: pw.ByteLevelTokenizer) -> None:
    from dataclasses import replace

    model = replace(byte_level.model, tokens=[*byte_level.model.tokens, b""], added_tokens={"[X]": 700})
    tokenizer = pw.ByteLevelTokenizer(model)
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl(["tack [X] så", "tack"]))
    pw.tokenize(path, tokenizer, out=tmp_path / "ids", threads=1)
    assert read_dataset(tmp_path / "ids", "megatron") == tokenizer.encode_batch(["tack [X] så", "tack"])


def test_skipped_records_and_hashes(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\nnonsense\n{"text": 3}\n{"text": ""}\n{"text": "b"}\n{"text": "\xff"}\n')
    dataset = pw.tokenize(path, tokenizer, out=tmp_path / "ids", threads=1)
    skipped = {row["reason"]: (row["records"], row["first"]) for row in dataset.description["skipped"]}
    assert skipped == {
        "malformed JSON": (1, ["a.jsonl:2"]),
        "not a string": (1, ["a.jsonl:3"]),
        "empty": (1, ["a.jsonl:4"]),
        "invalid UTF-8": (1, ["a.jsonl:6"]),
    }
    [row] = dataset.description["inputs"]
    assert row["sha256"] == [[0, None, hashlib.sha256(path.read_bytes()).hexdigest()]]
    assert dataset.description["model"]["sha256"] == hashlib.sha256(tokenizer.model_bytes).hexdigest()
    with pytest.raises(InputError, match=r"a.jsonl:2: malformed JSON; without --strict"):
        pw.tokenize(path, tokenizer, out=tmp_path / "strict", threads=1, strict=True)
    path.write_bytes(b'{"other": "a"}\n')
    message = 'no document in 1 shard: 1 record skipped: 1 field missing.*; here the text seems to be in "other"'
    with pytest.raises(InputError, match=message):
        pw.tokenize(path, tokenizer, out=tmp_path / "none", threads=1)


def test_a_single_category_is_not_a_mix(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    for name in ("news_sv", "news_is"):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl(["hej"]))
    (tmp_path / "study.toml").write_text('name = "one"\n[corpus]\npath = "{category}_{language}.jsonl"\n')
    dataset = pw.tokenize(pw.Study.load(tmp_path / "study.toml"), tokenizer, out=tmp_path / "ids", threads=1)
    assert mix_sentences(dataset) == ["your weights give Icelandic 50 % and Swedish 50 % of the tokens"]


def test_the_command(tmp_path: Path, tokenizer: pw.Tokenizer) -> None:
    study = write_study(tmp_path / "study", "language = { is = 3 }")
    tokenizer.save(tmp_path / "model")
    runner = CliRunner()
    arguments = ["tokenize", str(study), "--model", str(tmp_path / "model"), "--out", str(tmp_path / "ids")]
    done = runner.invoke(group, [*arguments, "--threads", "1", "--sizes", "600,900"])
    assert done.exit_code == 0, done.output
    assert "your weights give Icelandic" in done.stdout
    assert "at 600" in done.stdout
    assert "tokenized 1,601 documents" in done.stderr
    again = runner.invoke(group, [*arguments, "--sizes", "600,900", "--json"])
    assert "exists already" in again.stderr
    assert [row["vocab_size"] for row in json.loads(again.stdout)["datasets"]] == [600, 900]
    other = runner.invoke(group, [*arguments, "--to", "numpy"])
    assert other.exit_code == 1
    assert "holds another dataset (settings that differ: to, sizes)" in other.stderr
    for wrong, message in (
        (["--sizes", "x"], "not a number"),
        (["--to", "tfrecord"], "is not one of"),
        (["--sizes", "600,600", "--force"], "600 is given twice"),
    ):
        failed = runner.invoke(group, [*arguments, *wrong])
        assert failed.exit_code != 0
        assert message in failed.stderr
    mixed = runner.invoke(group, [*arguments[:2], str(study), *arguments[2:]])
    assert mixed.exit_code == 2
