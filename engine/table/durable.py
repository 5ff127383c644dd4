"""Making what a commit refers to durable before it is published: files, and the names of files in directories."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.catalog.storage.base import Storage

_WORKERS = 8
"""Syncs under way at once: a file system writes its journal once for all that ask for it meanwhile."""


def make_durable(storage: Storage, files: Iterable[str], directories: Iterable[str] = ()) -> None:
    """Sync files, and directories in which names were made. All is tried; the first failure is raised."""
    actions = [lambda path=path: storage.fsync_file(path) for path in files]
    actions += [lambda path=path: storage.fsync_dir(path) for path in directories]
    if len(actions) == 1:
        actions[0]()
        return
    failures: list[BaseException] = []
    rest = iter(actions)
    taking = threading.Lock()
    workers = [
        threading.Thread(target=_work, args=(rest, taking, failures), name="sync", daemon=True)
        for _ in range(min(_WORKERS, len(actions)))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def _work(actions: Iterator[Callable[[], None]], taking: threading.Lock, failures: list[BaseException]) -> None:
    while True:
        with taking:
            action = next(actions, None)
        if action is None:
            return
        try:
            action()
        except Exception as failure:
            failures.append(failure)


def directories_of(paths: Iterable[str], top: str) -> set[str]:
    """The directories of files, and those above them up to ``top``."""
    found: set[str] = set()
    for path in paths:
        directory = path.rpartition("/")[0]
        while directory not in found and directory.startswith(top):
            found.add(directory)
            directory = directory.rpartition("/")[0]
    return found
