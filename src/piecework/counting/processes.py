"""Tasks run in other processes, which may be killed: a task is tried twice, and no process outlives this one."""

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
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Generic, Self, TypeVar

from piecework.errors import InputError, PieceworkError

__all__ = ["Workers", "serve"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Report = Callable[[int], None]

ATTEMPTS = 2
REPORT_INTERVAL_S = 0.1
COMPLAINT_BYTES = 2000

# Not multiprocessing's own start methods: "fork" copies the locks of running threads, and "spawn" runs the main module
# of the user again, so that a script without `if __name__ == "__main__"` would start itself without end.
# pyarrow imports numpy where there is one, which takes longer than all else that a process has to import. Counting and
# merging use nothing of it.
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
sys.modules["numpy"] = None
from piecework.counting.processes import serve
serve(int(sys.argv[2]))
"""

# As many processes as cores, so one thread in each. With pyarrow's own memory pool merging took 45 MB more.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


@dataclass(slots=True, eq=False)
class _Process:
    """A child, and the task that it is at."""

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
        """What the exit code and the last words tell."""
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
    """Processes that run tasks, and stay for further ones until the `with` block ends."""

    def __init__(self, *, keep_open: Sequence[int] = (), warn: Callable[[str], None] = lambda _: None) -> None:
        """The file descriptors `keep_open` stay open in the processes: a lock stays taken while one of them lives."""
        self.processes: list[_Process] = []
        self.warn = warn
        self._keep_open = keep_open

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
        """Run the function on each task; yields the task's index and the result, in the order in which they end.

        The function is called with the task and a function to report progress to, in amounts that add up; it has to be
        importable by name. Of several tasks that fail, the first one's error is raised, so that it is the same every
        time. After an error, or if the results are not all taken, no process is left.
        """
        self.keep(processes)
        done = False
        try:
            yield from _Run(self, function, tasks, processes, progress).results()
            done = True
        finally:
            if not done:
                self.keep(0)

    def keep(self, processes: int) -> None:
        """End all but so many."""
        surplus = self.processes[processes:]
        del self.processes[processes:]
        for process in surplus:
            process.popen.kill()
        for process in surplus:
            process.kill()

    def start(self) -> _Process:
        """One more process."""
        ours, theirs = socket.socketpair()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            popen = subprocess.Popen(
                [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(theirs.fileno())],
                # The pipe carries nothing: it closes when this process is gone, whatever ended it.
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno(), *self._keep_open],
                # Ctrl-C is for this process, which ends the others.
                process_group=0,
                env=os.environ | _ENVIRONMENT,
            )
        process = _Process(popen, Connection(ours.detach()), stderr)
        self.processes.append(process)
        return process

    def end(self, process: _Process) -> None:
        """End this one."""
        self.processes.remove(process)
        process.kill()


@dataclass(slots=True)
class _Run(Generic[Task, Result]):
    """Tasks on their way through the workers."""

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
                    continue  # killed since, as another task has failed
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
            # One that has died in the meantime is noticed when it is waited for.
            with contextlib.suppress(OSError):
                idle.connection.send((self.function, self.tasks[index]))

    def _bury(self, process: _Process) -> None:
        """A process has died: its task gets one more chance."""
        assert process.index is not None
        index, cause = process.index, process.cause_of_death()
        self.workers.end(process)
        self.progress(-process.reported)
        self._deaths[index] += 1
        if self._deaths[index] < ATTEMPTS:
            self.workers.warn(f"{self.tasks[index]}: the process that counted it {cause}; trying once more")
            self._waiting.appendleft(index)
        else:
            self._fail(
                index,
                InputError(
                    f"{self.tasks[index]}: {ATTEMPTS} processes died over it; the last {cause}. If memory ran out, "
                    "use fewer --threads or lower --memory; what is done so far is kept"
                ),
            )

    def _fail(self, index: int, error: Exception) -> None:
        # What comes before may yet fail too, and is waited for, so that the error does not depend on who was faster.
        self._failures[index] = error
        for process in self.workers.processes.copy():
            if process.index is not None and process.index > min(self._failures):
                self.workers.end(process)


def serve(descriptor: int) -> None:
    """What a child does: take tasks from the socket until it closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Looking through records for cycles, of which they have none, took 8 % of the time; once a task is enough.
    gc.disable()
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
        pass  # the parent wants no more
    os._exit(0)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)
