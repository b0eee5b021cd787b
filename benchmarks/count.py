"""Counting words: MB of text per CPU second, the text being in memory; only the call is timed."""

from typing import Any

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


if __name__ == "__main__":
    told = from_command_line("count", __doc__)
    save(told.results, "count", benchmark(told))
