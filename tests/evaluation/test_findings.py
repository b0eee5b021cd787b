"""The paper's findings on real text. The test computes and shows them; it does not assert that they hold."""

import pytest

import piecework as pw
from evaluation.conftest import Sample
from piecework.evaluation.monolingual import ranking
from piecework.evaluation.overlap import overlap_curve
from piecework.results.findings import check_findings


def test_findings(evaluation: pw.Evaluation, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizers = evaluation.tokenizers
    curves = {
        name: overlap_curve(tokenizers["multilingual"], tokenizers[name])
        for name in tokenizers
        if name != "multilingual"
    }
    table = check_findings(evaluation, curves)
    rows = table.rows()
    findings = list(dict.fromkeys(row["finding"] for row in rows))
    assert len(findings) == 9 - ("code" not in evaluation.groups and "is" not in evaluation.groups)
    with capsys.disabled():
        print(f"\n\n{evaluation.matrix('fertility').title}")
        matrix = evaluation.matrix("fertility")
        print("".join(f"{name:>14}" for name in matrix.columns))
        for row in matrix.rows():
            print("".join(f"{value:>14}" if isinstance(value, str) else f"{value:14.3f}" for value in row.values()))
        for finding in findings:
            cases = [row for row in rows if row["finding"] == finding]
            against = [f"{row['case']} ({row['evidence']})" for row in cases if not row["holds"]]
            print(
                f"{finding}: {len(cases) - len(against)} of {len(cases)}{'; not ' * bool(against)}{'; '.join(against)}"
            )
    evidence = {row["case"]: row["evidence"] for row in rows if row["finding"] == findings[0]}
    assert evidence["sv"].startswith(("sv ", "multilingual "))


def test_ranking(evaluation: pw.Evaluation) -> None:
    table = ranking(evaluation, "fertility")
    assert len(table) == len(evaluation.groups) * len(evaluation.tokenizers)
    for language in evaluation.groups:
        values = table.where(language=language).column("value")
        assert values == sorted(values)
        assert table.where(language=language).column("behind")[0] == 0
    bytes_per_token = ranking(evaluation, "bytes_per_token").where(language="sv").column("value")
    assert bytes_per_token == sorted(bytes_per_token, reverse=True)


def test_monolingual_tokenizers_are_trained_on_their_language_alone(sample: Sample) -> None:
    class Source:
        languages = ("da", "sv")

        def training(self, language: str) -> pw.WordCounts:
            return sample.word_counts[language]

    seen = set()
    recipe = pw.Recipe.gpt_sw3(vocab_size=2000)
    found = pw.train_monolingual(Source(), recipe, progress=lambda language, _done, _wanted: seen.add(language))  # type: ignore[arg-type]
    assert list(found) == ["da", "sv"]
    for language, tokenizer in found.items():
        assert tokenizer.model_bytes == pw.train(sample.word_counts[language], recipe).model_bytes
    assert seen == {"da", "sv"}
    with pytest.raises(pw.VocabularyTooLargeError, match='the language "da": vocab_size') as error:
        pw.train_monolingual(Source(), pw.Recipe.gpt_sw3(vocab_size=10**6), languages=["da"])  # type: ignore[arg-type]
    assert error.value.largest > 2000
