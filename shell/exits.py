"""How the process ends."""

from __future__ import annotations

from enum import IntEnum

from bergsql.catalog.errors import BergError, ErrorCode


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    STATEMENT = 1  # a statement failed
    USAGE = 2  # the command line is wrong
    CONFIGURATION = 3  # what the run needs is wrong: a configuration, a script or init file, a connection
    HUNG_UP = 129  # the terminal was closed (SIGHUP) while a statement ran
    INTERRUPTED = 130  # Ctrl-C
    BROKEN_PIPE = 141  # whoever read the results went away before the end, as `head` does
    TERMINATED = 143  # SIGTERM came while a statement ran


def exit_code_of(error: BergError) -> ExitCode:
    """The exit code of a run that this error ended."""
    match error.code:
        case ErrorCode.CONFIG | ErrorCode.CONNECTION:
            return ExitCode.CONFIGURATION
        case ErrorCode.INTERRUPTED:
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.STATEMENT
