"""The parts that the tables of benchmarks are made of."""

from collections.abc import Iterable, Sequence
from typing import Any

OURS = "piecework"
OUR_ARRAYS = "piecework (arrays)"
DASH, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"

Result = dict[str, Any]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table. Its first column is text, the other columns are numbers."""
    aligned = ["---", *["---:"] * (len(header) - 1)]
    return [_row(header), _row(aligned), *(_row(row) for row in rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def figure(measure: Result, *, digits: int = 1) -> str:
    """A median, with the smallest and the largest run if there are several runs."""
    text = f"{measure['median']:,.{digits}f}"
    if len(measure["values"]) > 1:
        text += f" ({measure['min']:,.{digits}f}{DASH}{measure['max']:,.{digits}f})"
    return text


def times(value: float) -> str:
    return f"{value:.2f}{TIMES}" if value < 9.95 else f"{value:.0f}{TIMES}"


def ratio(peer: Result, ours: Result | None, measure: str) -> str:
    """The peer's cost divided by piecework's cost. Below 1, piecework loses."""
    if ours is None or ours["state"] != "ok":
        return DASH
    return times(peer[measure]["median"] / ours[measure]["median"])


def speed_ratio(peer: Result, ours: Result | None, measure: str) -> str:
    if ours is None or ours["state"] != "ok":
        return DASH
    return times(ours[measure]["median"] / peer[measure]["median"])


def our_encoder(contenders: Result, peer: str) -> Result | None:
    """Piecework with the output that the peer gives: arrays of ids, or else lists."""
    arrays = contenders.get(OUR_ARRAYS)
    return arrays if arrays and peer.endswith("(arrays)") else contenders.get(OURS)


def sameness(check: Result) -> str:
    if not check:
        return "Piecework's pieces were not compared with SentencePiece's."
    if check["equal"]:
        return f"Piecework's {check['pieces']:,} pieces and their scores equal SentencePiece's."
    return f"**Of piecework's {check['pieces']:,} pieces, {check['differing']:,} differ from SentencePiece's.**"


def size_of(text: Result) -> str:
    return f"{text['size_bytes'] / 1e6:,.0f} MB"


def versioned(result: Result, name: str) -> str:
    package = {"Hugging Face tokenizers": "tokenizers"}.get(name, name.split()[0].lower())
    version = result["versions"].get(package)
    names_its_release = name[-1].isdigit()
    return f"{name} {version}" if version and not names_its_release else name


def machine(result: Result) -> str:
    machine = result["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, Python "
        f"{machine['python']}, {result['date'][:10]}; medians of interleaved runs, with the smallest and the "
        "largest."
    )
