"""Runs tasks in child processes. A task whose process is killed is tried once more; no child outlives this process."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import socket
import subprocess
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Generic, Self, TypeVar

from piecework.counting.worker_process import FORKS, NUMBER, command
from piecework.errors import InputError, explain_os_error

__all__ = ["Workers"]

Task = TypeVar("Task")
Result = TypeVar("Result")
Report = Callable[[int], None]

ATTEMPTS = 2
COMPLAINT_BYTES = 2000

# As many processes as cores, so one thread in each. With pyarrow's own memory pool merging took 45 MB more. The thread
# that tidies this pool would run in the server, whose forks are safest without threads. glibc keeps the memory of a
# batch for the next one: without this, a third of all page faults came from there, and counting took 5 % longer.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


class _Server:
    """A process that starts workers. They end when it ends, and it ends when this process ends, in whatever way."""

    def __init__(self, preload: Sequence[str], keep_open: Sequence[int], environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            self._popen = subprocess.Popen(
                command("serve_forks", theirs.fileno(), list(preload), FORKS),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno(), *keep_open],
                # Ctrl-C is for this process, which ends the others.
                process_group=0,
                env={**os.environ, **_ENVIRONMENT, **environment},
            )

    @property
    def is_open(self) -> bool:
        """Whether it takes requests, as far as is known."""
        return self._control.fileno() >= 0

    def start(self) -> _Process:
        """Start a worker; an OSError if that is not possible."""
        with contextlib.ExitStack() as opened:
            ours, theirs = map(opened.enter_context, socket.socketpair())
            stderr = opened.enter_context(tempfile.TemporaryFile())
            number = self._ask(0, theirs.fileno(), stderr.fileno())
            if number < 0:
                raise OSError(-number, os.strerror(-number))
            theirs.close()
            opened.pop_all()
        return _Process(number, self, Connection(ours.detach()), stderr)

    def kill(self, worker: int) -> None:
        """Kill a worker without waiting until it has ended."""
        with contextlib.suppress(OSError):
            self._control.send(NUMBER.pack(-worker))

    def end(self, worker: int) -> int | None:
        """Kill a worker and wait until it has ended: its exit code, or None if the server has ended."""
        try:
            return os.waitstatus_to_exitcode(self._ask(worker))
        except ConnectionError:
            return None

    def _ask(self, request: int, *files: int) -> int:
        """The answer to a request; a ConnectionError if the server has ended."""
        try:
            if self.is_open:
                socket.send_fds(self._control, [NUMBER.pack(request)], files)
            if not self.is_open or not (answer := self._control.recv(NUMBER.size)):
                raise ConnectionResetError
        except BaseException:
            self._control.close()  # a later request would get the answer to this one
            raise
        (number,) = NUMBER.unpack(answer)
        return int(number)

    def close(self) -> None:
        """End the server, and the workers that are left."""
        self._control.close()
        self._popen.wait()
        self._stderr.close()

    def cause_of_death(self) -> str:
        """Why it has ended."""
        return _cause_of_death(self._popen.wait(), self._stderr)


@dataclass(slots=True, eq=False)
class _Process:
    """A worker, and the index of its current task."""

    number: int
    server: _Server
    connection: Connection[Any, Any]
    stderr: IO[bytes]
    index: int | None = None
    reported: int = 0

    def close(self) -> str:
        """End it; the cause of its death, if it has died already."""
        cause = _cause_of_death(self.server.end(self.number), self.stderr)
        self.connection.close()
        self.stderr.close()
        return cause


def _cause_of_death(code: int | None, stderr: IO[bytes]) -> str:
    """A description from the exit code, where it is known, and the end of stderr."""
    if code == -signal.SIGKILL:
        return "was killed (SIGKILL), most likely because memory ran out"
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - COMPLAINT_BYTES))
    text = stderr.read().decode(errors="replace").strip()
    complaint = f": {text}" if text else ""
    if code is None:
        return f"ended together with the process that had started it{complaint}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}{complaint}"
    return f"ended with exit code {code}{complaint}"


class Workers:
    """Child processes that run tasks. They stay alive until the `with` block ends."""

    def __init__(
        self,
        *,
        preload: Sequence[str],
        keep_open: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The children have imported the modules `preload`.

        They inherit the file descriptors `keep_open`, so that a lock is held while one of them lives.
        """
        self.processes: list[_Process] = []
        self.warn = warn
        self._server: _Server | None = None
        self._new_server = functools.partial(_Server, preload, keep_open, environment or {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.keep(0)
        if self._server:
            self._server.close()

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
        # All are killed before the first is waited for, so that their memory is freed side by side.
        for process in surplus:
            process.server.kill(process.number)
        for process in surplus:
            process.close()

    def idle(self) -> _Process | None:
        """A child without a task."""
        idle = [process for process in self.processes if process.index is None]
        for process in idle:
            if process.server.is_open:
                return process
            self.end(process)  # as its server has ended, so does this child
        return None

    def start(self) -> _Process:
        """Start one more child."""
        try:
            process = self._start()
        except OSError as error:  # no usable temporary folder, too many open files or processes
            raise InputError(f"cannot start a process: {explain_os_error(error)}") from error
        self.processes.append(process)
        return process

    def _start(self) -> _Process:
        if self._server:
            with contextlib.suppress(ConnectionError):
                return self._server.start()
            self._server.close()
        self._server = self._new_server()
        try:
            return self._server.start()
        except ConnectionError:
            raise InputError(f"cannot start a process: it {self._server.cause_of_death()}") from None

    def end(self, process: _Process) -> str:
        """End this child; the cause of its death, if it has died already."""
        self.processes.remove(process)
        return process.close()


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
            idle = self.workers.idle()
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
        index, cause = process.index, self.workers.end(process)
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
