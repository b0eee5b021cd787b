"""A whole study: six sizes of a multilingual tokenizer and one per language, with all metrics.

Piecework runs `piecework run`, from the documents to the report. SentencePiece trains the same twelve tokenizers on the
same documents and encodes the evaluation documents with each: a study with SentencePiece needs this before it can
compute a metric. It encodes a sample of the evaluation documents, and its time is scaled up by bytes: once on one
thread, and once on as many threads as Piecework has. There are two settings:

- paper: nine tenths of the documents train and a tenth evaluates, as in the paper. SentencePiece encodes the documents
  without punctuation, for the two metrics of the paper: fertility and continued words.
- halves: half of the documents train and half evaluate. SentencePiece encodes them also with punctuation, for all
  metrics.
"""

import importlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.evaluation import PUNCTUATION, QUICK_SIZES, SIZES, _read, _write_documents
from benchmarks.markdown import DASH, figure, table
from benchmarks.measure import Bench, Contender, from_command_line, interleave, run, save
from benchmarks.study_stages import STAGES

SAMPLE = 16
THREADS = 2


@dataclass(frozen=True)
class Setting:
    """How documents are shared out, and whether SentencePiece encodes them with punctuation too."""

    train: int
    """The share of documents that train, in per cent; all others evaluate."""
    as_they_are: bool

    @property
    def sampler_shares(self) -> dict[str, Fraction]:
        return {"train": Fraction(self.train, 100), "evaluation": Fraction(100 - self.train, 100)}


SETTINGS = {"paper": Setting(train=90, as_they_are=False), "halves": Setting(train=50, as_they_are=True)}

STUDY = """
name = "benchmark"
[corpus]
path = "{{category}}_{{language}}.jsonl"
[sampling]
train = "{train}%"
eval = "{evaluation}%"
[recipe]
vocab_size = {full}
hard_vocab_limit = false
[analysis]
vocab_sizes = {sizes}
"""


def benchmark(bench: Bench) -> dict[str, Any]:
    sizes = QUICK_SIZES if bench.quick else SIZES
    settings = {"sizes": sizes, "threads": THREADS, "sample": SAMPLE}
    return {"settings": settings, "studies": {name: measure_study(bench, name) for name in SETTINGS}}


def measure_study(bench: Bench, setting: str) -> dict[str, Any]:
    print(f"  setting {setting}", file=sys.stderr)
    folder = bench.work / f"study_{setting}_{'quick' if bench.quick else 'full'}"
    described = run(_contender("prepare", folder, setting, int(bench.quick)))
    if described.state != "ok":
        raise SystemExit(f"preparing the documents {described.state}")
    piecework = [sys.executable, "-m", "piecework", "run", str(folder / "study.toml"), "-q"]
    out = ["--out", str(folder / "out"), "--threads", str(THREADS)]
    contenders = [
        Contender("piecework run", [*piecework, *out, "--force"], package="piecework", threads=THREADS),
        Contender("piecework run, again", [*piecework, *out], package="piecework", threads=THREADS),
        *(
            Contender(name, [sys.executable, "-m", "benchmarks.study_stages", name, str(folder)], package="piecework")
            for name in ("run", "floor")
        ),
    ]
    names = described.detail["tokenizers"]
    encoders = [
        *(_contender(f"train {name}", folder, name, package="sentencepiece") for name in names),
        _contender("encode", folder, setting, package="sentencepiece"),
    ]
    load = os.getloadavg()[0]
    results = interleave([*contenders, *encoders], rounds=bench.rounds)
    ours = {each.name: results[each.name] for each in contenders[:2]}
    theirs = {each.name: results[each.name] for each in encoders}
    return {
        "text": dict(described.detail),
        "load_before": round(load, 1),
        "contenders": ours,
        "stages": {name: results[name] for name in ("run", "floor")},
        "sentencepiece": theirs,
        "ratios": ratios(ours["piecework run"], theirs),
    }


def ratios(ours: dict[str, Any], theirs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """SentencePiece's cost divided by piecework's. There is no ratio if one of SentencePiece's parts failed."""
    if ours["state"] != "ok" or any(each["state"] != "ok" for each in theirs.values()):
        return {}
    found = {}
    for measure in ("cpu_s", "wall_s"):
        training = sum(each[measure]["median"] for name, each in theirs.items() if name != "encode")
        encoding = theirs["encode"][f"scaled_{measure}"]["median"]
        found |= {
            f"sentencepiece_training_{measure}": round(training, 1),
            f"sentencepiece_encoding_{measure}": round(encoding, 1),
            f"ratio_{measure}": round((training + encoding) / ours[measure]["median"], 1),
        }
    threads = theirs["encode"]["scaled_threads_wall_s"]["median"]
    found["ratio_threads_wall_s"] = round(
        (found["sentencepiece_training_wall_s"] + threads) / ours["wall_s"]["median"], 1
    )
    return found


def study_section(result: dict[str, Any]) -> list[str]:
    """Markdown for RESULTS.md."""
    return [line for name, study in result["studies"].items() for line in _section(result["settings"], name, study)]


def _section(settings: dict[str, Any], name: str, study: dict[str, Any]) -> list[str]:
    text, ratio, rows = study["text"], study["ratios"], study["contenders"]
    whole, again = rows["piecework run"], rows["piecework run, again"]
    setting = SETTINGS[name]
    forms = "as they are and without punctuation" if setting.as_they_are else "for fertility and continued words alone"
    lines = [
        f"## A whole study of {text['bytes'] / 1e6:,.0f} MB, {setting.train} % to train, {100 - setting.train} % to "
        "evaluate",
        "",
        f"Twelve tokenizers of up to {settings['sizes'][-1]:,} pieces, on {', '.join(text['languages'])}: a "
        "multilingual one at six sizes, and one for each language. "
        f"`piecework run` with {THREADS} threads goes from the files to the report; its figures are of every metric "
        "and size and have intervals. SentencePiece trains the twelve and encodes the evaluation documents with each, "
        f"{forms}; its encoding was measured on one document in {settings['sample']} and scaled up by bytes, on one "
        f"thread. The machine's load was {study['load_before']} when it began.",
        "",
    ]
    shown = []
    for label, row in (("piecework run", whole), ("the same again, nothing changed", again)):
        if row["state"] != "ok":
            shown.append([label, row["state"], DASH, DASH])
            continue
        shown.append([label, figure(row["cpu_s"]), figure(row["wall_s"]), figure(row["peak_memory_mb"], digits=0)])
    if ratio:
        peaks = {part: row["peak_memory_mb"]["median"] for part, row in study["sentencepiece"].items()}
        training_peak = max(peak for part, peak in peaks.items() if part != "encode")
        for part, peak in (("training", training_peak), ("encoding", peaks["encode"])):
            cells = (f"{ratio[f'sentencepiece_{part}_{measure}']:,.0f}" for measure in ("cpu_s", "wall_s"))
            shown.append([f"SentencePiece, {part}", *cells, f"{peak:,.0f}"])
    lines += table(["", "CPU s", "wall s", "peak MB"], shown)
    if ratio:
        lines += [
            f"SentencePiece needs {ratio['ratio_cpu_s']:,.0f} times the CPU and {ratio['ratio_wall_s']:,.0f} times the "
            f"time, {ratio['ratio_threads_wall_s']:,.0f} times if it encodes on {THREADS} threads too, before a figure "
            "is computed; Piecework's peak memory is "
            f"{whole['peak_memory_mb']['median'] / training_peak:.1f} times SentencePiece's.",
            "",
        ]
    return lines + _stages(study.get("stages", {}))


def _stages(stages: dict[str, Any]) -> list[str]:
    """Where piecework's time goes."""
    spent, floor = stages.get("run"), stages.get("floor")
    if not spent or not floor or spent["state"] != "ok" or floor["state"] != "ok":
        return []
    rows = [
        [stage, figure(spent[stage], digits=2), figure(floor[stage], digits=2) if stage in floor else DASH]
        for stage in STAGES
    ]
    return [
        "Where piecework's time goes, in a process with one thread. The floor is the same work with all else taken "
        "away: texts and counts in memory, the paper's two metrics alone, files of the same bytes.",
        "",
        *table(["", "CPU s", "floor"], rows),
    ]


def _contender(name: str, *arguments: object, package: str | None = "piecework") -> Contender:
    command = [sys.executable, "-m", "benchmarks.study", "--contender", name.split(" ")[0], *map(str, arguments)]
    return Contender(name, command, package=package, threads=THREADS)


# The contenders, each in a process of its own.


def prepare(folder: str, setting: str, quick: str) -> dict[str, Any]:
    """The documents, the study file, and for SentencePiece the training lines and the evaluation documents."""
    from piecework.common.subset_name import SubsetName
    from piecework.corpus.sampling import Sampler

    work = Path(folder)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    languages = _write_documents(work, every=5 if quick == "1" else 1)
    sizes = QUICK_SIZES if quick == "1" else SIZES
    shares = SETTINGS[setting]
    (work / "study.toml").write_text(
        STUDY.format(full=sizes[-1], sizes=list(sizes), train=shares.train, evaluation=100 - shares.train)
    )
    (work / "lines").mkdir()
    total = 0
    for path in sorted(work.glob("*.jsonl")):
        name, language = path.stem, path.stem.rsplit("_", 1)[1]
        subset = SubsetName(*path.stem.rsplit("_", 1))
        sampler = Sampler(seed=1, weights={subset: Fraction(1)}, **shares.sampler_shares)
        evaluation = []
        with (work / "lines" / f"{language}.txt").open("a", encoding="utf-8") as lines:
            for text in _read(path):
                total += len(text.encode())
                if sampler.place(text.encode(), subset).evaluation:
                    evaluation.append(text)
                else:
                    lines.writelines(f"{line}\n" for line in text.split("\n") if line)
        (work / f"eval_{name}.json").write_text(json.dumps(evaluation))
    tokenizers = [*(f"multilingual-{size}" for size in sizes), *languages]
    return {"languages": languages, "tokenizers": tokenizers, "bytes": total}


def sides(work: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By language: the training texts as lines, and the evaluation texts."""
    training = {path.stem: list(_lines([path])) for path in sorted((work / "lines").glob("*.txt"))}
    evaluation: dict[str, list[str]] = {}
    for path in sorted(work.glob("eval_*.json")):
        evaluation.setdefault(path.stem.rsplit("_", 1)[1], []).extend(json.loads(path.read_bytes()))
    return training, evaluation


def train(folder: str, name: str) -> dict[str, Any]:
    """One tokenizer with SentencePiece, from the lines of its languages."""
    sentencepiece = importlib.import_module("sentencepiece")
    from piecework.study.study import Study

    work = Path(folder)
    study = Study.load(work / "study.toml", check_corpus=False)
    multilingual, _, size = name.partition("-")
    files = sorted((work / "lines").glob("*.txt" if size else f"{multilingual}.txt"))
    arguments = study.recipe.sentencepiece_arguments() | {"num_threads": THREADS, "minloglevel": 2}
    # The whitespace runs, 23 pieces, are added afterwards.
    arguments["vocab_size"] = int(size or study.recipe.vocab_size) - 23
    (work / "sentencepiece").mkdir(exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=_lines(files), model_prefix=str(work / "sentencepiece" / name), **arguments
    )
    return {"files": len(files)}


def _lines(files: list[Path]) -> Iterator[str]:
    for path in files:
        with path.open(encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\n")


def encode(folder: str, setting: str) -> dict[str, Any]:
    """Encodes a sample of the evaluation documents with each tokenizer, with punctuation too if the setting says so."""
    sentencepiece = importlib.import_module("sentencepiece")
    work = Path(folder)
    models = [
        sentencepiece.SentencePieceProcessor(model_file=str(path))
        for path in sorted((work / "sentencepiece").glob("*.model"))
    ]
    scaled = {"cpu": 0.0, "wall": 0.0, "threads": 0.0}
    for path in sorted(work.glob("eval_*.json")):
        texts = json.loads(path.read_bytes())
        sample = texts[::SAMPLE]
        share = sum(len(text.encode()) for text in sample) / sum(len(text.encode()) for text in texts)
        forms = [text.translate(PUNCTUATION) for text in sample]
        if SETTINGS[setting].as_they_are:
            forms += sample
        cpu, wall = time.process_time(), time.perf_counter()
        for model in models:
            for text in forms:
                model.encode(text)
        scaled["cpu"] += (time.process_time() - cpu) / share
        scaled["wall"] += (time.perf_counter() - wall) / share
        wall = time.perf_counter()
        for model in models:
            model.encode(forms, num_threads=THREADS)
        scaled["threads"] += (time.perf_counter() - wall) / share
    return {
        "scaled_cpu_s": scaled["cpu"],
        "scaled_wall_s": scaled["wall"],
        "scaled_threads_wall_s": scaled["threads"],
        "tokenizers": len(models),
    }


CONTENDERS: dict[str, Callable[..., dict[str, Any]]] = {"prepare": prepare, "train": train, "encode": encode}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--contender"]:
        print(json.dumps(CONTENDERS[sys.argv[2]](*sys.argv[3:]), ensure_ascii=False))
    else:
        told = from_command_line("study", __doc__)
        save(told.results, "study", benchmark(told))
