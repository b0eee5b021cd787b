"""A study that extends a tokenizer: what it trains, what its curves say, and what it refuses."""

from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from piecework.errors import StudyError
from piecework.evaluation.curves import Sizes
from piecework.evaluation.metrics import find_metrics
from piecework.pipeline.results import StudyResults
from pipeline.studies import contents, run_study, small_corpus, times, write_study
from report.html import parse

STUDY = """
name = "extended"
[corpus]
path = "data/{category}_{language}.jsonl"
[sampling]
train = "60%"
eval = "40%"
weighting = "counts"
[extend]
base = "BASE"
add = 60
[analysis]
vocab_sizes = [SMALLER]
"""


def documents() -> dict[str, list[str]]:
    return {name: texts for name, texts in small_corpus().items() if "_" in name}


def english() -> list[str]:
    return ["the old tokenizer knows other words than these", "no word of the new text, and yet  two   spaces"] * 9


def words_base() -> pw.Tokenizer:
    return pw.train(english(), pw.Recipe(vocab_size=330, byte_fallback=True, character_coverage=1.0))


def bytes_base(cut: pw.PreTokenizer | str = "gpt2") -> pw.ByteLevelTokenizer:
    return pw.train(english(), pw.Recipe.byte_level("gpt2", pre_tokenizer=cut, vocab_size=300))


@pytest.fixture(scope="module", params=["words", "bytes", "ranks", "custom"])
def study_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extended")
    cut = pw.PreTokenizer("custom", pattern=r"\s?\w+|[^\w\s]+|\s") if request.param == "custom" else "gpt2"
    base: pw.Tokenizer | pw.ByteLevelTokenizer = words_base() if request.param == "words" else bytes_base(cut)
    name = "old"
    if request.param == "ranks":
        assert isinstance(base, pw.ByteLevelTokenizer)
        ranked = pw.train(pw.count_pre_tokens(english(), pre_tokenizer="cl100k"), pw.Recipe.byte_level(vocab_size=300))
        name = "cl100k_base.tiktoken"
        ranked.save_tiktoken(folder / name)
        base = ranked
    else:
        base.save(folder / name)
    smaller = base.vocab_size + 55
    return write_study(folder, corpus=documents(), text=STUDY, BASE=name, SMALLER=str(smaller))


@pytest.fixture(scope="module")
def results(study_file: Path) -> StudyResults:
    return run_study(study_file)[0]


def test_the_tokenizer_is_that_of_extend(results: StudyResults, study_file: Path) -> None:
    found = results.tokenizer()
    source = next(path for path in study_file.parent.iterdir() if path.name.startswith(("old", "cl100k")))
    base = pw.load_tokenizer(source)
    assert results.counts is not None
    expected = pw.extend(base, results.counts.training(), add=60)
    assert found.vocab_size == expected.tokenizer.vocab_size
    assert found.piece_texts == expected.tokenizer.piece_texts
    text = documents()["books_sv"][0]
    assert found.encode(text) == expected.tokenizer.encode(text)
    assert (results.folder / "tokenizers/multilingual/extension.json").is_file()
    own = pw.extend(base, results.counts.training("is"), add=60)
    assert results.tokenizer("is").piece_texts == own.tokenizer.piece_texts


def test_curves_are_those_of_fewer_pieces(results: StudyResults) -> None:
    """One pass gives every number of new pieces: evaluating each resized tokenizer gives the same numbers."""
    full, counts = results.tokenizer(), results.counts
    assert counts is not None
    sizes = Sizes.of(full)
    metrics = find_metrics(["word_fertility", "fertility", "continued_words", "split_words", "bytes_per_token"])
    names = [metric.name for metric in metrics]
    listed = range(sizes.smallest, full.vocab_size + 1, 7)
    every = pw.evaluate({str(size): full.resize(size) for size in listed}, counts, metrics=names)
    curves = pw.evaluate({"full": full}, counts, metrics=names, curves=True)
    for metric in metrics:
        for language in counts.languages:
            curve = curves.curve("full", language, metric)
            for size in listed:
                expected = every.metrics.where(tokenizer=str(size), language=language, metric=metric.name).rows()[0]
                assert curve.at(size) == pytest.approx(expected["value"], abs=1e-12)


def test_before_and_after_are_in_the_tables(results: StudyResults) -> None:
    rows = results.tables["metrics"].where(metric="bytes_per_token", language="sv").rows()
    values = {row["tokenizer"]: row for row in rows}
    assert values["base"]["value"] < values["multilingual"]["value"]
    assert values["base"]["low"] < values["base"]["value"] < values["base"]["high"]
    page = parse(results.report.read_text(encoding="utf-8"))
    assert "Before and after extending" in page.text


def test_a_second_run_does_nothing(results: StudyResults, study_file: Path) -> None:
    before = times(results.folder)
    run_study(study_file)
    assert times(results.folder) == before


def test_the_resolved_study_is_the_same(results: StudyResults, tmp_path: Path) -> None:
    again, _ = run_study(results.folder / "study.toml", out=tmp_path / "again")
    folders = [each.folder / "tokenizers/multilingual" for each in (results, again)]
    before, after = (contents(folder, without=["README.md"]) for folder in folders)  # the card names the path
    assert before == after


def test_a_changed_base_is_extended_again(tmp_path: Path) -> None:
    words_base().save(tmp_path / "old")
    path = write_study(tmp_path, corpus=documents(), text=STUDY, BASE="old", SMALLER="")
    before = run_study(path)[0].tokenizer().piece_texts
    pw.train(english(), pw.Recipe(vocab_size=320, byte_fallback=True)).save(tmp_path / "old", force=True)
    assert len(run_study(path)[0].tokenizer().piece_texts) < len(before)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('[recipe]\nvocab_size = 400\n[extend]\nbase = "old"\nadd = 9', "leave \\[recipe\\] out"),
        ('[extend]\nbase = "none.model"\nadd = 9', r'study.toml:\d+: base = "none.model" in \[extend\]'),
        ('[extend]\nbase = "uni.model"\nadd = 9', "unigram"),
        ('[extend]\nbase = "old"\nadd = 0', "greater than or equal to 1"),
        ('base = "old"\n[extend]\nadd = 9', r"it belongs in \[extend\]"),
        ('[extend]\nbase = "old"\nadd = 9\n[analysis]\nvocab_sizes = [300]', "choose sizes from"),
    ],
)
def test_refusals(table: str, reason: str, tmp_path: Path) -> None:
    words_base().save(tmp_path / "old")
    with (tmp_path / "uni.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(english()), model_writer=file, vocab_size=34, model_type="unigram", minloglevel=2
        )
    text = f'name = "x"\n{table}\n[corpus]\npath = "data/{{category}}_{{language}}.jsonl"\n'
    if table.startswith("base"):
        text = 'base = "old"\nname = "x"\n[extend]\nadd = 9\n[corpus]\npath = "data/{category}_{language}.jsonl"\n'
    text += '[sampling]\ntrain = "60%"\neval = "40%"\n'
    with pytest.raises(StudyError, match=reason):
        run_study(write_study(tmp_path, corpus=documents(), text=text))
