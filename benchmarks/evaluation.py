"""The paper's whole evaluation: a multilingual tokenizer at six sizes and six monolingual ones, on six languages.

Piecework evaluates on counted units, SentencePiece by encoding the evaluation documents for each tokenizer and size.
Then the languages get other weights on existing counts. This measures the time to a new tokenizer and its metrics.
"""

import importlib
import json
import shutil
import string
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.markdown import figure, table, times
from benchmarks.measure import Bench, Contender, from_command_line, interleave, run, save
from benchmarks.text import REPOSITORY, Admission, _corpus, _standard_library

SIZES = (10_000, 20_000, 30_000, 40_000, 51_200, 64_000)
QUICK_SIZES = (2_000, 3_000, 4_000, 5_000, 6_000, 8_000)
PAPER = ("fertility", "continued_words")
# Half of the documents train, half evaluate. For growth, every 8th, 4th, 2nd or each document.
GROWTH = (8, 4, 2, 1)
# SentencePiece encodes every 8th evaluation document; its time is scaled up by bytes.
SAMPLE = 8
PUNCTUATION = str.maketrans("", "", string.punctuation)

STUDY = """
name = "benchmark"
[corpus]
path = "{category}_{language}.jsonl"
[sampling]
train = "50%"
eval = "50%"
"""


def benchmark(bench: Bench) -> dict[str, Any]:
    folder = bench.work / f"evaluation_{'quick' if bench.quick else 'full'}"
    described = run(_contender("prepare", folder, int(bench.quick)))
    if described.state != "ok":
        raise SystemExit(f"preparing the counts and tokenizers {described.state}")
    contenders = [
        _contender("piecework-paper", folder),
        _contender("piecework-all", folder),
        _contender("sentencepiece-plain", folder, package="sentencepiece"),
        _contender("sentencepiece-both", folder, package="sentencepiece", rounds=1),
        *reweight(folder),
    ]
    results = interleave(contenders, rounds=bench.rounds)
    growth_runs = {every: run(_contender("growth", folder, every)) for every in GROWTH}
    theirs = results["sentencepiece-plain"]
    bytes_per_s = described.detail["evaluation_bytes"] / theirs["scaled_cpu_s"]["median"] if "rounds" in theirs else 0
    return {
        "text": dict(described.detail),
        "settings": {"sizes": QUICK_SIZES if bench.quick else SIZES, "threads": 1, "sample": SAMPLE},
        "contenders": results,
        "ratios": ratios(results),
        "growth": [grown(each.detail, bytes_per_s) for each in growth_runs.values() if each.state == "ok"],
        "same_figures": dict(run(_contender("compare", folder, package="sentencepiece")).detail),
    }


def ratios(results: dict[str, dict[str, Any]]) -> dict[str, float]:
    """SentencePiece's CPU time for the encoding alone, divided by piecework's for the process, and for the call."""
    found = {}
    for label, ours, theirs in (
        ("fertility and continued words", "piecework-paper", "sentencepiece-plain"),
        ("all metrics", "piecework-all", "sentencepiece-both"),
    ):
        if results[ours]["state"] == results[theirs]["state"] == "ok":
            encoding = results[theirs]["scaled_cpu_s"]["median"]
            found[label] = round(encoding / results[ours]["cpu_s"]["median"], 1)
            found[f"{label}, the call alone"] = round(encoding / results[ours]["evaluate_cpu_s"]["median"], 1)
    return found


def grown(detail: Mapping[str, Any], bytes_per_s: float) -> dict[str, Any]:
    """The change of the ratio with the text. SentencePiece's time grows with the text, piecework's with its words."""
    theirs = detail["bytes"] / bytes_per_s if bytes_per_s else 0.0
    return dict(detail) | {"sentencepiece_cpu_s": theirs, "ratio": round(theirs / detail["evaluate_cpu_s"], 1)}


def reweight(folder: Path) -> list[Contender]:
    """Icelandic with three times the weight: from existing counts to a tokenizer, and to new and old metrics."""
    size = (QUICK_SIZES if folder.name.endswith("quick") else SIZES)[-1]
    out = folder / "tokenizers" / "reweighted"
    piecework = [sys.executable, "-m", "piecework"]
    counts = ["--counts", str(folder), "--threads", "1"]
    train = ["train", "--weight", "is=3", "--vocab-size", str(size), "--out", str(out), "--force"]
    evaluate = ["evaluate", str(folder / "tokenizers" / "multilingual"), str(out)]
    metrics = [part for name in PAPER for part in ("--metric", name)]
    return [
        Contender("train --weight is=3", [*piecework, *train, *counts], package="piecework", threads=1),
        Contender(
            "evaluate before and after", [*piecework, *evaluate, *counts, *metrics], package="piecework", threads=1
        ),
    ]


def evaluation_section(result: dict[str, Any]) -> list[str]:
    """Markdown for RESULTS.md."""
    text, rows = result["text"], result["contenders"]
    lines = [
        f"## Evaluating 12 tokenizers on {text['evaluation_bytes'] / 1e6:,.0f} MB",
        "",
        f"A multilingual tokenizer at {len(result['settings']['sizes'])} sizes and {len(text['languages'])} "
        f"monolingual ones, on {', '.join(text['languages'])}; one thread. Piecework's figures have intervals, and its "
        "time is that of the whole process, from the counts. SentencePiece's is the encoding alone, of one document in "
        f"{result['settings']['sample']}, scaled up by bytes. "
        + ("The figures are equal." if result["same_figures"].get("equal") else "**The figures differ.**"),
        "",
    ]
    costs = [
        [name, figure(row.get("scaled_cpu_s", row["cpu_s"])) if row["state"] == "ok" else row["state"]]
        for name, row in rows.items()
    ]
    grown = [
        [
            f"{row['bytes'] / 1e6:,.0f} MB",
            f"{row['units']:,}",
            f"{row['evaluate_cpu_s']:,.1f}",
            f"{row['sentencepiece_cpu_s']:,.0f}",
            times(row["ratio"]),
        ]
        for row in result["growth"]
    ]
    return [
        *lines,
        *table(["", "CPU s"], costs),
        *(f"- {label}: {times(ratio)}" for label, ratio in result["ratios"].items()),
        "",
        "The same with more and less text:",
        "",
        *table(["text", "units", "evaluating, CPU s", "SentencePiece, CPU s", "ratio"], grown),
    ]


def _contender(
    name: str, *arguments: object, package: str | None = "piecework", rounds: int | None = None
) -> Contender:
    command = [sys.executable, "-m", "benchmarks.evaluation", "--contender", name, *map(str, arguments)]
    return Contender(name, command, package=package, rounds=rounds, threads=1)


# The contenders, each in a process of its own.


def prepare(folder: str, quick: str) -> dict[str, Any]:
    """Documents by language, their counts, the tokenizers, and the documents that SentencePiece encodes."""
    import piecework as pw
    from piecework.corpus.sampling import Sampler
    from piecework.counting.local import count
    from piecework.study.study import Study

    work = Path(folder)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    languages = _write_documents(work, every=5 if quick == "1" else 1)
    (work / "study.toml").write_text(STUDY)
    counts = count(Study.load(work / "study.toml"), out=work, threads=1)
    recipe = pw.Recipe.gpt_sw3(vocab_size=(QUICK_SIZES if quick == "1" else SIZES)[-1], hard_vocab_limit=False)
    multilingual = pw.train(counts.training(), recipe)
    multilingual.save(work / "tokenizers" / "multilingual")
    for size in _sizes(multilingual.vocab_size):
        multilingual.resize(size).save(work / "tokenizers" / f"multilingual-{size}")
    for language, tokenizer in pw.train_monolingual(counts, recipe).items():
        tokenizer.save(work / "tokenizers" / language)
    evaluation_bytes = {}
    for name in counts.weights:
        sampler = Sampler(seed=1, train=Fraction(1, 2), evaluation=Fraction(1, 2), weights={name: Fraction(1)})
        texts = [text for text in _read(work / f"{name}.jsonl") if sampler.place(text.encode(), name).evaluation]
        evaluation_bytes[str(name)] = sum(len(text.encode()) for text in texts)
        (work / f"eval_{name}.json").write_text(json.dumps(texts))
    return {
        "languages": languages,
        "evaluation_bytes": sum(evaluation_bytes.values()),
        "documents": sum(row["read_documents"] for row in counts.subsets.to_pylist()),
        "by_subset": evaluation_bytes,
    }


def _write_documents(work: Path, *, every: int) -> list[str]:
    admission = Admission()
    files: dict[str, Any] = {}
    languages = set()
    number = 0
    for pool in (_corpus(REPOSITORY.parent / "shared" / "corpus"), _standard_library()):
        for kind, document in pool:
            number += 1
            if number % every or not admission.admit(document):
                continue
            category, language = ("python", "code") if kind == "Python standard library" else kind.split(" ")
            languages.add(language)
            name = f"{category}_{language}"
            if name not in files:
                files[name] = (work / f"{name}.jsonl").open("w", encoding="utf-8")
            files[name].write(json.dumps({"text": document.decode()}, ensure_ascii=False) + "\n")
    for file in files.values():
        file.close()
    return sorted(languages)


def _read(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)["text"]


def _sizes(vocab_size: int) -> tuple[int, ...]:
    return SIZES if vocab_size == SIZES[-1] else QUICK_SIZES


def _tokenizers(work: Path) -> dict[str, Any]:
    import piecework as pw

    names = ["multilingual", *sorted({path.stem.rsplit("_", 1)[1] for path in work.glob("eval_*.json")})]
    return {name: pw.Tokenizer.load(work / "tokenizers" / name) for name in names}


def _evaluate(work: Path, counts: Any, metrics: tuple[str, ...] | None) -> dict[str, Any]:
    import piecework as pw

    tokenizers = _tokenizers(work)
    sizes = {"multilingual": _sizes(tokenizers["multilingual"].vocab_size)}
    start = time.process_time()
    found = pw.evaluate(tokenizers, counts, sizes=sizes, metrics=metrics)
    return {"evaluate_cpu_s": time.process_time() - start, "figures": len(found.metrics) + len(found.sizes)}


def piecework_paper(folder: str) -> dict[str, Any]:
    """Fertility and continued words, from the counts."""
    from piecework.counting.store import Counts

    return _evaluate(Path(folder), Counts.load(folder), PAPER)


def piecework_all(folder: str) -> dict[str, Any]:
    """Every metric, from the counts."""
    from piecework.counting.store import Counts

    return _evaluate(Path(folder), Counts.load(folder), None)


def growth(folder: str, every: str) -> dict[str, Any]:
    """Fertility and continued words of one document in `every`. The documents are counted first."""
    import piecework as pw

    texts: dict[str, list[str]] = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        texts.setdefault(path.stem.rsplit("_", 1)[1], []).extend(list(_read(path))[:: int(every)])
    size_bytes = sum(len(text.encode()) for each in texts.values() for text in each)
    start = time.process_time()
    counts = pw.count_units(texts)
    counted = {"count_cpu_s": time.process_time() - start, "bytes": size_bytes}
    units = counts.evaluation(plain=True).column("unit").unique()
    return counted | {"units": len(units)} | _evaluate(Path(folder), counts, PAPER)


def _sentencepiece(folder: str, *, both: bool) -> dict[str, Any]:
    sentencepiece = importlib.import_module("sentencepiece")
    work = Path(folder)
    names = sorted(path.name for path in (work / "tokenizers").iterdir() if path.name != "multilingual")
    models = [
        sentencepiece.SentencePieceProcessor(model_file=str(work / "tokenizers" / name / "tokenizer.model"))
        for name in names
    ]
    seconds = scaled = 0.0
    for path in sorted(work.glob("eval_*.json")):
        texts = json.loads(path.read_bytes())
        sample = texts[::SAMPLE]
        share = sum(len(text.encode()) for text in sample) / sum(len(text.encode()) for text in texts)
        plain = [text.translate(PUNCTUATION) for text in sample]
        start = time.process_time()
        for model in models:
            for text in plain:
                model.encode(text)
            for text in sample if both else ():
                model.encode(text)
        elapsed = time.process_time() - start
        seconds += elapsed
        scaled += elapsed / share
    return {"encoding_cpu_s": seconds, "scaled_cpu_s": scaled, "tokenizers": len(models)}


def sentencepiece_plain(folder: str) -> dict[str, Any]:
    """The encoding that fertility and continued words need."""
    return _sentencepiece(folder, both=False)


def sentencepiece_both(folder: str) -> dict[str, Any]:
    """The encoding that all metrics need: of the text without punctuation, and of the unchanged text."""
    return _sentencepiece(folder, both=True)


def compare(folder: str) -> dict[str, Any]:
    """Whether tokens, starts and continued words equal those that SentencePiece's ids give, on the sample."""
    import piecework as pw

    sentencepiece = importlib.import_module("sentencepiece")
    work = Path(folder)
    tokenizers = _tokenizers(work)
    texts: dict[str, list[str]] = {}
    for path in sorted(work.glob("eval_*.json")):
        texts.setdefault(path.stem.rsplit("_", 1)[1], []).extend(json.loads(path.read_bytes())[:: SAMPLE * 8])
    evaluation = pw.evaluate(tokenizers, pw.count_units(texts), metrics=PAPER)
    compared = 0
    for name, tokenizer in tokenizers.items():
        model = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model_bytes)
        starts = [model.id_to_piece(number).startswith("▁") for number in range(model.get_piece_size())]
        for row in evaluation.totals(name, "eval_plain").rows():
            found = [0, 0, 0]
            for text in texts[row["language"]]:
                flags = [starts[number] for number in model.encode(text.translate(PUNCTUATION).replace("▁", " "))]
                found[0] += len(flags)
                found[1] += sum(flags)
                found[2] += sum(one and not other for one, other in pairwise(flags))
            if found != [row["tokens"], row["starts"], row["continued"]]:
                return {"equal": False, "tokenizer": name, "language": row["language"]}
            compared += 3
    return {"equal": True, "totals_compared": compared}


CONTENDERS: dict[str, Callable[..., dict[str, Any]]] = {
    "prepare": prepare,
    "piecework-paper": piecework_paper,
    "piecework-all": piecework_all,
    "growth": growth,
    "sentencepiece-plain": sentencepiece_plain,
    "sentencepiece-both": sentencepiece_both,
    "compare": compare,
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contender"]:
        print(json.dumps(CONTENDERS[sys.argv[2]](*sys.argv[3:]), ensure_ascii=False))
    else:
        told = from_command_line("evaluation", __doc__)
        save(told.results, "evaluation", benchmark(told))
