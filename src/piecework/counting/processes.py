"""Runs tasks in child processes. A task whose process is killed is tried once more; no child outlives this process."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Generic, Self, TypeVar

from piecework.errors import InputError, PieceworkError, explain_os_error

__all__ = ["Workers", "serve"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Report = Callable[[int], None]

ATTEMPTS = 2
REPORT_INTERVAL_S = 0.1
COMPLAINT_BYTES = 2000

# Not the start methods of multiprocessing: "fork" copies the locks of running threads, and "spawn" runs the user's main
# module again, so that a script without `if __name__ == "__main__"` would start itself again and again.
# pyarrow imports numpy if it is installed, which is slower than all other imports. Counting and merging do not use it.
# The search for reference cycles took 15 % of the imports, and 8 % of reading, where records have none. Once per task
# is enough.
_CHILD = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.argv[1])
sys.modules["numpy"] = None
from piecework.counting.processes import serve
serve(int(sys.argv[2]))
"""

# As many processes as cores, so one thread in each. With pyarrow's own memory pool merging took 45 MB more.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


@dataclass(slots=True, eq=False)
class _Process:
    """A child process, and the index of its current task."""

    popen: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    stderr: IO[bytes]
    index: int | None = None
    reported: int = 0

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()
        self.connection.close()
        assert self.popen.stdin
        self.popen.stdin.close()
        self.stderr.close()

    def cause_of_death(self) -> str:
        """A description from the exit code and the end of stderr."""
        code = self.popen.wait()
        if code == -signal.SIGKILL:
            return "was killed (SIGKILL), most likely because memory ran out"
        with contextlib.suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}{self._complaint()}"
        return f"ended with exit code {code}{self._complaint()}"

    def _complaint(self) -> str:
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - COMPLAINT_BYTES))
        text = self.stderr.read().decode(errors="replace").strip()
        return f": {text}" if text else ""


class Workers:
    """Child processes that run tasks. They stay alive until the `with` block ends."""

    def __init__(
        self,
        *,
        keep_open: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The children inherit the file descriptors `keep_open`, so that a lock is held while one of them lives."""
        self.processes: list[_Process] = []
        self.warn = warn
        self._keep_open = keep_open
        self._environment = environment or {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.keep(0)

    def run(
        self,
        function: Callable[[Task, Report], Result],
        tasks: Sequence[Task],
        *,
        processes: int,
        progress: Report = lambda _: None,
    ) -> Generator[tuple[int, Result], None, None]:
        """Run the function on each task; yields the index and the result of each, in the order in which they end.

        The function gets the task and a function that reports progress in amounts that add up. It must be importable by
        name. If several tasks fail, the error of the first in order is raised, so that it is always the same. After an
        error, or if not all results are taken, no child is left.
        """
        self.keep(processes)
        done = False
        try:
            yield from _TaskQueue(self, function, tasks, processes, progress).results()
            done = True
        finally:
            if not done:
                self.keep(0)

    def keep(self, processes: int) -> None:
        """End all children except this many."""
        surplus = self.processes[processes:]
        del self.processes[processes:]
        for process in surplus:
            process.popen.kill()
        for process in surplus:
            process.kill()

    def start(self) -> _Process:
        """Start one more child."""
        try:
            return self._start()
        except OSError as error:  # no usable temporary folder, too many open files or processes
            raise InputError(f"cannot start a process: {explain_os_error(error)}") from error

    def _start(self) -> _Process:
        ours, theirs = socket.socketpair()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(theirs.fileno())],
                # The pipe carries no data. It closes when this process ends, in whatever way.
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno(), *self._keep_open],
                # Ctrl-C is for this process, which ends the others.
                process_group=0,
                env={**os.environ, **_ENVIRONMENT, **self._environment},
            )
        process = _Process(popen, Connection(ours.detach()), stderr)
        self.processes.append(process)
        return process

    def end(self, process: _Process) -> None:
        """End this child."""
        self.processes.remove(process)
        process.kill()


@dataclass(slots=True)
class _TaskQueue(Generic[Task, Result]):
    """Hands tasks to the workers and collects their results."""

    workers: Workers
    function: Callable[[Task, Report], Result]
    tasks: Sequence[Task]
    processes: int
    progress: Report
    _waiting: deque[int] = field(default_factory=deque)
    _deaths: Counter[int] = field(default_factory=Counter)
    _failures: dict[int, Exception] = field(default_factory=dict)

    def results(self) -> Iterator[tuple[int, Result]]:
        self._waiting.extend(range(len(self.tasks)))
        while True:
            self._hand_out()
            busy = [process for process in self.workers.processes if process.index is not None]
            if not busy:
                break
            for connection in wait([process.connection for process in busy]):
                process = next(process for process in busy if process.connection is connection)
                if process not in self.workers.processes:
                    continue  # ended meanwhile, because another task failed
                try:
                    kind, value = process.connection.recv()
                except (EOFError, OSError, pickle.UnpicklingError):
                    self._bury(process)
                    continue
                assert process.index is not None
                if kind == "progress":
                    process.reported += value
                    self.progress(value)
                elif kind == "done":
                    index, process.index, process.reported = process.index, None, 0
                    yield index, value
                else:
                    self._fail(process.index, InputError(value) if kind == "failed" else RuntimeError(value))
                    process.index = None
        if self._failures:
            raise self._failures[min(self._failures)]

    def _hand_out(self) -> None:
        while self._waiting and not self._failures:
            idle = next((process for process in self.workers.processes if process.index is None), None)
            if idle is None:
                if len(self.workers.processes) >= self.processes:
                    return
                idle = self.workers.start()
            index = self._waiting.popleft()
            idle.index = index
            # A child that has died meanwhile is noticed by `wait`.
            with contextlib.suppress(OSError):
                idle.connection.send((self.function, self.tasks[index]))

    def _bury(self, process: _Process) -> None:
        """Handles the death of a child: its task is tried once more."""
        assert process.index is not None
        index, cause = process.index, process.cause_of_death()
        self.workers.end(process)
        self.progress(-process.reported)
        self._deaths[index] += 1
        if self._deaths[index] < ATTEMPTS:
            self.workers.warn(f"{self.tasks[index]}: the process that worked on it {cause}; trying once more")
            self._waiting.appendleft(index)
        else:
            self._fail(
                index,
                InputError(
                    f"{self.tasks[index]}: {ATTEMPTS} processes died while working on it; the last {cause}. If memory "
                    "ran out, use fewer --threads or lower --memory; finished work is kept"
                ),
            )

    def _fail(self, index: int, error: Exception) -> None:
        # Earlier tasks may still fail. They are waited for, so that the error does not depend on timing.
        self._failures[index] = error
        for process in self.workers.processes.copy():
            if process.index is not None and process.index > min(self._failures):
                self.workers.end(process)


def serve(descriptor: int) -> None:
    """The main loop of a child: runs tasks from the socket until it closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection: Connection[Any, Any] = Connection(descriptor)
    unreported = 0
    reported_at = time.monotonic()

    def report(amount: int) -> None:
        nonlocal unreported, reported_at
        unreported += amount
        if time.monotonic() - reported_at > REPORT_INTERVAL_S:
            connection.send(("progress", unreported))
            unreported, reported_at = 0, time.monotonic()

    try:
        while True:
            function, task = connection.recv()
            gc.collect()
            gc.freeze()
            try:
                result = function(task, report)
            except PieceworkError as error:
                connection.send(("failed", str(error)))
            except MemoryError:
                message = "out of memory; use fewer --threads, or more --memory if the machine has it"
                connection.send(("failed", f"{task}: {message}"))
            except Exception:  # noqa: BLE001
                connection.send(("broken", traceback.format_exc()))
            else:
                if unreported:
                    connection.send(("progress", unreported))
                    unreported = 0
                connection.send(("done", result))
    except (EOFError, OSError):
        pass  # the parent has closed the socket
    os._exit(0)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)
