"""What leads out of a script: SOURCE, into another file, and ``!``, into the system's shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.shell.exits import ExitCode

if TYPE_CHECKING:
    from bergsql.shell.commands import Call

DEEPEST = 16
"""How many files may source one another."""


def run_source(call: Call) -> ExitCode:
    """Run the statements of a file, as ``SOURCE file;`` asks for. The code of the first that failed comes back.

    :raises BergError: CONFIG for a file that cannot be read, INVALID for one that sources itself.
    """
    from bergsql.shell.batch import run_batch, script

    runner = call.runner
    runner.session.refuse_when_safe("SOURCE", call.span)
    name = _unquoted(runner.session.filled(call.argument))
    if not name.strip():
        raise BergError(ErrorCode.SYNTAX, "SOURCE needs the name of a file.", span=call.span, hint="Write SOURCE file;")
    path = Path(name).expanduser()
    if call.source.name and not path.is_absolute():
        path = Path(call.source.name).parent / path
    real = os.path.realpath(path)
    chain = runner.sourced
    here = [os.path.realpath(call.source.name)] if call.source.name and not chain else []
    if real in (*chain, *here):
        raise BergError(ErrorCode.INVALID, f"{path} would source itself.", span=call.span)
    if len(chain) > DEEPEST:
        raise BergError(ErrorCode.INVALID, f"Files source one another more than {DEEPEST} deep.", span=call.span)
    try:
        text = script(os.path.normpath(path))
    except BergError as error:
        raise error.at(call.span) from None
    before = len(chain)
    chain += (*here, real)
    try:
        return run_batch(runner, [text], continue_on_error=runner.continue_on_error, announce=call.announce)
    finally:
        del chain[before:]
        if text.descriptor is not None:
            os.close(text.descriptor)


def run_shell(call: Call) -> ExitCode:
    """Run a command in the user's shell, with the terminal or the streams of this process.

    :raises BergError: EXECUTION, with its exit code, when it fails.
    """
    runner = call.runner
    runner.session.refuse_when_safe("!", call.span)
    runner.screen.out.flush()
    shell = os.environ.get("SHELL") or "/bin/sh"
    try:
        # Standard input may hold the statements that are still to come.
        stdin = None if runner.at_prompt else subprocess.DEVNULL
        done = subprocess.run([shell, "-c", call.argument], stdin=stdin, check=False)
    except OSError as error:
        raise BergError(ErrorCode.EXECUTION, f"Cannot run {shell}: {error.strerror}.", span=call.span) from error
    if done.returncode == 0:
        return ExitCode.OK
    if done.returncode < 0:
        message = f"The command was ended by signal {-done.returncode}."
    else:
        message = f"The command ended with exit code {done.returncode}."
    raise BergError(ErrorCode.EXECUTION, message, span=call.span)


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text
