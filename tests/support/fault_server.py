"""A process that runs bergsql, or a part of it, again and again: each time in a child, with another fault below its
files.

usage: LD_PRELOAD=LIBRARY fault_server.py LIBRARY MODULE…

Reads one run a line as JSON and answers with a line (see :mod:`tests.support.faults`). All that bergsql imports is
imported before, so that a run costs a tenth of a process of its own.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import sys
import traceback
from typing import Any

PACKAGES = ("bergsql.shell", "bergsql.engine", "bergsql.catalog")
LIBRARIES = ("duckdb", "fastavro", "pyarrow.parquet", "pyroaring", "sqlglot", "sqlite3")


def import_all() -> None:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)


def child(library: ctypes.CDLL, run: dict[str, Any]) -> None:
    """Run bergsql; does not come back."""
    code = 70
    try:
        for fd, path in ((0, os.devnull), (1, run["out"]), (2, run["err"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), fd)
        main = importlib.import_module(run["module"]).main
        below, path = run["below"].encode(), run["path"].encode()
        library.faults_arm(below, run["mode"], run["at"], run["error"], run["kinds"], path)
        code = main(run["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    os._exit(code)


def serve(library: ctypes.CDLL) -> None:
    library.faults_path.restype = ctypes.c_char_p
    for line in sys.stdin:
        run = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(library, run)
        _, status = os.waitpid(pid, 0)
        steps = [
            (library.faults_kind(i), library.faults_length(i), os.fsdecode(library.faults_path(i)))
            for i in range(library.faults_count())
        ]
        code = os.waitstatus_to_exitcode(status)
        print(json.dumps({"code": code, "fired": bool(library.faults_fired()), "steps": steps}), flush=True)


if __name__ == "__main__":
    import_all()
    gc.collect()
    gc.freeze()  # or each child would copy the memory of what it looks through
    serve(ctypes.CDLL(sys.argv[1]))
