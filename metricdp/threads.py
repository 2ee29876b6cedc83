"""Parallel work on all processors, by a pool of threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import current_thread
from typing import Any

_NAME = "metricdp"


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """The pool of a process: a forked process needs threads of its own."""
    return ThreadPoolExecutor(threads, _NAME)


def in_threads(work: Callable[[Any], object], items: Iterable[Any]) -> None:
    """Run `work` on every item, on all processors, in any order. Nested calls run one by one, to
    avoid a deadlock.
    """
    items = list(items)
    if len(items) <= 1 or current_thread().name.startswith(_NAME):
        for item in items:
            work(item)
        return
    waiting = deque(items)

    def one_after_another() -> None:
        while True:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            work(item)

    # one task a thread: to submit a task costs more than many a search of few points
    threads = os.cpu_count() or 1
    pool = _pool(os.getpid(), threads)
    for done in [pool.submit(one_after_another) for _ in range(min(threads, len(items)))]:
        done.result()
