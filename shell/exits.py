"""How the process ends."""

from __future__ import annotations

from enum import IntEnum

from bergsql.catalog.errors import BergError, ErrorCode


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    STATEMENT = 1
    USAGE = 2
    CONFIGURATION = 3
    HUNG_UP = 129
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.OK: "all went well",
    ExitCode.STATEMENT: "a statement failed, or results could not be written",
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.CONFIGURATION: "a configuration is wrong, a script cannot be read, or there is no connection",
    ExitCode.HUNG_UP: "the terminal was closed (SIGHUP) while a statement ran",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
    ExitCode.BROKEN_PIPE: "whoever read the results went away",
    ExitCode.TERMINATED: "SIGTERM came while a statement ran",
}
"""What ``--help`` says of them."""


def exit_code_of(error: BergError) -> ExitCode:
    """The exit code of a run that this error ended."""
    match error.code:
        case ErrorCode.CONFIG | ErrorCode.CONNECTION:
            return ExitCode.CONFIGURATION
        case ErrorCode.INTERRUPTED:
            return ExitCode.INTERRUPTED
        case _:
            return ExitCode.STATEMENT
