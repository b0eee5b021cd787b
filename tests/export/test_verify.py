"""`verify` finds what differs, explains only what it can predict, and leaves nothing out."""

import json
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
import transformers

import adversarial
import piecework as pw
from cli.command import Run, environment
from export.conftest import Exported
from piecework.corpus.clean_up import clean_up, clean_up_bytes
from piecework.tokenizer.behaviour import Behaviour, Prediction
from piecework.tokenizer.hard_texts import code_texts, fuzzed_texts, symbol_texts
from piecework.tokenizer.runtimes import RUNTIMES
from piecework.tokenizer.verify import verify


def texts_for(tokenizer: pw.Tokenizer) -> list[str]:
    return [*symbol_texts(tokenizer), *code_texts()[:5], *fuzzed_texts(tokenizer, 250)]


def test_every_runtime(exported: Exported) -> None:
    """All runtimes are installed for the tests. Every difference has a cause that predicts it."""
    done = verify(exported.tokenizer, texts_for(exported.tokenizer), folder=exported.folder)
    assert done.reference == "sentencepiece"
    assert [result.name for result in done.results] == [runtime.name for runtime in RUNTIMES]
    assert {result.status for result in done.results[1:]} == {"compared"}
    results = {result.name: result for result in done.results}
    for name, result in results.items():
        assert result.unexplained == 0, (name, result.differences[0])
    assert results["piecework"].same == done.texts
    assert set(results["tokenizers"].explained) == set(results["AutoTokenizer"].explained) == {"special tokens"}
    assert set(results["GPTSw3Tokenizer"].explained) == {"special tokens", "clean-up"}
    assert done.is_fine


def test_the_portable_order_is_portable(exported: Exported) -> None:
    """A runtime that merges by ids agrees on whitespace runs in the portable order, but not in the paper's order."""
    (_, kitoken) = verify(exported.tokenizer, texts_for(exported.tokenizer), runtimes=["kitoken"]).results
    is_portable = exported.tokenizer.pieces[-1].text == "▁▁"
    assert kitoken.explained == {} if is_portable else kitoken.explained["order of runs"] > 100
    assert kitoken.unexplained == 0


def test_without_bytes_and_symbols(code_lines: list[str]) -> None:
    tokenizer = pw.train(pw.count_words(code_lines), pw.Recipe(vocab_size=4_000))
    done = verify(tokenizer, texts_for(tokenizer))
    assert done.is_fine, [result.differences[:1] for result in done.results if not result.is_fine]
    assert next(r for r in done.results if r.name == "gigatoken").status == "not supported"


def test_without_a_prefix(code_lines: list[str]) -> None:
    """If a runtime cannot take a model at all, this is reported, and does not count as a difference."""
    tokenizer = pw.train(pw.count_words(code_lines), pw.Recipe.gpt_sw3(vocab_size=3_000, add_dummy_prefix=False))
    done = verify(tokenizer, texts_for(tokenizer))
    assert done.is_fine, [result.differences[:1] for result in done.results if not result.is_fine]
    (llama,) = [result for result in done.results if result.name == "LlamaTokenizer"]
    assert (llama.status, llama.note) == ("not supported", "it takes models with a prefix only")


def test_merges_by_id_are_found(exported: Exported, tmp_path: Path) -> None:
    """Merges that are rebuilt from ids can be wrong: the difference is found, and no false cause is given."""
    content = orjson.loads((exported.folder / "tokenizer.json").read_bytes())
    ids = content["model"]["vocab"]
    content["model"]["merges"].sort(key=lambda pair: ids["".join(pair)])
    for path in exported.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer.json").write_bytes(orjson.dumps(content))
    texts = texts_for(exported.tokenizer)
    done = verify(exported.tokenizer, texts, folder=tmp_path, runtimes=["tokenizers", "AutoTokenizer"])
    _, rust, auto = done.results
    if exported.tokenizer.pieces[-1].text == "▁▁":
        assert done.is_fine
        return
    assert not done.is_fine
    assert rust.unexplained == auto.unexplained > 20
    first = rust.differences[0]
    assert first.cause is None
    assert first.found[: first.at] == first.expected[: first.at]
    assert first.found[first.at :][:1] != first.expected[first.at :][:1]


def test_a_wrong_prediction_explains_nothing(exported: Exported) -> None:
    """A text with a special token, and ids that the special token does not explain."""
    prediction = Prediction(exported.tokenizer, Behaviour(special=("control",)))
    assert prediction.cause("x<s>y") == "special tokens"
    assert prediction.encode("x<s>y") == [*exported.tokenizer.encode("x"), 2, *exported.tokenizer.encode("y")]
    plain = Prediction(exported.tokenizer, Behaviour())
    assert plain.cause("x<s>y") is None
    assert plain.encode("x<s>y") == exported.tokenizer.encode("x<s>y")


def test_clean_up_is_that_of_the_client(exported: Exported) -> None:
    """Every character of the first planes, alone and between letters; and fuzzed strings."""
    slow = transformers.GPTSw3Tokenizer.from_pretrained(str(exported.folder))
    characters = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x20000), 0x10FFFF)]
    apart = "\n".join(characters)  # a newline is never deleted, and nothing composes with it
    for text in (apart, "a".join(characters), *(adversarial.text(seed) for seed in range(1_000))):
        assert clean_up(text) == slow.preprocess_text(text)
        assert clean_up_bytes(text.encode()) == clean_up(text).encode()


def test_fuzzed_texts_are_the_same_for_a_seed(exported: Exported) -> None:
    one, again, other = (list(fuzzed_texts(exported.tokenizer, 50, seed=seed)) for seed in (1, 1, 2))
    assert one == again != other
    everything = "".join(fuzzed_texts(exported.tokenizer, 1_000))
    for expected in ("<|python|>", "<s>", " " * 24, "\u00a0", "\n", "▁"):
        assert expected in everything


def test_half_a_surrogate_pair(exported: Exported) -> None:
    with pytest.raises(pw.InputError, match="surrogate"):
        verify(exported.tokenizer, ["a\ud800"], runtimes=["piecework"])


def test_command(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "own.txt"
    data.write_text("en ros är en ros\n    <|python|>\n", encoding="utf-8")
    done = run("verify", model, "--data", data, "--fuzzed", "50", "--runtimes", "tokenizers,gigatoken")
    assert done.returncode == 0, done.stderr
    assert "symbols cut out" in done.stdout
    assert "next: piecework inspect" in done.stderr
    done = run("verify", model, "--fuzzed", "50", "--runtimes", "tokenizers,gigatoken", "--strict", "-q")
    assert done.returncode == 1
    assert "runtimes differ" in done.stderr


def test_command_json_and_failure(run: Run, model: Path, tmp_path: Path) -> None:
    assert run("export", model, "--to", "hf", "--out", "new").returncode == 0
    path = tmp_path / "new" / "tokenizer.json"
    content = orjson.loads(path.read_bytes())
    content["model"]["merges"].reverse()
    path.write_bytes(orjson.dumps(content))
    done = run("verify", "new", "--fuzzed", "20", "--runtimes", "tokenizers", "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert not result["same_everywhere"]
    assert result["results"][1]["unexplained"] > 0
    assert "tokenizers on" in done.stderr
    assert "without a known cause" in done.stderr
    path.write_bytes(b"{}")
    done = run("verify", "new", "--fuzzed", "20", "--runtimes", "tokenizers")
    assert done.returncode == 1
    assert "failed: " in done.stdout
    assert "tokenizers cannot use the model" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_runtime_that_is_not_there(run: Run, model: Path) -> None:
    done = run("verify", model, "--runtimes", "tiktokn")
    assert done.returncode == 1
    assert 'no runtime "tiktokn"; there are sentencepiece, piecework,' in done.stderr


HIDE = """
import importlib.util, sys
hidden = {"tokenizers", "transformers", "sentencepiece", "gigatoken", "kitoken", "tiktoken"}
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] in hidden else find(name, *rest)
class Hide:
    def find_spec(self, name, *_):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())
from piecework.cli import main
main()
"""


def without_extras(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", HIDE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment(), encoding="utf-8", check=False, timeout=120)


def test_without_the_extra(model: Path) -> None:
    """Then Piecework is the reference. Each missing runtime is listed with the command that installs it."""
    done = without_extras("verify", model, "--fuzzed", "20")
    assert done.returncode == 1
    assert "nothing was compared: piecework is the only installed runtime" in done.stderr
    assert "not installed: pip install transformers sentencepiece" in " ".join(done.stdout.split())
    done = without_extras("verify", model, "--runtimes", "tokenizers")
    assert done.returncode == 1
    assert "tokenizers is not installed: pip install tokenizers" in done.stderr
