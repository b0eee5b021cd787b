"""Work on several threads. It saves time where the work is done by the core or numpy, which release the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

from piecework.errors import InputError

__all__ = ["in_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], *, threads: int) -> Iterator[Result]:
    """The result for each item, as soon as it is ready. After an error, or Ctrl-C, no further item is started.

    >>> sorted(in_threads(abs, [3, -2, 1], threads=2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        try:
            futures = [pool.submit(work, item) for item in items]
        except RuntimeError as error:
            raise InputError(
                f"{error}: the memory or the number of processes is limited (ulimit -v, -u); raise it"
            ) from error
        for future in as_completed(futures):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
