"""Progress on stderr: bars on a terminal, otherwise a line every ten seconds."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from piecework.cli.terminal import Terminal, format_bytes, format_seconds
from piecework.common.percent import format_percent

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["StageUpdate", "Unit", "Update", "show_progress", "show_stages"]

Unit = Literal["bytes", "pieces", "steps", "tables", "texts"]
Update = Callable[[int, int], None]
"""Called with the amount done and the total."""
StageUpdate = Callable[[str, int, int], None]
"""Called with the stage, its amount done and its total."""

LINE_INTERVAL_S = 10.0


@contextmanager
def show_progress(terminal: Terminal, title: str, unit: Unit) -> Iterator[Update]:
    """Show the progress of one stage.

    >>> with show_progress(Terminal(quiet=True), "Counting", "bytes") as update:
    ...     update(1_000_000, 2_000_000)
    """
    if terminal.quiet:
        yield lambda _done, _total: None
    elif terminal.is_interactive:
        with _bar(title, unit) as update:
            yield update
    else:
        yield _lines(terminal, title, unit)


def _lines(terminal: Terminal, title: str, unit: Unit) -> Update:
    last_line_at = started = time.monotonic()
    done_before: int | None = None

    def update(done: int, total: int) -> None:
        nonlocal last_line_at, done_before
        now = time.monotonic()
        if done_before is None:
            done_before = done  # a resumed run starts with an amount already done
        if now - last_line_at >= LINE_INTERVAL_S:
            last_line_at = now
            left = (now - started) * (total - done) / (done - done_before) if total > done > done_before else 0.0
            rate = f", {format_bytes((done - done_before) / (now - started))}/s" if unit == "bytes" else ""
            terminal.say(
                f"{title}: {_amount(done, total, unit)}{rate}{f', about {format_seconds(left)} left' if left else ''}"
            )

    return update


def _amount(done: int, total: int, unit: Unit) -> str:
    def amount(number: int) -> str:
        return format_bytes(number) if unit == "bytes" else f"{number:,}"

    # The size of a pipe is not known.
    share = f" of {amount(total)} ({format_percent(done / total, decimals=0)})" if total >= done and total else ""
    return f"{amount(done)}{share}{'' if unit == 'bytes' else f' {unit}'}"


@contextmanager
def _bar(title: str, unit: Unit) -> Iterator[Update]:
    with _progress() as progress:
        task = progress.add_task(f"{title:<8}", total=None, amount="")
        started = time.monotonic()
        done_before: int | None = None

        def update(done: int, total: int) -> None:
            nonlocal done_before
            done_before = done if done_before is None else done_before
            elapsed_s = time.monotonic() - started
            rate = f", {format_bytes((done - done_before) / elapsed_s)}/s" if unit == "bytes" and elapsed_s > 1 else ""
            # rich draws from its own thread a few times per second, so an update costs little.
            progress.update(
                task,
                completed=done,
                total=total if total >= done else None,
                amount=_amount(done, total, unit) + rate,
            )

        yield update


@contextmanager
def show_stages(terminal: Terminal, stages: Mapping[Any, Unit]) -> Iterator[StageUpdate]:
    """Show the progress of several stages: all bars at once on a terminal, otherwise lines, stage by stage.

    >>> with show_stages(Terminal(quiet=True), {"counting": "bytes", "training": "pieces"}) as update:
    ...     update("counting", 1_000_000, 2_000_000)
    """
    if terminal.quiet:
        yield lambda _stage, _done, _total: None
    elif terminal.is_interactive:
        with _stage_bars(stages) as update:
            yield update
    else:
        yield _stage_lines(terminal, stages)


def _stage_lines(terminal: Terminal, stages: Mapping[Any, Unit]) -> StageUpdate:
    updates: dict[str, Update] = {}

    def update(stage: str, done: int, total: int) -> None:
        if stage not in updates:
            terminal.detail(stage)
            updates[stage] = _lines(terminal, stage, stages[stage])
        updates[stage](done, total)

    return update


@contextmanager
def _stage_bars(stages: Mapping[Any, Unit]) -> Iterator[StageUpdate]:
    width = max(map(len, stages))
    with _progress() as progress:
        tasks = {
            stage: progress.add_task(f"[dim]{stage:<{width}}", total=1, start=False, amount="") for stage in stages
        }
        current = ""

        def update(stage: str, done: int, total: int) -> None:
            nonlocal current
            if stage != current:
                current = stage
                progress.start_task(tasks[stage])
                progress.update(tasks[stage], description=f"{stage:<{width}}")
            progress.update(tasks[stage], completed=done, total=total, amount=_amount(done, total, stages[stage]))

        yield update


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeRemainingColumn(compact=True),
    )
    return Progress(*columns, console=Console(file=sys.stderr), transient=True)
