"""Markdown from the results: RESULTS.md, and a short table for the README between its two marks.

Usage: python -m benchmarks.table [--results DIR] [--out FILE] [--readme FILE]
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluation import evaluation_section
from benchmarks.measure import RESULTS
from benchmarks.study import study_section

OURS = "piecework"
DASH, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"
MARKS = ("<!-- benchmarks -->", "<!-- /benchmarks -->")
GUIDE_MARKS = ("<!-- cluster -->", "<!-- /cluster -->")
SAMPLES = ("all", "paper")

Result = dict[str, Any]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table whose first column is text and whose others are figures."""
    aligned = ["---", *["---:"] * (len(header) - 1)]
    return [_row(header), _row(aligned), *(_row(row) for row in rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def figure(measure: Result, *, digits: int = 1) -> str:
    """A median, with the smallest and largest of its runs where there are several."""
    text = f"{measure['median']:,.{digits}f}"
    if len(measure["values"]) > 1:
        text += f" ({measure['min']:,.{digits}f}{DASH}{measure['max']:,.{digits}f})"
    return text


def times(value: float) -> str:
    return f"{value:.2f}{TIMES}" if value < 9.95 else f"{value:.0f}{TIMES}"


def ratio(peer: Result, ours: Result | None, measure: str) -> str:
    """How many times piecework's cost the peer's is: below 1, piecework loses."""
    if ours is None or ours["state"] != "ok":
        return DASH
    return times(peer[measure]["median"] / ours[measure]["median"])


def train_section(result: Result) -> list[str]:
    contenders = result["contenders"]
    ours = contenders.get(OURS)
    rows = []
    for name, row in contenders.items():
        if row["state"] != "ok":
            rows.append([_versioned(result, name), row["state"], *[DASH] * 6])
            continue
        rows.append(
            [
                _versioned(result, name),
                figure(row["cpu_s"]),
                figure(row["wall_s"]),
                figure(row["peak_memory_mb"], digits=0),
                *(ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")),
                str(row["rounds"]),
            ]
        )
    settings = result["settings"]
    return [
        f"## Training {settings['vocab_size']:,} pieces on {_size(result['text'])}",
        "",
        f"From a text file to a saved vocabulary, with {settings['threads']} threads, the start of Python "
        "included. Ratios are the peer's cost divided by piecework's: more than 1, piecework needs less. "
        + _sameness(result["same_pieces_and_scores"])
        + " The others train other vocabularies of the same size, with settings as near as they come.",
        "",
        *table(["", "CPU s", "wall s", "peak MB", "CPU", "wall", "memory", "runs"], rows),
    ]


def growth_section(result: Result) -> list[str]:
    rows = []
    for size in result["sizes"]:
        ours = size["contenders"][OURS]
        for name, row in size["contenders"].items():
            if row["state"] != "ok":
                rows.append([f"{_size(size['text'])}, {name}", row["state"], *[DASH] * 5])
                continue
            rows.append(
                [
                    f"{_size(size['text'])}, {name}",
                    figure(row["cpu_s"]),
                    figure(row["wall_s"]),
                    figure(row["peak_memory_mb"], digits=0),
                    *(ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")),
                ]
            )
    lines = [
        "## How the cost of training grows",
        "",
        " ".join(f"{_size(size['text'])}: {_sameness(size['same_pieces_and_scores'])}" for size in result["sizes"]),
        "",
        *table(["", "CPU s", "wall s", "peak MB", "CPU", "wall", "memory"], rows),
    ]
    exponents = {name: each for name, each in result["exponents"].items() if each["cpu_s"]}
    if exponents:
        spans = [_size(size["text"]) for size in result["sizes"]]
        lines += [
            f"Growth exponents (1 is linear, below 1 the cost per MB falls), from one size to the next of "
            f"{', '.join(spans)}. The mix of the text changes with its size, so these are of this text:",
            "",
            *table(
                ["", "CPU", "wall", "memory"],
                (
                    [
                        name,
                        *(", ".join(f"{e:.2f}" for e in each[m]) for m in ("cpu_s", "wall_s", "peak_memory_mb")),
                    ]
                    for name, each in exponents.items()
                ),
            ),
        ]
    return lines


def count_section(result: Result) -> list[str]:
    rows = []
    for name, row in result["contenders"].items():
        if row["state"] == "ok":
            figures = [figure(row["mb_per_cpu_s"]), figure(row["mb_per_wall_s"]), str(row["rounds"])]
        else:
            figures = [row["state"], DASH, DASH]
        rows.append([name, *figures])
    check = result["same_counts_as_python"]
    verdict = "The counts were not compared."
    if check:
        verdict = f"The counts {'equal' if check['equal'] else '**differ from**'} those of a plain Python reading "
        verdict += f"of the definition ({check['distinct']:,} distinct words)."
    return [
        f"## Counting words of {_size(result['text'])}",
        "",
        f"The text is in memory, and only the call is timed. {verdict}",
        "",
        *table(["", "MB per CPU s", "MB per s", "runs"], rows),
    ]


def documents_section(result: Result) -> list[str]:
    contenders, settings = result["contenders"], result["settings"]
    rows = []
    for name, row in contenders.items():
        if row["state"] != "ok":
            rows.append([name, row["state"], *[DASH] * 4])
            continue
        # The peer of the same format; it counts everything, and so is compared with piecework where it does too.
        ours = contenders.get(f"piecework, {name.rsplit(', ', 1)[-1]}, all") or contenders["piecework, JSONL, all"]
        rows.append(
            [
                name,
                figure(row["mb_per_cpu_s"]),
                figure(row["wall_s"]),
                figure(row["tree_memory_mb"], digits=0),
                DASH if name.startswith(OURS) else _speed_ratio(row, ours, "mb_per_cpu_s"),
                str(row["rounds"]),
            ]
        )
    checks = result["same_tables"]
    same = [name for name, check in checks.items() if check.get("equal")]
    verdict = f"The peer's counts equal piecework's from {', '.join(same)}." if same else "No counts were equal."
    different = [name for name in checks if name not in same]
    if different:
        verdict += f" **From {', '.join(different)} they differ, or were not compared.**"
    reading = [
        [
            name,
            f"{row['reading_cpu_s']:.2f}",
            f"{row['placing_cpu_s'] - row['reading_cpu_s']:.2f}",
            f"{row['counting_cpu_s'] - row['placing_cpu_s']:.2f}",
            f"{row['share']:.0%}",
        ]
        for name, row in result["reading"].items()
        if row
    ]
    grown = [
        [
            f"{size['size_mb']:,} MB, {name}",
            figure(row["mb_per_cpu_s"]),
            figure(row["wall_s"]),
            figure(row["tree_memory_mb"], digits=0),
        ]
        for size in result["growth"]
        for name, row in size["contenders"].items()
        if row["state"] == "ok"
    ]
    return [
        f"## Documents to counts, {_size(result['text'])} of text",
        "",
        f"{settings['files']} files, {settings['processes']} processes, from the command to the sorted tables on "
        "disk: starting processes, reading, sampling, counting, merging. `all` counts every document for training, "
        "`paper` samples 1 % for training and 0.2 % for evaluation. The peer reads with pyarrow and counts with "
        "`collections.Counter` in a pool of as many processes, all of it and without sampling; SentencePiece is "
        f"stopped when it has its words. Memory is that of all processes together. {verdict}",
        "",
        *table(["", "MB of text per CPU s", "wall s", "peak MB", "piecework is faster", "runs"], rows),
        "Where the time of one process goes, in CPU seconds:",
        "",
        *table(["", "reading", "placing", "counting and writing", "share of reading"], reading),
        "While the input grows, from JSONL.zst, everything counted, without and with a limit on memory:",
        "",
        *table(["", "MB of text per CPU s", "wall s", "peak MB"], grown),
    ]


def cluster_section(result: Result) -> list[str]:
    engines = result["engines"]
    rows = []
    for number, local in enumerate(engines["local, 1"]):
        size_mb = local["size_bytes"] / 1e6
        for name, of in engines.items():
            row = of[number]
            spark = "shuffled_bytes" in row
            rows.append(
                [
                    f"{size_mb:,.0f} MB, {row['sample']}, {name}",
                    f"{row['cpu_s']:.1f}",
                    DASH if not spark else times(row["cpu_s"] / local["cpu_s"]),
                    f"{row['wall_s']:.1f}" + (f" ({row['first_s']:.1f})" if spark else ""),
                    f"{size_mb / row['cpu_s']:.1f}",
                    f"{row['shuffled_bytes'] / row['size_bytes']:.3f}" if spark else DASH,
                ]
            )
    equal = all(row["equal"] for name, of in engines.items() if name.startswith("spark") for row in of)
    verdict = "All files of Spark equal the local engine's." if equal else "**Files differ from the local engine's.**"
    connect_s = max(of[0]["connect_s"] for name, of in engines.items() if name.startswith("spark"))
    return [
        f"## Counting on a Spark cluster, {_size(result['text'])} of text",
        "",
        "From JSONL, with 1 and 2 processes on one machine, and with 1 and 2 workers of one core each, a real "
        "cluster on the same machine, whose cores the driver, its Java and the master share. "
        f"Shards of {result['settings']['shard_bytes'] / 1e6:.0f} MB. CPU seconds are those of all processes. Of Spark "
        "the second count in an application is given, with the seconds of the first in parentheses; starting the "
        f"application took {connect_s:.0f} s more. Others used the machine too, so wall time says little; each was "
        f"run once. {verdict}",
        "",
        *table(["", "CPU s", "beside one process", "wall s", "MB of text per CPU s", "bytes shuffled per byte"], rows),
    ]


# A machine of 16 cores with 64 GB at a large provider, on demand, is some 0.8 US dollars an hour.
DOLLARS_PER_CORE_HOUR = 0.05
CORPUS_BYTES = 1.2e12


def guide_section(result: Result) -> list[str]:
    """What 1.2 TB would take, from the rates that were measured."""
    rows = []
    for row in [max((r for r in result["engines"]["spark, 2"] if r["sample"] == name), key=_bytes) for name in SAMPLES]:
        rate = row["size_bytes"] / row["cpu_s"]
        core_hours = CORPUS_BYTES / rate / 3600
        share = row["shuffled_bytes"] / row["size_bytes"]
        rows.append(
            [
                {"all": "every document counted", "paper": "1 % and 0.2 % sampled, as in the paper"}[row["sample"]],
                f"{rate / 1e6:.0f} MB/s",
                f"{core_hours:,.0f}",
                *(f"{core_hours / cores:.1f} h" for cores in (16, 64, 256)),
                f"{256 * rate / 1e9:.1f} GB/s",
                f"{share * CORPUS_BYTES / 1e9:,.0f} GB",
                f"{core_hours * DOLLARS_PER_CORE_HOUR:,.0f} $",
            ]
        )
    header = ["1.2 TB of JSONL text", "per core", "core hours", "16 cores", "64 cores", "256 cores"]
    return [
        *table([*header, "which read", "shuffled at most", f"at {DOLLARS_PER_CORE_HOUR} $ a core hour"], rows),
        "From one run over 100 MB on two workers, in bytes of text per CPU second of all processes, Spark's own "
        f"included (`benchmarks/results/cluster.json`; {_machine(result).split(';')[0]}). What starting costs, and "
        "Java's compiling, weighs more on so little text than on a corpus. What is shuffled falls with the size of "
        "shards, which are larger for a corpus of terabytes.",
    ]


def _bytes(row: Result) -> int:
    return int(row["size_bytes"])


def encode_section(result: Result) -> list[str]:
    lines = [
        "## Encoding on one thread",
        "",
        "MB of text per CPU second: the first pass over the documents, with cold caches, and a second pass "
        "over the same documents, with a model that piecework trained on the same text. Ratios are "
        "piecework's speed divided by the peer's: more than 1, piecework is faster.",
        "",
    ]
    for part in result["tables"]:
        ours = part["contenders"].get(OURS)
        rows = []
        size_mb = 0.0
        documents = 0
        for name, row in part["contenders"].items():
            if row["state"] != "ok":
                rows.append([_versioned(result, name), row["state"], *[DASH] * 5])
                continue
            size_mb, documents = row["size_bytes"] / 1e6, row["documents"]
            differ = part["documents_that_differ"][name]
            rows.append(
                [
                    _versioned(result, name),
                    figure(row["first_mb_per_cpu_s"]),
                    figure(row["second_mb_per_cpu_s"]),
                    _speed_ratio(row, ours, "first_mb_per_cpu_s"),
                    _speed_ratio(row, ours, "second_mb_per_cpu_s"),
                    DASH if differ is None else f"{differ:,}",
                    figure(row["peak_memory_mb"], digits=0),
                ]
            )
        runs = "no whitespace runs" if part["whitespace_runs"] == "none" else f"runs {part['whitespace_runs']}"
        layout = "whole documents" if part["layout"] == "whole" else f"documents of about {part['layout']}"
        lines += [
            f"{size_mb:,.0f} MB in {documents:,} {layout}; a model with {runs}; ids compared with "
            f"{part['ids_compared_with']}'s:",
            "",
            *table(
                ["", "first", "second", "ratio, first", "ratio, second", "documents that differ", "peak MB"],
                rows,
            ),
        ]
    return lines


def runtimes_section(result: Result) -> list[str]:
    orders = result["orders"]
    names = dict.fromkeys(name for order in orders.values() for name in order["differing"])
    rows = [
        [name, *(f"{order['differing'][name]:,} of {order['documents']:,}" for order in orders.values())]
        for name in names
    ]
    first = next(iter(orders.values()))
    unexplained = sum(sum(order["unexplained"].values()) for order in orders.values())
    exported = ", ".join(f"{order['export_cpu_s']:.2f} s" for order in orders.values())
    pieces, text = f"{result['settings']['vocab_size']:,} pieces", f"documents of {_size(result['text'])}"
    return [
        f"## The same ids everywhere: {pieces}, {text}",
        "",
        f"Documents with other ids than in {first['reference']}, by the order of the whitespace runs. Differences "
        "without a known cause ([docs/export.md](../docs/export.md)), other than where `transformers` converts the "
        f"model itself: {unexplained:,}. An export takes {exported} of CPU.",
        "",
        *table(["", *(f"runs in the order {name}" for name in orders)], rows),
    ]


def playground_section(result: Result) -> list[str]:
    def milliseconds(row: Result) -> list[str]:
        return [figure(row[name]) for name in ("median_ms", "p95_ms", "p99_ms", "worst_ms")]

    settings, measured = result["settings"], result["measured"]
    load, oversized = measured["load"], measured["oversized"]
    sizes = ", ".join(f"{size:,}" for size in settings["sizes"])
    rate = f"{settings['rate']} requests a second"
    averages = ", ".join(f"{average:.1f}" for average in settings["load_averages"])
    rows = [
        ["1,000 characters in four lanes", *milliseconds(measured["1000"])],
        ["100,000 characters in four lanes", *milliseconds(measured["100000"])],
        ["100,000 characters, every vocabulary size", *milliseconds(measured["cuts"])],
        [f"1,000 characters in four lanes, {rate}", *milliseconds(load)],
    ]
    return [
        "## The playground",
        "",
        f"The server has one core, and four lanes of {sizes} pieces. The machine was shared with other work: its load "
        f"average before each round was {averages}. Round trips over HTTP, in ms:",
        "",
        *table(["", "median", "95 %", "99 %", "worst"], rows),
        f"At {rate}: {sum(load['requests']['values']):,.0f} requests, {sum(load['failed']['values']):.0f} failed, "
        f"{figure(load['per_s'])} answered a second on {figure(load['cpu_share'], digits=2)} of the core; memory from "
        f"{figure(load['memory_before_mb'], digits=0)} to {figure(load['memory_after_mb'], digits=0)} MB. "
        f"A text of 10 MB is refused in {figure(oversized['ms'], digits=0)} ms: “{oversized['message']}”.",
        "",
    ]


def readme_section(results: dict[str, Result]) -> list[str]:
    """One line a peer and task: what the README shows."""
    rows: list[list[str]] = []
    if train := results.get("train"):
        ours = train["contenders"][OURS]
        for name, row in train["contenders"].items():
            if row["state"] == ours["state"] == "ok":
                figures = [figure(row["cpu_s"]) + " s", figure(row["wall_s"]) + " s"]
                figures.append(figure(row["peak_memory_mb"], digits=0) + " MB")
                costs = [ratio(row, ours, measure) for measure in ("cpu_s", "wall_s", "peak_memory_mb")]
                if name == OURS:
                    rows.append([f"**{_versioned(train, name)}**", *figures])
                else:
                    cells = (f"{each}, {cost}" for each, cost in zip(figures, costs, strict=True))
                    rows.append([_versioned(train, name), *cells])
    lines = []
    if rows and train:
        title = f"training 64,000 pieces on {_size(train['text'])}"
        lines += table([title, "CPU", "wall", "peak memory"], rows)
    rows = []
    if (encode := results.get("encode")) and encode["tables"]:
        part = encode["tables"][0]
        for name, row in part["contenders"].items():
            if row["state"] == "ok":
                speeds = [figure(row[f"{which}_mb_per_cpu_s"]) for which in ("first", "second")]
                shown = f"**{_versioned(encode, name)}**" if name == OURS else _versioned(encode, name)
                differ = part["documents_that_differ"][name]
                rows.append([shown, *speeds, DASH if differ is None else f"{differ:,} of {row['documents']:,}"])
        header = ["encoding on one thread, MB per CPU s", "cold caches", "warm", "documents with other ids"]
        lines += table(header, rows)
    any_result = next(iter(results.values()))
    return [*lines, f"{_machine(any_result)} More, with the losses: benchmarks/RESULTS.md."]


def losses(results: dict[str, Result]) -> list[str]:
    """Every comparison in which a peer did better than piecework."""
    found = []
    compared = 0
    trainings = [("training", results["train"])] if "train" in results else []
    for size in results.get("growth", {}).get("sizes", []):
        trainings.append((f"training on {_size(size['text'])} (growth)", size))
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
    for part in results.get("encode", {}).get("tables", []):
        for name, row, ours in _pairs(part["contenders"]):
            for which, label in (("first", "cold"), ("second", "warm")):
                compared += 1
                measure = f"{which}_mb_per_cpu_s"
                if (speed := row[measure]["median"] / ours[measure]["median"]) > 1:
                    found.append(
                        f"- encoding ({part['layout']} documents, whitespace runs {part['whitespace_runs']}, "
                        f"{label} caches): {name} is {times(speed)} as fast"
                    )
    if study := results.get("study"):
        ours = study["contenders"]["piecework run"]["peak_memory_mb"]["median"]
        theirs = max(row["peak_memory_mb"]["median"] for row in study["sentencepiece"].values())
        compared += 1
        if (share := theirs / ours) < 1:
            found.append(f"- a whole study: SentencePiece needs {share:.0%} of piecework's memory")
    if not compared:
        return ["Nothing was compared."]
    return [f"In {len(found)} of {compared} comparisons.", "", *found]


def _pairs(contenders: dict[str, Result]) -> Iterator[tuple[str, Result, Result]]:
    """Each peer that ran, beside piecework; nothing where piecework did not run."""
    ours = contenders.get(OURS, {"state": "missing"})
    for name, row in contenders.items():
        if name != OURS and row["state"] == ours["state"] == "ok":
            yield name, row, ours


def _speed_ratio(peer: Result, ours: Result | None, measure: str) -> str:
    if ours is None or ours["state"] != "ok":
        return DASH
    return times(ours[measure]["median"] / peer[measure]["median"])


def _sameness(check: Result) -> str:
    if not check:
        return "Piecework's pieces were not compared with SentencePiece's."
    if check["equal"]:
        return f"Piecework's {check['pieces']:,} pieces and their scores equal SentencePiece's."
    return f"**Of piecework's {check['pieces']:,} pieces, {check['differing']:,} differ from SentencePiece's.**"


def _size(text: Result) -> str:
    return f"{text['size_bytes'] / 1e6:,.0f} MB"


def _versioned(result: Result, name: str) -> str:
    package = {"Hugging Face tokenizers": "tokenizers"}.get(name, name.split()[0].lower())
    version = result["versions"].get(package)
    return f"{name} {version}" if version else name


def _machine(result: Result) -> str:
    machine = result["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, Python "
        f"{machine['python']}, {result['date'][:10]}; medians of interleaved runs, with the smallest and the "
        "largest."
    )


SECTIONS: dict[str, Callable[[Result], list[str]]] = {
    "train": train_section,
    "growth": growth_section,
    "count": count_section,
    "documents": documents_section,
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
        _machine(first),
        "",
    ]
    texts: list[Result] = []
    for result in results.values():
        described = [size["text"] for size in result["sizes"]] if "sizes" in result else [result["text"]]
        texts += [text for text in described if text not in texts and "shares" in text]
    for text in texts:
        shares = ", ".join(f"{kind} {share:.1%}" for kind, share in text["shares"].items())
        lines.append(f"- {_size(text)} of text in {text['documents']:,} documents: {shares}.")
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
    """Put lines in place of what a file has between two marks."""
    text = path.read_text()
    if not all(mark in text for mark in marks):
        raise SystemExit(f"{path}: needs a line {marks[0]} and, after it, a line {marks[1]}")
    before, rest = text.split(marks[0], 1)
    after = rest.split(marks[1], 1)[1]
    path.write_text("\n".join([before + marks[0], *lines, marks[1] + after]))


if __name__ == "__main__":
    main()
