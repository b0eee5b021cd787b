"""Studies at the edges: few languages and many, little text and none, vocabularies that are too large."""

from pathlib import Path

import pytest

from counting.corpora import made_up_documents
from piecework.errors import InputError, StudyError
from pipeline.studies import run_study, write_study

PLAIN = """
name = "edges"
[corpus]
path = "data/{language}.jsonl"
[sampling]
train = "60%"
eval = "40%"
[recipe]
vocab_size = VOCAB_SIZE
[analysis]
vocab_sizes = [400]
"""


def plain(vocab_size: int = 512) -> str:
    return PLAIN.replace("VOCAB_SIZE", str(vocab_size))


def test_one_language_of_an_unknown_code(tmp_path: Path) -> None:
    results, warnings = run_study(write_study(tmp_path, corpus={"tlh": made_up_documents(200)}, text=plain()))
    assert warnings == []
    assert results.tokenizers == ["multilingual", "multilingual-400", "tlh"]
    assert results.tokenizer("tlh").model_bytes == results.tokenizer().model_bytes
    sentences = results.tables["summary"].column("sentence")
    assert any(sentence.startswith("Tlh needs ") for sentence in sentences)
    page = results.report.read_text(encoding="utf-8")
    assert "tlh" in page


def test_twelve_languages(tmp_path: Path) -> None:
    languages = ["da", "de", "en", "es", "fi", "fr", "is", "it", "nl", "no", "pl", "sv"]
    corpus = {name: made_up_documents(40, seed=number) for number, name in enumerate(languages)}
    results, _ = run_study(write_study(tmp_path, corpus=corpus, text=plain()))
    assert results.languages == languages
    assert set(languages) <= set(results.tokenizers)
    assert set(results.tables["metrics"].column("language")) == {*languages, "overall"}


def test_a_language_without_text(tmp_path: Path) -> None:
    corpus = {"sv": made_up_documents(200), "da": [], "is": ["ein", "ein"]}
    results, warnings = run_study(write_study(tmp_path, corpus=corpus, text=plain()))
    assert 'the language "da" has no text to train on, so it gets no tokenizer of its own' in warnings
    assert 'the language "da" has no text to evaluate on, so it has no metrics' in warnings
    assert "da" not in results.tokenizers
    rows = results.tables["metrics"].where(language="da", tokenizer="multilingual", metric="fertility").rows()
    assert [row["value"] for row in rows] == [None]
    corpus_rows = results.tables["corpus"].where(language="da").rows()
    assert [row["read_documents"] for row in corpus_rows] == [0]


def test_a_language_too_small_for_the_vocabulary(tmp_path: Path) -> None:
    corpus = {"sv": made_up_documents(300), "is": [f"lítið mál {number}" for number in range(40)]}
    results, warnings = run_study(write_study(tmp_path, corpus=corpus, text=plain()))
    size = results.tokenizer("is").vocab_size
    assert size < 512
    assert warnings == [f'the language "is" has text for only {size} pieces, not 512: its own tokenizer has that size']
    assert results.tables["metrics"].where(tokenizer="is").column("vocab_size")[0] == size


def test_a_corpus_too_small_for_the_vocabulary(tmp_path: Path) -> None:
    path = write_study(tmp_path, corpus={"sv": ["liten text", "en annan text"] * 20}, text=plain(64_000))
    with pytest.raises(StudyError) as raised:
        run_study(path)
    line = plain(64_000).split("\n").index("vocab_size = 64000") + 1
    assert f"study.toml:{line}: vocab_size = 64,000 is too large for this text: it allows at most " in str(raised.value)
    assert "hard_vocab_limit = false" in str(raised.value)
    # With this setting the vocabulary is as large as the text allows. Larger sizes are left out, with a warning.
    path = write_study(
        tmp_path, corpus={}, text=plain(64_000).replace("[analysis]", "hard_vocab_limit = false\n[analysis]")
    )
    results, warnings = run_study(path)
    assert results.tokenizers == ["multilingual", "sv"]
    assert any(warning.startswith("size 400 is left out: the text allows only ") for warning in warnings)


def test_a_size_that_has_no_room_for_characters(tmp_path: Path) -> None:
    path = write_study(tmp_path, corpus={"sv": made_up_documents(200)}, text=plain().replace("[400]", "[300]"))
    with pytest.raises(StudyError, match=r'study\.toml:\d+: vocab_sizes in \[analysis\]: size 300 of "multilingual"'):
        run_study(path)


@pytest.mark.parametrize(("side", "word"), [("eval", "evaluate"), ("train", "train")], ids=["eval", "train"])
def test_nothing_sampled(tmp_path: Path, side: str, word: str) -> None:
    text = plain().replace('eval = "40%"' if side == "eval" else 'train = "60%"', f'{side} = "0.0001%"')
    with pytest.raises(InputError, match=rf"no document of \d+ was sampled to {word} on; raise {side} in \[sampling\]"):
        run_study(write_study(tmp_path, corpus={"sv": made_up_documents(30)}, text=text))


def test_records_that_cannot_be_used(tmp_path: Path) -> None:
    path = write_study(tmp_path, corpus={"sv": made_up_documents(200)}, text=plain())
    with (tmp_path / "data" / "sv.jsonl").open("a") as file:
        file.write('{"text": 1}\nno json\n')
    results, _ = run_study(path)
    subset = {"language": "sv", "category": "all"}
    assert results.tables["skipped"].rows() == [
        {**subset, "reason": "malformed JSON", "records": 1, "first": "data/sv.jsonl:222"},
        {**subset, "reason": "not a string", "records": 1, "first": "data/sv.jsonl:221"},
    ]
    rows = [{**subset, **row, "first": "\n".join(row["first"])} for row in results.run["skipped"]]
    assert rows == results.tables["skipped"].rows()
