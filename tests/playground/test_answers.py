"""Answers of the playground: ids of sentencepiece, estimates of resized tokenizers, clear error messages."""

import signal
import subprocess
from pathlib import Path

import pytest
import sentencepiece

import piecework as pw
from cli.command import COMMAND, environment
from piecework.playground.catalogue import Catalogue, NativeTokenizer
from piecework.playground.estimates import METRICS, EstimateStore
from piecework.playground.requests import MAX_CHARACTERS
from playground.examples import LINES, texts, tokenizer
from playground.running import Server, running


def lanes(server: Server, text: str, *choices: tuple[str, int | None]) -> list[dict[str, object]]:
    asked = {"text": text, "lanes": [{"tokenizer": name, "vocab_size": size} for name, size in choices]}
    answer: list[dict[str, object]] = server.ask("encode", asked)["lanes"]
    return answer


def test_ids_are_sentencepieces(server: Server, models: Path) -> None:
    names = ("paper", "without bytes")
    oracles = [sentencepiece.SentencePieceProcessor(str(models / name / "tokenizer.model")) for name in names]
    long = " ".join(LINES * 300)[:MAX_CHARACTERS]
    for text in [*texts(40, seed=5), "\U0010ffff" * 3, long]:
        found = lanes(server, text, *((name, None) for name in names))
        assert [lane["ids"] for lane in found] == [oracle.encode(text) for oracle in oracles]


def test_a_lane_at_a_smaller_size_is_the_resized_tokenizer(server: Server) -> None:
    smaller = tokenizer().resize(370)
    for text in texts(20, seed=6):
        (found,) = lanes(server, text, ("paper", 370))
        assert found["ids"] == smaller.encode(text)
        assert found["vocab_size"] == 370
        assert found["full_size"] == 420


def test_a_lane_that_fails_leaves_the_others(server: Server) -> None:
    found = lanes(server, "regnar", ("nothing", None), ("paper", 3), ("paper", None))
    assert found[0]["error"] == 'no tokenizer "nothing"; there is paper, without bytes'
    assert "cannot resize to 3" in str(found[1]["error"])
    assert found[2]["ids"] == tokenizer().encode("regnar")


def test_merges_and_vocabulary(server: Server) -> None:
    word = server.ask("merges", {"text": "😀 det regnar", "tokenizer": "paper", "at": 8})
    assert word["text"] == " regnar"
    found = server.ask("vocabulary", {"tokenizer": "paper", "search": {"text": "regn"}})
    assert {row["piece"] for row in found["rows"]} == {
        piece.text for piece in tokenizer().pieces if "regn" in piece.text
    }


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("merges", {"text": "", "tokenizer": "paper", "at": 0}, "outside a text of 0 characters"),
        ("merges", {"text": "a", "tokenizer": "paper", "at": 7}, None),
        ("cuts", {"text": "a", "tokenizer": "nothing"}, 'no tokenizer "nothing"'),
        ("estimates", {"tokenizer": "paper", "metric": "fertility", "vocab_size": 400}, "no counted text"),
        ("vocabulary", {"tokenizer": "paper", "search": {"text": "(", "mode": "regex"}}, "regular expression"),
        ("vocabulary", {"tokenizer": "paper", "search": {"limit": 100_000}}, "search.limit"),
        ("encode", {"text": 7, "lanes": []}, "text: Input should be a valid string"),
        ("encode", {"text": "a", "lanes": [{"tokenizer": "paper"}] * 5}, "lanes"),
        ("encode", {"text": "a", "lanes": [], "path": "/etc/passwd"}, "path: Extra inputs"),
    ],
)
def test_mistakes_in_plain_words(server: Server, path: str, body: object, message: str | None) -> None:
    status, content, _ = server.request("POST", f"/api/{path}", body)
    if message is None:
        assert status == 200
        return
    assert status == 400
    assert message in content["error"]


def test_estimates_are_those_of_resized_tokenizers() -> None:
    documents = {"sv": LINES[5:7] * 20, "code": LINES[:5] * 20}
    counts = pw.count_units(documents)
    catalogue = Catalogue({"paper": lambda: NativeTokenizer(tokenizer(), name="paper")}, counts=counts)
    estimates = EstimateStore(catalogue).get("paper")
    for size in (340, 400, 420):
        smaller = tokenizer().resize(size)
        evaluation = pw.evaluate({"smaller": smaller}, counts, metrics=METRICS)
        for metric in METRICS:
            wanted = {row["language"]: row["value"] for row in evaluation.metrics.where(metric=metric).rows()}
            assert {row["language"]: row["value"] for row in estimates.at(metric, size)} == wanted
    with pytest.raises(pw.InputError, match="size 7: estimates exist from"):
        estimates.at("fertility", 7)
    assert estimates.use.sum() == sum(len(tokenizer().encode(text)) for group in documents.values() for text in group)


def test_nothing_to_show_and_models_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(b"no model")
    for arguments, code, message in (
        ([], 2, "give the output folder of a study"),
        (["missing.model"], 1, "missing.model: no such file or folder"),
        (["broken.model"], 1, "neither a SentencePiece model"),
    ):
        done = subprocess.run(
            [*COMMAND, "playground", *arguments],
            capture_output=True,
            cwd=tmp_path,
            env=environment(),
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_port_that_is_taken(server: Server, models: Path) -> None:
    command = [*COMMAND, "playground", str(models / "paper"), "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, env=environment(), text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Address already in use; choose another --port" in done.stderr


def test_ctrl_c_ends_it(models: Path) -> None:
    with running(models / "paper", cwd=models) as started:
        assert started.request("GET", "/")[0] == 200
        started.process.send_signal(signal.SIGINT)
        assert started.process.stderr
        said = started.process.stderr.read()
        assert started.process.wait(10) == 0
    assert "the playground has stopped" in said
    assert "next: piecework encode --compare" in said
    assert "Traceback" not in said
    assert "leaked" not in said
