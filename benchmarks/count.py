"""Counting words: MB of text per CPU second. The text is in memory, and only the call is timed."""

from typing import Any

from benchmarks.markdown import DASH, Result, figure, size_of, table
from benchmarks.measure import Bench, Contender, contender_command, from_command_line, interleave, run, save


def benchmark(bench: Bench) -> dict[str, Any]:
    text = bench.text_file
    contenders = [
        Contender(
            f"piecework, {layout}, {threads} thread{'s' if threads > 1 else ''}",
            contender_command("count-piecework", text, layout, threads),
            package="piecework",
        )
        for layout in ("documents", "lines", "Arrow")
        for threads in (1, 2)
    ]
    python = Contender("Python: Counter, str.split", contender_command("count-python", text), limit_s=600)
    results = interleave([*contenders, python], rounds=bench.rounds)
    check = Contender("check", contender_command("check-counts", text), package="piecework")
    checked = dict(run(check).detail) if results[contenders[0].name]["state"] == "ok" else {}
    return {"text": bench.describe_text(), "contenders": results, "same_counts_as_python": checked}


def count_section(result: Result) -> list[str]:
    """Markdown for RESULTS.md."""
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
        f"## Counting words of {size_of(result['text'])}",
        "",
        f"The text is in memory, and only the call is timed. {verdict}",
        "",
        *table(["", "MB per CPU s", "MB per s", "runs"], rows),
    ]


if __name__ == "__main__":
    told = from_command_line("count", __doc__)
    save(told.results, "count", benchmark(told))
