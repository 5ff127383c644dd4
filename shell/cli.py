"""Where the process begins: Ctrl-C is taken care of before anything is imported that takes time."""

from __future__ import annotations

import os
import sys

# The core of the module signal, which itself imports enum: half of all that is imported until a handler is there.
from _signal import SIG_IGN, SIGINT, getsignal, signal  # type: ignore[import-not-found]

_INTERRUPTED = 130
"""``ExitCode.INTERRUPTED``, whose module takes time to import."""
_NESTING = 10_000
"""Python's calls within calls. Its own thousand ends at some 45 parentheses; the memory for more is the heap's, and
DuckDB ends at a thousand levels."""
_OBJECTS_PER_COLLECTION = 50_000
"""How many new objects there must be before Python looks for garbage among them: importing makes tens of thousands,
and none of them is garbage."""


def main(arguments: list[str] | None = None) -> int:
    """Run bergsql with ``arguments`` (default: the process's); gives the exit code."""
    if getsignal(SIGINT) != SIG_IGN:  # as it is for a job in the background, which Ctrl-C is not meant for
        signal(SIGINT, _leave)
    import gc

    sys.setrecursionlimit(_NESTING)
    gc.set_threshold(_OBJECTS_PER_COLLECTION, 10, 10)
    try:
        from bergsql.shell.command_line import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        signal(SIGINT, SIG_IGN)  # all is done, and the exit code tells how
        gc.freeze()  # the interpreter need not look through what goes away with the process


def _leave(_number: int, _frame: object) -> None:
    """End at once. Before the first statement there is nothing to put in order, and some imports would swallow an
    exception and print its traceback."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":  # python -m bergsql.shell.cli
    sys.exit(main())
