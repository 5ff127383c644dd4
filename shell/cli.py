"""The command line: options make a session and choose a front end."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.shell.exits import ExitCode, exit_code_of
from bergsql.shell.options import Options, UsageError, parse_options
from bergsql.shell.screen import OutputError, Screen, abandon_stdout, standard_screen

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.shell.batch import Input
    from bergsql.shell.config import Config


OBJECTS_PER_COLLECTION = 50_000
"""How many new objects there must be before Python looks for garbage among them: importing makes tens of thousands,
and none of them is garbage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run bergsql with ``arguments`` (default: the process's); gives the exit code."""
    gc.set_threshold(OBJECTS_PER_COLLECTION, 10, 10)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open as long as the process
    try:
        return _main(sys.argv[1:] if arguments is None else arguments)
    except OutputError as error:
        abandon_stdout()
        if isinstance(error.cause, BrokenPipeError):
            return ExitCode.BROKEN_PIPE
        print(f"[ERROR] {error}", file=sys.stderr)
        return ExitCode.STATEMENT
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    finally:
        gc.freeze()  # the interpreter need not look through what goes away with the process


def _main(arguments: Sequence[str]) -> ExitCode:
    try:
        options = parse_options(arguments)
    except UsageError as error:
        return _usage(error)
    try:
        screen = standard_screen(options.output, quiet=options.quiet, debug=options.debug)
    except BergError as error:
        return _usage(UsageError(error.message, error.hint))
    try:
        told = _told(options, screen)
        return _run(options, screen) if told is None else told
    finally:
        screen.out.close()


def _told(options: Options, screen: Screen) -> ExitCode | None:
    """OK, if all that is asked for is the help or the version."""
    if options.help:
        from bergsql.shell.options import help_text

        screen.out.write(help_text())
    elif options.version:
        from bergsql.shell.version import version

        screen.out.write(f"bergsql {version()}\n")
    else:
        return None
    return ExitCode.OK


def _usage(error: UsageError) -> ExitCode:
    print(f"[ERROR] {error.message}", file=sys.stderr)
    if error.hint:
        print(f"Hint: {error.hint}", file=sys.stderr)
    return ExitCode.USAGE


def _run(options: Options, screen: Screen) -> ExitCode:
    from bergsql.shell.batch import command_line, script
    from bergsql.shell.commands import Quit
    from bergsql.shell.config import Config, home_directory, load_config

    home = home_directory()
    try:
        # Opened before anything runs: a misspelt name must not leave half the work done.
        scripts = [script(text) if option == "-f" else command_line(text) for option, text in options.scripts]
        inits = [script(path) for path in options.inits]
        config = Config() if options.no_config else load_config(home)
        session = _session(options, config, home)
    except BergError as error:
        from bergsql.shell.render.errors import error_text

        screen.error(error_text(error), error)
        code = exit_code_of(error)
        return ExitCode.CONFIGURATION if code is ExitCode.STATEMENT else code
    try:
        return _converse(options, config, session, screen, scripts, inits)
    except Quit as leaving:
        return leaving.code
    finally:
        session.close()


def _session(options: Options, config: Config, home: Path) -> Session:
    from bergsql.engine.session import Session, SessionConfig
    from bergsql.engine.sql.flavour import Flavour

    return Session(
        SessionConfig(
            flavour=options.dialect or config.dialect or Flavour.FLINK,
            home=home,
            warehouse=options.warehouse,
            variables=options.variables,
            conf={**config.settings, **options.conf},
        )
    )


def _converse(
    options: Options, config: Config, session: Session, screen: Screen, scripts: list[Input], inits: list[Input]
) -> ExitCode:
    from bergsql.shell.batch import STANDARD_INPUT, run_batch, run_init
    from bergsql.shell.render.formats import DEFAULT_FORMAT, layout
    from bergsql.shell.runner import Runner

    runner = Runner(session, screen, layout(options.format or config.format or DEFAULT_FORMAT))
    failed = run_init(runner, inits)
    if failed:
        return failed
    if not scripts and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from bergsql.shell.repl import run_prompt

        return run_prompt(runner, session.home)
    return run_batch(runner, scripts or [STANDARD_INPUT], continue_on_error=options.continue_on_error)
