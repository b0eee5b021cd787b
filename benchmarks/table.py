"""Markdown from the results: RESULTS.md, and a short table for the README between its two marks.

Usage: python -m benchmarks.table [--results DIR] [--out FILE] [--readme FILE]
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.byte_level import byte_level_section
from benchmarks.cluster import cluster_section, guide_section
from benchmarks.count import count_section
from benchmarks.documents import documents_section
from benchmarks.encode import encode_section
from benchmarks.evaluation import evaluation_section
from benchmarks.growth import growth_section
from benchmarks.markdown import (
    DASH,
    OURS,
    Result,
    figure,
    machine,
    our_encoder,
    ratio,
    size_of,
    table,
    times,
    versioned,
)
from benchmarks.measure import RESULTS
from benchmarks.playground import playground_section
from benchmarks.runtimes import runtimes_section
from benchmarks.scale import scale_section
from benchmarks.study import study_section
from benchmarks.tokenize import tokenize_section
from benchmarks.train import train_section

MARKS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")
GUIDE_MARKS = ("<!-- cluster -->", "<!-- /cluster -->")


def readme_section(results: dict[str, Result]) -> list[str]:
    """One line for each peer and task, for the README."""
    rows: list[list[str]] = []
    if train := results.get("train"):
        ours = train["contenders"][OURS]
        for name, row in train["contenders"].items():
            if row["state"] == ours["state"] == "ok":
                figures = [figure(row["cpu_s"]) + " s", figure(row["wall_s"]) + " s"]
                figures.append(figure(row["peak_memory_mb"], digits=0) + " MB")
                costs = [ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")]
                if name == OURS:
                    rows.append([f"**{versioned(train, name)}**", *figures])
                else:
                    cells = (f"{each}, {cost}" for each, cost in zip(figures, costs, strict=True))
                    rows.append([versioned(train, name), *cells])
    lines = []
    if rows and train:
        title = f"training 64,000 pieces on {size_of(train['text'])}"
        lines += table([title, "CPU", "wall", "peak memory"], rows)
    rows = []
    if (encode := results.get("encode")) and encode["tables"]:
        part = encode["tables"][0]
        for name, row in part["contenders"].items():
            if row["state"] == "ok":
                speeds = [figure(row[f"{which}_mb_per_cpu_s"]) for which in ("first", "second")]
                shown = f"**{versioned(encode, name)}**" if name.startswith(OURS) else versioned(encode, name)
                differ = part["documents_that_differ"][name]
                rows.append([shown, *speeds, DASH if differ is None else f"{differ:,} of {row['documents']:,}"])
        header = ["encoding on one thread, MB per CPU s", "cold caches", "warm", "documents with other ids"]
        lines += table(header, rows)
    if scale := results.get("scale"):
        rows = []
        for size, cost in scale["generated"].items():
            count, train = cost["count"], cost["train"]
            peer = cost.get("sentencepiece")
            theirs = [DASH, DASH]
            if peer and peer["state"] == "ok":
                theirs = [f"{peer['cpu_s']:,.0f} s", f"{peer['peak_memory_mb']:,.0f} MB"]
            elif peer:
                theirs = ["fails", f"more than {scale['memory_limit'].removesuffix('GB')} GB"]
            cells = [f"{count['cpu_s']:,.0f} + {train['cpu_s']:,.0f} s", f"{train['peak_memory_mb']:,.0f} MB", *theirs]
            rows.append([f"{int(size) / 1000:g} GB", *cells])
        header = ["64,000 pieces, counts on disk", "CPU (count + train)", "peak memory"]
        lines += table([*header, "SentencePiece: CPU", "peak memory"], rows)
    any_result = next(iter(results.values()))
    return [*lines, f"{machine(any_result)} More, with the losses: benchmarks/RESULTS.md."]


def losses(results: dict[str, Result]) -> list[str]:
    """Every comparison in which a peer did better than piecework."""
    found = []
    compared = 0
    trainings = [("training", results["train"])] if "train" in results else []
    for size in results.get("growth", {}).get("sizes", []):
        trainings.append((f"training on {size_of(size['text'])} (growth)", size))
    for task, part in trainings:
        for name, row, ours in _pairs(part["contenders"]):
            for measure, label in (
                ("cpu_s", "CPU time"),
                ("wall_s", "wall time"),
                ("peak_memory_mb", "memory"),
            ):
                compared += 1
                if (share := row[measure]["median"] / ours[measure]["median"]) < 1:
                    found.append(f"- {task}: {name} needs {share:.0%} of piecework's {label}")
    encodings = [
        (f"whitespace runs {part['whitespace_runs']}", part) for part in results.get("encode", {}).get("tables", [])
    ]
    encodings += [("byte-level", part) for part in results.get("byte_level", {}).get("encoding", [])]
    for kind, part in encodings:
        for name, row, ours in _encoders(part["contenders"]):
            for which, label in (("first", "cold"), ("second", "warm")):
                compared += 1
                measure = f"{which}_mb_per_cpu_s"
                if (speed := row[measure]["median"] / ours[measure]["median"]) > 1:
                    size = f"{row['size_bytes'] / 1e6:,.0f} MB"
                    found.append(
                        f"- encoding ({kind}, {part['layout']} documents, {size}, {label} caches): {name} is "
                        f"{times(speed)} as fast"
                    )
    for name, study in results.get("study", {}).get("studies", {}).items():
        ours = study["contenders"]["piecework run"]["peak_memory_mb"]["median"]
        theirs = max(row["peak_memory_mb"]["median"] for row in study["sentencepiece"].values())
        compared += 1
        if (share := theirs / ours) < 1:
            found.append(f"- a whole study ({name}): SentencePiece needs {share:.0%} of piecework's memory")
    for name, row, ours in _dataset_pairs(results.get("tokenize", {}).get("contenders", {})):
        compared += 2
        if (speed := row["mb_per_cpu_s"]["median"] / ours["mb_per_cpu_s"]["median"]) > 1:
            found.append(f"- documents to training shards: {name} is {times(speed)} as fast")
        if (share := row["tree_memory_mb"]["median"] / ours["tree_memory_mb"]["median"]) < 1:
            found.append(f"- documents to training shards: {name} needs {share:.0%} of piecework's memory")
    if not compared:
        return ["Nothing was compared."]
    return [f"In {len(found)} of {compared} comparisons.", "", *found]


def _dataset_pairs(contenders: dict[str, Result]) -> Iterator[tuple[str, Result, Result]]:
    """Each peer that ran, beside piecework on files of the same format."""
    for name, row in contenders.items():
        ours = contenders.get(f"{OURS}, {name.rsplit(', ', 1)[-1]}", {"state": "missing"})
        if not name.startswith(OURS) and row["state"] == ours["state"] == "ok":
            yield name, row, ours


def _pairs(contenders: dict[str, Result]) -> Iterator[tuple[str, Result, Result]]:
    """Each peer that ran, beside piecework; nothing if piecework did not run."""
    ours = contenders.get(OURS, {"state": "missing"})
    for name, row in contenders.items():
        if name != OURS and row["state"] == ours["state"] == "ok":
            yield name, row, ours


def _encoders(contenders: dict[str, Result]) -> Iterator[tuple[str, Result, Result]]:
    """Each peer that ran, beside piecework with the same kind of output."""
    for name, row in contenders.items():
        ours = our_encoder(contenders, name) or {"state": "missing"}
        if not name.startswith(OURS) and row["state"] == ours["state"] == "ok":
            yield name, row, ours


SECTIONS: dict[str, Callable[[Result], list[str]]] = {
    "train": train_section,
    "growth": growth_section,
    "scale": scale_section,
    "byte_level": byte_level_section,
    "count": count_section,
    "documents": documents_section,
    "tokenize": tokenize_section,
    "cluster": cluster_section,
    "encode": encode_section,
    "evaluation": evaluation_section,
    "runtimes": runtimes_section,
    "playground": playground_section,
    "study": study_section,
}


def document(results: dict[str, Result]) -> str:
    first = next(iter(results.values()))
    lines = [
        "# Benchmarks",
        "",
        "Made by `python -m benchmarks.table` from `results/`.",
        "",
        machine(first),
        "",
    ]
    texts: list[Result] = []
    for result in results.values():
        described = [size["text"] for size in result["sizes"]] if "sizes" in result else [result.get("text", {})]
        texts += [text for text in described if text not in texts and "shares" in text]
    for text in texts:
        shares = ", ".join(f"{kind} {share:.1%}" for kind, share in text["shares"].items())
        lines.append(f"- {size_of(text)} of text in {text['documents']:,} documents: {shares}.")
    lines += ["", "## Where piecework loses", ""]
    lines += [*losses(results), ""]
    for name, section in SECTIONS.items():
        if name in results:
            lines += section(results[name])
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, help="file to write; by default the document is printed")
    parser.add_argument("--readme", type=Path, help=f"file whose part between {' and '.join(MARKS)} is replaced")
    parser.add_argument("--guide", type=Path, help=f"file whose part between {' and '.join(GUIDE_MARKS)} is replaced")
    arguments = parser.parse_args()
    paths = {name: arguments.results / f"{name}.json" for name in SECTIONS}
    results = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    if not results:
        raise SystemExit(f"{arguments.results}: no results here; first run: python -m benchmarks")
    if arguments.out:
        arguments.out.write_text(document(results))
    else:
        print(document(results), end="")
    if arguments.readme:
        replace_part(arguments.readme, MARKS, readme_section(results))
    if arguments.guide and "cluster" in results:
        replace_part(arguments.guide, GUIDE_MARKS, guide_section(results["cluster"]))


def replace_part(path: Path, marks: tuple[str, str], lines: Sequence[str]) -> None:
    """Replace the part of a file between two marks with lines."""
    text = path.read_text()
    if not all(mark in text for mark in marks):
        raise SystemExit(f"{path}: needs a line {marks[0]} and, after it, a line {marks[1]}")
    before, rest = text.split(marks[0], 1)
    after = rest.split(marks[1], 1)[1]
    path.write_text("\n".join([before + marks[0], *lines, marks[1] + after]))


if __name__ == "__main__":
    main()
