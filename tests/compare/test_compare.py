"""Estimates equal the definition and those of `evaluate`; tables, parallel text, the command."""

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import piecework as pw
from cli.command import Run
from piecework.corpus.parallel_text import read_parallel
from piecework.evaluation.compare import LENGTH, METRICS, Comparison, compare, compare_on_counts
from piecework.report.comparison import comparison_charts
from piecework.tokenizer.any_tokenizer import AnyTokenizer
from piecework.tokenizer.load import load_tokenizer


@pytest.fixture(scope="module")
def loaded(outside: dict[str, Path]) -> dict[str, AnyTokenizer]:
    return {name: load_tokenizer(path) for name, path in outside.items()}


@pytest.fixture(scope="module")
def comparison(loaded: dict[str, AnyTokenizer], documents: dict[str, list[str]]) -> Comparison:
    return compare(loaded, documents)


def count_directly(tokenizer: AnyTokenizer, texts: list[str]) -> Counter[str]:
    """The definition, word by word and token by token."""
    totals: Counter[str] = Counter()
    for text in texts:
        (encoded,) = tokenizer.tokens_batch([text])
        totals["tokens"] += len(encoded.ids)
        totals["unknown"] += sum(number in tokenizer.unknown_ids for number in encoded.ids)
        totals["characters"] += len(text)
        totals["bytes"] += len(text.encode())
        spans = list(zip(encoded.starts, encoded.ends, strict=True))
        for word in re.finditer(r"\S+", text):
            totals["words"] += 1
            inside = [start for start, end in spans if start < word.end() and end > word.start()]
            totals["split_words"] += len(inside) > 1
    return totals


RATIOS = {
    "word_fertility": ("tokens", "words"),
    "split_words": ("split_words", "words"),
    "bytes_per_token": ("bytes", "tokens"),
    "characters_per_token": ("characters", "tokens"),
    "unknown_rate": ("unknown", "tokens"),
}


def test_the_definition(
    comparison: Comparison, loaded: dict[str, AnyTokenizer], documents: dict[str, list[str]]
) -> None:
    everything = {**documents, "overall": [text for texts in documents.values() for text in texts]}
    first = {language: count_directly(loaded["ours"], texts)["tokens"] for language, texts in everything.items()}
    assert comparison.languages == list(everything)
    for name, tokenizer in loaded.items():
        for language, texts in everything.items():
            totals = count_directly(tokenizer, texts)
            rows = {row["metric"]: row for row in comparison.metrics.where(tokenizer=name, language=language).rows()}
            assert set(rows) == {*METRICS, LENGTH}
            for metric, (numerator, denominator) in RATIOS.items():
                found = rows[metric]["numerator"], rows[metric]["denominator"]
                assert found == (totals[numerator], totals[denominator]), (name, language, metric)
                assert rows[metric]["low"] <= rows[metric]["value"] <= rows[metric]["high"]
            assert rows[LENGTH]["value"] == totals["tokens"] / first[language]
            assert rows["word_fertility"]["kind"] == tokenizer.kind
            assert rows["word_fertility"]["vocab_size"] == tokenizer.vocab_size


def test_estimates_equal_those_of_evaluate(
    comparison: Comparison, outside: dict[str, Path], documents: dict[str, list[str]]
) -> None:
    """For the tokenizer that both can measure, intervals included."""
    tokenizer = pw.Tokenizer.load(outside["ours"])
    evaluation = pw.evaluate({"ours": tokenizer}, pw.count_units(documents))
    for language in documents:
        for metric in METRICS:
            (one,) = evaluation.metrics.where(language=language, metric=metric).rows()
            (other,) = comparison.metrics.where(tokenizer="ours", language=language, metric=metric).rows()
            for column in ("numerator", "denominator", "value", "low", "high"):
                assert one[column] == other[column], (language, metric, column)


HARD_TEXTS = ["a▁b▁▁c", "▁▁", "▁hus och▁ hus", "漢 漢字 hus漢 漢hus", "\n漢\n漢 é\u0301", "hus  ▁ 漢", "", "hus"]


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_a_literal_space_mark_and_byte_tokens_count_as_in_evaluate(byte_fallback: bool) -> None:
    recipe = pw.Recipe(vocab_size=300, byte_fallback=byte_fallback, hard_vocab_limit=False)
    tokenizer = pw.train(pw.count_words(["hus och hus en hus", "abc"] * 3), recipe)
    evaluation = pw.evaluate({"t": tokenizer}, pw.count_units({"sv": HARD_TEXTS}))
    counts = pw.count_units({"sv": HARD_TEXTS})
    for found in (compare({"t": tokenizer}, {"sv": HARD_TEXTS}), compare_on_counts({"t": tokenizer}, counts)):
        for metric in METRICS:
            (ours,) = found.metrics.where(metric=metric).rows()
            (row,) = evaluation.metrics.where(metric=metric).rows()
            assert (ours["numerator"], ours["denominator"]) == (row["numerator"], row["denominator"]), metric


def test_languages_without_spaces_are_named(loaded: dict[str, AnyTokenizer]) -> None:
    texts = {"x": ["ภาษาไทยเขียนติดกัน"], "y": ["words with spaces"]}
    found = compare(loaded, texts)
    assert found.without_spaces == ["x"]
    # The first chart compares tokens, the second tokens per word, in wide and narrow.
    charts = comparison_charts(found).split("<figure>")[1:]
    assert [chart.count(">All text<") for chart in charts] == [2, 0]
    assert [">X<" in chart for chart in charts] == [True, False]
    assert all(">Y<" in chart for chart in charts)
    assert compare_on_counts({"ours": loaded["ours"]}, pw.count_units(texts)).without_spaces == ["x"]


def test_parallel_text_for_tokenizers_of_any_kind(loaded: dict[str, AnyTokenizer], tmp_path: Path) -> None:
    lines = {"da": ["Hej verden", "en hund"], "sv": ["Hej världen", "en liten hund"]}
    for language, texts in lines.items():
        (tmp_path / f"{language}.txt").write_text("\n".join(texts), encoding="utf-8")
    found = compare(loaded, lines, parallel=read_parallel("{language}.txt", tmp_path, pivot="sv")).parallel
    assert found is not None
    for name, tokenizer in loaded.items():
        tokens = {language: sum(map(len, tokenizer.tokens_batch(texts))) for language, texts in lines.items()}
        rows = found.where(tokenizer=name, metric="premium").rows()
        assert {row["language"]: row["value"] for row in rows} == {"da": tokens["da"] / tokens["sv"], "sv": 1.0}


def test_on_counts(comparison: Comparison, loaded: dict[str, AnyTokenizer], documents: dict[str, list[str]]) -> None:
    """Word by word instead of on documents: the same for ours, and within 2 % for the others."""
    on_counts = compare_on_counts(loaded, pw.count_units(documents))
    for name in loaded:
        for language in comparison.languages:
            one, other = (
                each.metrics.where(tokenizer=name, language=language, metric="word_fertility").rows()[0]
                for each in (comparison, on_counts)
            )
            assert one["denominator"] == other["denominator"]
            tolerance = 0 if name == "ours" else 0.02 * one["numerator"]
            assert abs(one["numerator"] - other["numerator"]) <= tolerance, (name, language)
    assert on_counts.words.rows() == comparison.words.rows()


def test_overlap(comparison: Comparison, loaded: dict[str, AnyTokenizer]) -> None:
    rows = {(row["first"], row["second"]): row for row in comparison.overlap.rows()}
    assert len(rows) == len(loaded) * (len(loaded) - 1)
    assert rows["byte-level", "tiktoken"]["jaccard"] == 1
    for (first, second), row in rows.items():
        assert row["shared"] == rows[second, first]["shared"]
        assert row["relative"] == row["shared"] / row["first_tokens"] <= 1
    assert 0.1 < rows["ours", "unigram"]["jaccard"] < 1


def test_words_that_are_cut_differently(comparison: Comparison, documents: dict[str, list[str]]) -> None:
    rows = comparison.words.where(language="sv").rows()
    counts = [row["count"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert len({row["word"] for row in rows}) == 25
    words = Counter(word for text in documents["sv"] for word in text.split())
    for row in rows:
        assert row["count"] == words[row["word"]]
        assert row["cut"].replace("·", "") == row["word"]
        assert row["parts"] == row["cut"].count("·") + 1
    by_word: dict[str, set[str]] = {}
    for row in rows:
        by_word.setdefault(row["word"], set()).add(row["cut"])
    assert all(len(cuts) > 1 for cuts in by_word.values())


def test_mistakes(loaded: dict[str, AnyTokenizer]) -> None:
    with pytest.raises(pw.InputError, match="no text to compare on"):
        compare(loaded, {"sv": []})
    with pytest.raises(pw.InputError, match="no tokenizer to compare"):
        compare({}, {"sv": ["en ros"]})
    with pytest.raises(pw.InputError, match=r'documents of "sv" are one string; for a single document write \[text\]'):
        compare(loaded, {"sv": "en ros"})


@pytest.fixture
def files(documents: dict[str, list[str]], tmp_path: Path) -> list[Path]:
    for language, texts in documents.items():
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (tmp_path / f"news_{language}.jsonl").write_text(lines, encoding="utf-8")
    return [tmp_path / f"news_{language}.jsonl" for language in documents]


def test_command(run: Run, outside: dict[str, Path], files: list[Path]) -> None:
    data = [argument for path in files for argument in ("--data", path)]
    sources = [outside["ours"], f"uni={outside['unigram']}", outside["bpe"], outside["byte-level"].parent]
    done = run("compare", *sources, outside["tiktoken"], *data)
    assert done.returncode == 0, done.stderr
    for expected in ("ours", "uni", "bpe", "gpt", "own", "SentencePiece unigram", "overall", "Vocabulary overlap"):
        assert expected in done.stdout
    assert "own: the file has no pattern to split text" in done.stderr
    assert "next: piecework compare" in done.stderr


def test_command_formats(
    run: Run, outside: dict[str, Path], files: list[Path], documents: dict[str, list[str]]
) -> None:
    data = [argument for path in files for argument in ("--data", path)]
    sources = [outside["ours"], f"<uni>={outside['unigram']}"]
    as_json = json.loads(run("compare", *sources, *data, "--json").stdout)
    expected = compare(
        {"ours": load_tokenizer(outside["ours"]), "<uni>": load_tokenizer(outside["unigram"])}, documents
    )
    assert as_json["metrics"] == expected.metrics.rows()
    assert as_json["tokenizers"]["<uni>"]["kind"] == "SentencePiece unigram"
    rows = list(csv.DictReader(io.StringIO(run("compare", *sources, *data, "--csv").stdout)))
    assert [row["metric"] for row in rows] == expected.metrics.column("metric")
    page = run("compare", *sources, *data, "--html").stdout
    assert page.startswith("<!doctype html>")
    assert "&lt;uni&gt;" in page
    assert "<uni>" not in page
    assert not re.search(r"(src|href)=", page), "the page needs nothing else"
    assert page.count("<figure>") == 2
    assert page.count("<svg") == 4
    assert "Tokens / tokens of ours, by language; lower is better" in page


def test_command_with_parallel_text(run: Run, outside: dict[str, Path], tmp_path: Path) -> None:
    for language, text in {"en": "one house", "sv": "ett hus"}.items():
        (tmp_path / f"{language}.txt").write_text(f"{text}\n", encoding="utf-8")
    sources = [outside["ours"], outside["unigram"], "--parallel", tmp_path / "{language}.txt"]
    found = json.loads(run("compare", *sources, "--json").stdout)
    premiums = [row for row in found["parallel"] if row["metric"] == "premium"]
    assert [(row["tokenizer"], row["language"]) for row in premiums[:2]] == [("ours", "en"), ("ours", "sv")]
    rows = list(csv.DictReader(io.StringIO(run("compare", *sources, "--csv").stdout)))
    assert [float(row["value"]) for row in rows if row["metric"] == "premium"] == [row["value"] for row in premiums]
    assert "written without spaces" not in run("compare", *sources).stderr
    (tmp_path / "th.txt").write_text("บ้านหนึ่งหลัง\n", encoding="utf-8")
    assert "warning: th: written without spaces, so tokens per word mean" in run("compare", *sources).stderr
    for output in (run("compare", *sources).stdout, run("compare", *sources, "--html").stdout):
        assert "Tokens for the same text, compared with en" in output
        assert "premium of sv" in output


def test_command_with_languages_in_a_pattern(run: Run, outside: dict[str, Path], tmp_path: Path) -> None:
    for language, text in {"en": "one house", "sv": "ett hus"}.items():
        (tmp_path / language).mkdir()
        (tmp_path / language / "book_of_is.txt").write_text(f"{text}\n", encoding="utf-8")
    done = run("compare", outside["ours"], "--data", tmp_path / "{language}/*.txt", "--json")
    assert {row["language"] for row in json.loads(done.stdout)["metrics"]} >= {"en", "sv"}
    assert "in en, sv" in done.stderr
    for pattern, message in (("{language}/*.md", "no file matches this pattern"), ("{langauge}/*", "did you mean")):
        done = run("compare", outside["ours"], "--data", tmp_path / pattern)
        assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_command_mistakes(run: Run, outside: dict[str, Path], files: list[Path]) -> None:
    for arguments, code, message in (
        ((outside["ours"],), 2, "--data FILE, --counts DIR or --parallel PATTERN"),
        ((outside["ours"], outside["ours"], "--data", files[0]), 1, "given twice"),
        ((f"a={outside['ours']}", f"a={outside['bpe']}", "--data", files[0]), 1, 'two tokenizers are called "a"'),
        (("missing.json", "--data", files[0]), 1, "no such file or folder"),
        ((outside["ours"], "--data", "missing.txt"), 1, "missing.txt"),
    ):
        done = run("compare", *arguments)
        assert done.returncode == code, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"model_type": "bpe", "treat_whitespace_as_suffix": True}, "it puts whitespace after words"),
        ({"model_type": "unigram", "treat_whitespace_as_suffix": True}, "it puts whitespace after words"),
        ({"model_type": "bpe", "split_by_whitespace": False, "vocab_size": 700}, "reaches across a space"),
        ({"model_type": "unigram", "split_by_whitespace": False, "vocab_size": 700}, "reaches across a space"),
        ({"model_type": "word"}, "unknown words side by side are one token"),
        ({"model_type": "bpe", "remove_extra_whitespaces": True, "add_dummy_prefix": False}, "adds no prefix"),
    ],
)
def test_models_that_look_across_spaces_are_not_compared_on_counts(
    settings: dict[str, Any], reason: str, training: list[str], documents: dict[str, list[str]], tmp_path: Path
) -> None:
    model = io.BytesIO()
    arguments = {"vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2, **settings}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(training), model_writer=model, **arguments)
    (tmp_path / "m.model").write_bytes(model.getvalue())
    tokenizer = load_tokenizer(str(tmp_path / "m.model"))
    with pytest.raises(pw.InputError, match=f'"m" cannot be compared on counts: .*{reason}.*; compare on documents'):
        compare_on_counts({"m": tokenizer}, pw.count_units(documents))
    assert compare({"m": tokenizer}, documents).metrics.rows()


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_other_models_are_the_same_on_counts(
    kind: str, training: list[str], documents: dict[str, list[str]], tmp_path: Path
) -> None:
    """With SentencePiece's own defaults, which normalise text."""
    model = io.BytesIO()
    arguments = {"vocab_size": 300, "hard_vocab_limit": False, "minloglevel": 2, "model_type": kind}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(training), model_writer=model, **arguments)
    (tmp_path / "m.model").write_bytes(model.getvalue())
    tokenizers = {"m": load_tokenizer(str(tmp_path / "m.model"))}
    on_counts, whole = compare_on_counts(tokenizers, pw.count_units(documents)), compare(tokenizers, documents)
    for found, expected in zip(on_counts.metrics.rows(), whole.metrics.rows(), strict=True):
        assert found["numerator"] == expected["numerator"], (found, expected)
