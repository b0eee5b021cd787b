"""What runs in the processes that `Workers` starts: a server that forks the workers, and the main loop of a worker.

The server imports what the workers need: 0.08 CPU s, once, and not in each worker.
"""

import errno
import gc
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from piecework.errors import PieceworkError

__all__ = ["FORKS", "NUMBER", "command", "serve", "serve_forks"]

FORKS = sys.platform == "linux"
"""Elsewhere a fork starts Python anew: libraries of macOS refuse to work in a process that was only forked."""

NUMBER = struct.Struct("i")
"""A message between `Workers` and the server.

A request is 0 with two open files, to start a worker: its socket, and where its errors go. Or it is the number of a
worker to kill and wait for; or the negative number of one to kill without waiting, which is not answered. The answer is
the number of the new worker, or a negative error number; or the wait status of the old one.
"""

REPORT_INTERVAL_S = 0.1

# Not the start methods of multiprocessing: "fork" copies the locks of running threads, "spawn" and "forkserver" run the
# user's main module again, so that a script without `if __name__ == "__main__"` would start itself again and again.
# pyarrow imports numpy if it is installed, which is slower than all other imports. Counting and merging do not use it.
# The search for reference cycles took 15 % of the imports, and 8 % of reading, where records have none. Once per task
# is enough.
_PROGRAM = """
import gc, json, sys
gc.disable()
path, function, arguments = map(json.loads, sys.argv[1:])
sys.path[:] = path
sys.modules["numpy"] = None
import piecework.counting.worker_process
getattr(piecework.counting.worker_process, function)(*arguments)
"""


def command(function: str, *arguments: object) -> list[str]:
    """The command line of a process that calls a function of this file."""
    return [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), json.dumps(function), json.dumps(arguments)]


def serve_forks(control: int, preload: Sequence[str], forks: bool) -> NoReturn:
    """The main loop of the server, with its socket, and the modules that workers need."""
    for module in preload if forks else ():
        import_module(module)
    # A search for cycles among what was imported would copy its memory in each worker.
    gc.freeze()
    # The pipe carries no data. It closes when this process ends, in whatever way.
    alive, held_open = os.pipe()
    requests = socket.socket(fileno=control)

    def start(connection: int, stderr: int) -> int:
        try:
            worker = os.fork()
        except OSError as error:
            return -(error.errno or errno.EAGAIN)
        if worker == 0:
            requests.close()
            os.close(held_open)
            os.dup2(stderr, 2)
            if not forks:
                for descriptor in (connection, alive):
                    os.set_inheritable(descriptor, True)
                os.execv(sys.executable, command("serve", connection, alive))
            serve(connection, alive)
        return worker

    try:
        while True:
            message, files, _, _ = socket.recv_fds(requests, NUMBER.size, 2)
            if not message:
                break
            (number,) = NUMBER.unpack(message)
            if number:
                os.kill(abs(number), signal.SIGKILL)
                if number < 0:
                    continue
                _, answer = os.waitpid(number, 0)
            else:
                answer = start(*files)
                for file in files:
                    os.close(file)
            requests.send(NUMBER.pack(answer))
    except ConnectionError:
        pass  # the other process has ended
    os._exit(0)


def serve(descriptor: int, alive: int) -> NoReturn:
    """The main loop of a worker: runs tasks from its socket until it closes, or the pipe `alive` does."""
    threading.Thread(target=_end_with, args=[alive], daemon=True).start()
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


def _end_with(alive: int) -> None:
    os.read(alive, 1)
    os._exit(1)
