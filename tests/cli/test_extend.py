"""`piecework extend`: an existing tokenizer learns new text."""

import json
from pathlib import Path

import orjson
import pytest
import sentencepiece

import piecework as pw
from cli.command import Run, made_up_lines


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_files_and_figures(run: Run, model: Path, tmp_path: Path) -> None:
    write(tmp_path / "new_is.txt", ["það er að segja að þetta er það sem við þurfum"] * 3)
    write(tmp_path / "old_sv.txt", made_up_lines(20))
    source = ("--data", "new_is.txt", "--data", "old_sv.txt", "--documents", "line")
    done = run("extend", model, *source, "--languages", "is", "--add", 20, "--out", "more", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["old_size"], found["new_size"], found["added"]) == (512, 532, 20)
    rows = {row["language"]: row for row in found["languages"]}
    assert rows["is"]["tokens_per_word_after"] < rows["is"]["tokens_per_word_before"]
    old, new = pw.Tokenizer.load(model), pw.Tokenizer.load(tmp_path / "more")
    assert new._texts[:512] == old._texts
    text = "það er að segja að þetta er það sem við þurfum"
    assert rows["is"]["tokens_per_word_after"] == len(new.encode(text)) / len(text.split())
    assert rows["is"]["tokens_per_word_before"] == len(old.encode(text)) / len(text.split())
    record = orjson.loads((tmp_path / "more/extension.json").read_bytes())
    assert [piece["id"] for piece in record["new_pieces"]] == list(range(512, 532))
    growth = (tmp_path / "more/growth.csv").read_text(encoding="utf-8").splitlines()
    assert growth[0] == "added,is,sv" and len(growth) == 22
    assert "piecework compare" in done.stderr
    again = run("extend", model, *source, "--add", 20, "--out", "more")
    assert again.returncode != 0 and "--force" in again.stderr


def test_no_piece_gives_the_same_file(run: Run, model: Path, tmp_path: Path) -> None:
    write(tmp_path / "new_is.txt", ["það er að segja"])
    done = run("extend", model, "--data", "new_is.txt", "--add", 0, "--out", "same")
    assert done.returncode == 0, done.stderr
    old = model / "tokenizer.model" if model.is_dir() else model
    assert (tmp_path / "same/tokenizer.model").read_bytes() == old.read_bytes()


def test_a_table_for_people_and_replacing(run: Run, model: Path, tmp_path: Path) -> None:
    write(tmp_path / "new_is.txt", ["það er að segja að þetta er það sem við þurfum"] * 3)
    done = run("extend", model, "--data", "new_is.txt", "--add", 10, "--replace", "--out", "same")
    assert done.returncode == 0, done.stderr
    assert "Before and after" in done.stdout and "10 replaced" in done.stderr
    assert "no text of languages that shall stay" in done.stderr
    assert pw.Tokenizer.load(tmp_path / "same").vocab_size == 512
    record = orjson.loads((tmp_path / "same/extension.json").read_bytes())
    assert len(record["dropped"]) == 10
    assert [number for number, new in enumerate(record["new_ids"]) if new is None] == [
        piece["id"] for piece in record["dropped"]
    ]


def test_counts_of_a_study(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "news_sv.jsonl", [json.dumps({"text": line}) for line in made_up_lines(400)])
    study = ["[corpus]", 'path = "{category}_{language}.jsonl"', "[sampling]", 'train = "50%"', 'eval = "50%"']
    write(tmp_path / "study.toml", study)
    assert (counted := run("count", "study.toml", "--out", "out")).returncode == 0, counted.stderr
    trained = run("train", "--counts", "out", "--vocab-size", 400, "--out", "small", "--recipe", "gpt-sw3")
    assert trained.returncode == 0, trained.stderr
    done = run("extend", "small", "--counts", "out", "--add", 30, "--out", "more")
    assert done.returncode == 0, done.stderr
    assert "evaluation counts of the study" in done.stdout
    wrong = run("extend", "small", "--counts", "out", "--languages", "xx", "--add", 30, "--out", "other")
    assert wrong.returncode == 1 and "no 'xx'" in wrong.stderr


def test_what_cannot_be_extended_is_refused_with_the_reason(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["a b"])
    content = {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "added_tokens": []}
    (tmp_path / "tokenizer.json").write_bytes(orjson.dumps({"version": "1.0", **content}))
    done = run("extend", "tokenizer.json", "--data", "a.txt", "--add", 5, "--out", "x")
    assert done.returncode == 1 and "cannot be extended" in done.stderr and "WordLevel" in done.stderr
    assert run("extend", "tokenizer.json", "--add", 5, "--out", "x").returncode == 2


@pytest.mark.parametrize("model_type", ["unigram", "word"])
def test_other_kinds_of_sentencepiece_are_refused_with_the_reason(run: Run, tmp_path: Path, model_type: str) -> None:
    (tmp_path / "a.txt").write_text("hello world this is text\n" * 50)
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "a.txt"),
        model_prefix=str(tmp_path / "other"),
        model_type=model_type,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    done = run("extend", "other.model", "--data", "a.txt", "--add", 5, "--out", "x")
    assert done.returncode == 1
    assert f"cannot be extended: SentencePiece {model_type} has no merges to continue from" in done.stderr
    assert not (tmp_path / "x").exists()


def test_replacing_in_a_byte_level_tokenizer_is_verified(run: Run, tmp_path: Path) -> None:
    """New pieces have the ids of old ones, so ids do not rise in the order of merges. A wrong id is still found."""
    old = pw.train(made_up_lines(60), pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=400))
    old.save(tmp_path / "old")
    write(tmp_path / "new_is.txt", ["það er að segja að þetta er það sem við þurfum"] * 3)
    write(tmp_path / "old_sv.txt", made_up_lines(5))
    done = run(
        *("extend", "old", "--data", "new_is.txt", "--data", "old_sv.txt", "--languages", "is", "--add", 10),
        *("--replace", "--out", "same"),
    )
    assert done.returncode == 0, done.stderr
    assert "shall stay" not in done.stderr
    assert pw.ByteLevelTokenizer.load(tmp_path / "same").vocab_size == 400
    done = run("verify", "same")
    assert done.returncode == 0, done.stderr
    path = tmp_path / "same/tokenizer.json"
    content = orjson.loads(path.read_bytes())
    vocab = content["model"]["vocab"]
    kept = [text for text, number in vocab.items() if len(text) > 1 and number < 380][:2]
    vocab[kept[0]], vocab[kept[1]] = vocab[kept[1]], vocab[kept[0]]
    path.write_bytes(orjson.dumps(content))
    assert run("verify", "same").returncode == 1
