"""A study as a whole: the files that it writes, and the files that it makes again when something changes."""

import json
import re
import shutil
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from piecework.errors import InputError, StudyError
from piecework.pipeline.results import StudyResults
from piecework.results.state import State
from piecework.results.study_tables import TITLES
from piecework.study.study import Study
from pipeline.studies import STUDY, change_study, contents, run_study, times, write_study

TOKENIZERS = ["multilingual", "multilingual-400", "multilingual-512", "code", "da", "is", "sv"]
TOKENIZER_FILES = {
    "README.md",
    "merges.tsv",
    "special_tokens_map.json",
    "spiece.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer.vocab",
    "tokenizer_config.json",
}


@pytest.fixture(scope="module")
def results(run_once: Path) -> StudyResults:
    return StudyResults.load(run_once / "out")


def test_the_folder(results: StudyResults) -> None:
    folder = results.folder
    assert {path.name for path in folder.iterdir()} == {
        "counts",
        "passages.json",
        "report.html",
        "results",
        "run.json",
        "study.toml",
        "tokenizers",
    }
    assert results.tokenizers == TOKENIZERS
    assert {path.name for path in (folder / "tokenizers").iterdir()} == set(TOKENIZERS)
    for name in TOKENIZERS:
        assert {path.name for path in (folder / "tokenizers" / name).iterdir()} == TOKENIZER_FILES
    # This study names no outside tokenizers, no parallel text and no model, and lacks languages of the paper.
    missing = {"findings", "outside", "outside_overlap", "outside_parallel", "outside_words", "parallel"}
    missing |= {"alternatives", "recipes", "size_costs", "size_advice"}
    assert list(results.tables) == [name for name in TITLES if name not in missing]
    for name in results.tables:
        assert (folder / "results" / f"{name}.csv").exists()
    assert list((folder / "results" / "figures").glob("*.svg"))
    assert results.languages == ["code", "da", "is", "sv"]
    assert results.counts is not None
    assert "<svg" in results._repr_html_()


def test_tokenizers_are_those_of_training(results: StudyResults) -> None:
    counts = results.counts
    assert counts is not None
    recipe = pw.Recipe.gpt_sw3(vocab_size=640)
    assert counts.weights[pw.SubsetName("books", "is")] == 2
    trained = pw.train(counts.training(weights=counts.weights), recipe)
    assert results.tokenizer().model_bytes == trained.model_bytes
    smaller = pw.train(counts.training(), pw.Recipe.gpt_sw3(vocab_size=400))
    assert results.tokenizer("multilingual-400").model_bytes == smaller.model_bytes
    assert results.tokenizer("sv").model_bytes == pw.train(counts.training("sv"), recipe).model_bytes
    path = results.folder / "tokenizers" / "sv" / "tokenizer.model"
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    text = "försvenska och isländska    därtill"
    assert results.tokenizer("sv").encode(text) == theirs.encode(text)


def test_metrics_are_those_of_evaluation(results: StudyResults) -> None:
    counts = results.counts
    assert counts is not None
    tokenizers = {name: results.tokenizer(name) for name in TOKENIZERS}
    evaluation = pw.evaluate(tokenizers, counts)
    rows = {(row["tokenizer"], row["language"], row["metric"]): row for row in results.tables["metrics"].rows()}
    for row in evaluation.metrics.rows():
        assert rows[row["tokenizer"], row["language"], row["metric"]] == row
    assert len(rows) == len(TOKENIZERS) * 5 * len(evaluation.metric_list)


def test_every_size_is_in_the_table(results: StudyResults) -> None:
    sizes = results.tables["sizes"].where(language="sv")
    metrics = results.tables["metrics"].where(language="sv")
    first, last = sizes.column("vocab_size")[0], sizes.column("vocab_size")[-1]
    assert sizes.column("vocab_size") == list(range(first, last + 1))
    assert last == 640
    for name, size in (("multilingual", 640), ("multilingual-512", 512), ("multilingual-400", 400)):
        row = sizes.where(vocab_size=size).rows()[0]
        for metric in ("fertility", "continued_words", "word_fertility", "split_words", "bytes_per_token"):
            assert row[metric] == metrics.where(tokenizer=name, metric=metric).rows()[0]["value"]


def test_pieces_and_examples(results: StudyResults) -> None:
    tokenizer = results.tokenizer()
    pieces = results.tables["pieces"].rows()
    assert [row["piece"] for row in pieces] == [piece.text for piece in tokenizer.pieces]
    small = {piece.text for piece in results.tokenizer("multilingual-400").pieces}
    assert {row["piece"] for row in pieces if row["since_size"] <= 400} == small
    examples = results.tables["examples"].rows()
    assert {row["language"] for row in examples} == {"code", "da", "is", "sv"}
    assert {row["tokenizer"] for row in examples if row["language"] == "sv"} == {"multilingual", "sv"}
    for row in examples:
        assert row["ids"] == results.tokenizer(row["tokenizer"]).encode(row["text"])
        assert row["decoded"] == row["text"]


def test_the_resolved_study_is_the_same_study(results: StudyResults, run_once: Path) -> None:
    study, resolved = Study.load(run_once / "study.toml"), Study.load(results.folder / "study.toml")
    assert resolved.recipe == study.recipe
    assert resolved.recipe.model_fields_set == study.recipe.model_fields_set
    assert resolved.counting_key() == study.counting_key()
    assert resolved.analysis == study.analysis


def test_run_json(results: StudyResults) -> None:
    run = json.loads((results.folder / "run.json").read_text())
    assert run["complete"]
    assert run["seed"] == 1
    assert run["settings"]["recipe"]["vocab_size"] == 640
    assert run["versions"]["piecework"] == pw.__version__
    assert run["elapsed_s"] > 0
    assert run["peak_memory_bytes"] > 10_000_000
    assert run["inputs"]["files"] == 5
    assert run["inputs"]["size_bytes"] == sum(
        path.stat().st_size for path in (results.folder.parent / "data").iterdir()
    )
    assert set(run["stages"]) == {
        *("counts", "passages", "study", "evaluation", "cards", "report"),
        *(f"tokenizer {name}" for name in TOKENIZERS),
    }


def test_a_second_run_does_nothing(study: Path) -> None:
    before = times(study.parent)
    done = []
    run_study(study, progress=lambda stage, _done, _total: done.append(stage))
    assert times(study.parent) == before
    assert done == []


def test_another_recipe_reads_no_document(study: Path) -> None:
    counts = times(study.parent / "out" / "counts")
    before = contents(study.parent / "out")
    shutil.rmtree(study.parent / "data")
    change_study(study, STUDY, {"vocab_size = 640": "vocab_size = 600\nsplit_digits = false", ", 640]": "]"})
    results, warnings = run_study(study)
    assert times(study.parent / "out" / "counts") == counts
    assert results.tokenizer().vocab_size == 600
    assert results.tables["metrics"].where(tokenizer="sv").column("vocab_size")[0] == 600
    assert ["the corpus is missing; using the counts" in warning for warning in warnings] == [True]
    after = contents(study.parent / "out")
    assert after.keys() == before.keys()
    assert after["passages.json"] == before["passages.json"]
    assert after["report.html"] != before["report.html"]


def test_other_weights_read_no_document(study: Path) -> None:
    shutil.rmtree(study.parent / "data")
    change_study(study, STUDY, {"is = 2": "is = 0.25"})
    results, _ = run_study(study)
    counts = results.counts
    assert counts is not None
    assert float(counts.weights[pw.SubsetName("books", "is")]) == 0.25
    assert results.tables["corpus"].where(language="is").column("weight") == ["0.25"]
    assert results.tokenizer().model_bytes == pw.train(counts.training(), results.study.recipe).model_bytes


@pytest.mark.parametrize(
    "changes",
    [{"is = 2": "is = 0"}, {"60%": "50%"}, {"data/{category}": "other/{category}"}],
    ids=["weight", "sampling", "path"],
)
def test_without_the_corpus_other_counts_cannot_be_had(study: Path, changes: dict[str, str]) -> None:
    shutil.rmtree(study.parent / "data")
    before = contents(study.parent / "out", without=())
    change_study(study, STUDY, changes)
    with pytest.raises(StudyError, match="matches no file"):
        run_study(study)
    assert contents(study.parent / "out", without=()) == before


def test_a_changed_corpus_is_counted_again(study: Path) -> None:
    path = study.parent / "data" / "books_sv.jsonl"
    path.write_text(path.read_text() + json.dumps({"text": "nya ord för svenska"}) + "\n")
    results, warnings = run_study(study)
    assert any("counting again: files that changed since: data/books_sv.jsonl" in warning for warning in warnings)
    assert results.tables["corpus"].where(subset="books_sv").column("read_documents") == [276]


def test_what_is_missing_or_damaged_is_made_again(study: Path) -> None:
    out = study.parent / "out"
    before = contents(out)
    (out / "report.html").unlink()
    (out / "tokenizers" / "sv" / "README.md").unlink()
    (out / "results" / "metrics.parquet").write_bytes(b"damaged")
    (out / "tokenizers" / "multilingual-400" / "tokenizer.model").write_bytes(b"")
    (out / "results" / ".metrics.csv.12345678.tmp").write_bytes(b"left over")
    run_study(study)
    assert contents(out) == before


def test_sizes_and_languages_that_are_not_wanted_any_more(study: Path) -> None:
    change_study(study, STUDY, {"[400, 512, 640]": "[400]\nmonolingual = false"})
    results, _ = run_study(study)
    assert results.tokenizers == ["multilingual", "multilingual-400"]
    assert {path.name for path in (results.folder / "tokenizers").iterdir()} == set(results.tokenizers)
    assert len(results.tables["overlap"]) == len(results.tables["overlap_sizes"]) == 0
    assert len(results.tables["summary"]) >= 3


def test_latex(study: Path) -> None:
    results, _ = run_study(study, latex=True)
    folder = results.folder / "results" / "latex"
    names = {path.stem for path in folder.iterdir()}
    assert names == {
        *("datasets", "weights", "parameters", "vocabulary", "fertility", "continued_words"),
        *("fertility_by_size", "continued_words_by_size", "overlap", "overlap_by_size"),
    }
    fertility = results.tables["metrics"].where(metric="fertility", language="sv", tokenizer="multilingual").rows()[0]
    text = (folder / "fertility.tex").read_text()
    assert f"{fertility['value']:.3f}" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    for path in folder.iterdir():
        rows = [line for line in path.read_text().splitlines() if line.endswith(r" \\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1, path
    # Pieces are numbered from 1.
    vocabulary = (folder / "vocabulary.tex").read_text()
    assert r"special & 4 & 1--4 & \texttt{\textless{}pad\textgreater{}} " in vocabulary
    assert "& 618--640 &" in vocabulary
    assert r"vocab\_size & 640 \\" in (folder / "parameters.tex").read_text()
    read = {row["subset"]: row["read_bytes"] for row in results.tables["corpus"].rows()}
    sums = [line for line in (folder / "datasets.tex").read_text().splitlines() if line.startswith("all &")]
    assert sums[0].split(" & ")[-1] == rf"{sum(read.values()) / 1e6:.1f} \\"
    assert "Icelandic" in (folder / "weights.tex").read_text()
    curve = results.tables["overlap_sizes"].where(language="sv", vocab_size=400).rows()[0]
    assert f"Swedish & {curve['relative_to_other']:.2f} &" in (folder / "overlap_by_size.tex").read_text()


def test_force_does_all_again_and_takes_over(study: Path) -> None:
    out = study.parent / "out"
    before = contents(out)
    written = times(out)
    run_study(study, force=True)
    assert contents(out) == before
    changed = {path.removeprefix(f"{out}/") for path, when in times(out).items() if when != written[path]}
    assert {"counts/counts.json", "results/metrics.csv", "report.html"} <= changed
    other = change_study(study.parent / "other.toml", STUDY, {'"small"': '"other"', "[400, 512, 640]": "[512]"})
    with pytest.raises(InputError, match='holds the study "small", not "other"; pass --force'):
        run_study(other)
    results, _ = run_study(other, force=True)
    assert results.name == "other"
    assert not (out / "tokenizers" / "multilingual-400").exists()


def test_what_others_made_is_not_overwritten(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    (tmp_path / "out" / "tokenizers" / "multilingual").mkdir(parents=True)
    with pytest.raises(InputError, match="exists already and was not written by piecework run; pass --force"):
        run_study(path)


def test_a_study_file_in_its_own_output_folder_is_kept(study: Path) -> None:
    out = study.parent / "out"
    text = "# by hand\n" + STUDY.replace("data/", "../data/")
    (out / "study.toml").write_text(text)
    run_study(out / "study.toml", out=out)
    assert (out / "study.toml").read_text() == text


def test_no_results(tmp_path: Path, study: Path) -> None:
    with pytest.raises(InputError, match=r"no such folder; first run piecework run STUDY\.toml --out"):
        StudyResults.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no results of a study in this folder"):
        StudyResults.load(tmp_path / "empty")
    (tmp_path / "empty" / "run.json").write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        StudyResults.load(tmp_path / "empty")
    (tmp_path / "empty" / "run.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="format 99, and this version reads 2"):
        StudyResults.load(tmp_path / "empty")
    run = study.parent / "out" / "run.json"
    State(run.parent).write({"complete": False})
    with pytest.raises(InputError, match="has not finished"):
        StudyResults.load(run.parent)
    results, _ = run_study(study)
    with pytest.raises(InputError, match='no tokenizer "fi"; there is multilingual,'):
        results.tokenizer("fi")
    with pytest.raises(KeyError):
        results.tables["nothing"]
    shutil.rmtree(results.folder / "counts")
    assert StudyResults.load(results.folder).counts is None
