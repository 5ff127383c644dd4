"""The command line: options make a session and choose a front end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.shell.exits import ExitCode, exit_code_of
from bergsql.shell.options import Options, UsageError, help_text, parse_options
from bergsql.shell.render.formats import FORMATS
from bergsql.shell.screen import OutputError, Screen, abandon, hold_closed_streams, masked, standard_screen, tell

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.shell.batch import Input
    from bergsql.shell.config import Config
    from bergsql.shell.runner import Runner


def run(arguments: Sequence[str]) -> int:
    """Run bergsql with ``arguments``; gives the exit code.

    :raises KeyboardInterrupt: Ctrl-C where no statement runs.
    """
    hold_closed_streams()
    try:
        return _run(arguments)
    except OutputError as error:
        abandon(sys.stdout)
        if isinstance(error.cause, BrokenPipeError):
            return ExitCode.BROKEN_PIPE
        tell(f"[ERROR] {error}")
        return ExitCode.STATEMENT


def _run(arguments: Sequence[str]) -> ExitCode:
    if arguments[:1] == ["jobs"]:
        return _jobs(arguments[1:])
    try:
        options = parse_options(arguments)
        if options.format and FORMATS[options.format].one_result and not options.output and not options.help:
            raise UsageError(f"The format {options.format} needs --output FILE.")
    except UsageError as error:
        return _usage(error)
    try:
        screen = standard_screen(options.output, quiet=options.quiet, debug=options.debug)
    except BergError as error:
        return _usage(UsageError(error.message, error.hint))
    try:
        told = _told(options, screen)
        return _open_session(options, screen) if told is None else told
    finally:
        screen.out.close()


def _told(options: Options, screen: Screen) -> ExitCode | None:
    """OK, if all that is asked for is the help or the version."""
    if options.help:
        screen.out.begin(())
        screen.out.write(help_text())
    elif options.version:
        from bergsql.engine.version import version

        screen.out.begin(())
        screen.out.write(f"bergsql {version()}\n")
    else:
        return None
    return ExitCode.OK


def _jobs(arguments: Sequence[str]) -> ExitCode:
    """``bergsql jobs``, which needs no session."""
    from bergsql.shell.jobs_command import run_jobs

    try:
        return run_jobs(arguments, standard_screen(None, quiet=False, debug=False))
    except UsageError as error:
        return _usage(error)


def _usage(error: UsageError) -> ExitCode:
    tell(f"[ERROR] {masked(error.message)}" + (f"\nHint: {error.hint}" if error.hint else ""))
    return ExitCode.USAGE


def _open_session(options: Options, screen: Screen) -> ExitCode:
    from bergsql.shell.batch import command_line, script
    from bergsql.shell.commands import Quit
    from bergsql.shell.config import Config, home_directory, load_config
    from bergsql.shell.sources import STDIN

    home = home_directory()
    try:
        # Opened before anything runs: a misspelt name must not leave half the work done.
        scripts = [script(text) if option == "-f" else command_line(text) for option, text in options.scripts]
        inits = [script(path) for path in options.inits]
        config = Config() if options.no_config else load_config(home)
        screen.out.begin([STDIN, *(i.descriptor for i in (*scripts, *inits) if i.descriptor is not None)])
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
    from bergsql.catalog.default_names import DEFAULT_CATALOG
    from bergsql.engine.session import Session, SessionConfig
    from bergsql.engine.sql.flavour import Flavour

    session = Session(
        SessionConfig(
            flavour=options.dialect or config.dialect or Flavour.FLINK,
            home=home,
            warehouse=options.warehouse,
            variables=options.variables,
            conf={**config.settings, **_chosen(options), **options.conf},
            catalogs=config.catalogs,
            safe=options.safe,
        )
    )
    if options.catalog_store:
        session.catalog_names()  # a file in its place is told now
    if options.warehouse and ":" in options.warehouse:
        try:
            session.catalog(DEFAULT_CATALOG)  # else made when it is first needed
        except BergError as error:
            error.hint = error.hint or "--warehouse takes a directory or a location file:///…"
            raise
    return session


def _chosen(options: Options) -> dict[str, str]:
    """The settings that have an option of their own."""
    chosen = {"shell.timing": "true"} if options.timing else {}
    if options.catalog_store:
        chosen |= {"table.catalog-store.kind": "file", "table.catalog-store.file.path": options.catalog_store}
    return chosen


def _converse(
    options: Options, config: Config, session: Session, screen: Screen, scripts: list[Input], inits: list[Input]
) -> ExitCode:
    from bergsql.shell.batch import STANDARD_INPUT, run_batch, run_init
    from bergsql.shell.commands import Quit
    from bergsql.shell.render.formats import DEFAULT_FORMAT
    from bergsql.shell.runner import Runner

    runner = Runner(session, screen, options.format or config.format or DEFAULT_FORMAT)
    runner.continue_on_error = options.continue_on_error
    runner.verbose = options.verbose
    for note in options.notes:
        screen.info(note)
    failed = run_init(runner, inits)
    if not failed and options.database:
        failed = runner.use(options.database)
    if failed:
        return failed
    if not scripts and sys.stdin.isatty() and sys.stdout.isatty():
        from bergsql.shell.repl import run_prompt

        if options.no_color:
            os.environ["NO_COLOR"] = "1"  # for all that draws: the prompt, the progress bar
        history = options.history or config.history or str(session.home / "history")
        return run_prompt(runner, Path(history).expanduser(), config.prompt)
    try:
        code = run_batch(runner, scripts or [STANDARD_INPUT], continue_on_error=options.continue_on_error)
    except Quit as leaving:
        code = leaving.code
    except KeyboardInterrupt:  # where no statement runs
        code = ExitCode.INTERRUPTED
    return code if options.detach or not runner.jobs else _wait_for_jobs(runner, code, options)


def _wait_for_jobs(runner: Runner, code: ExitCode, options: Options) -> ExitCode:
    """Wait for the jobs of an input at its end; where it ended early, stop them.

    :returns: the code of the first failure, of the input or of a job.
    """
    from bergsql.shell.waiting import stop_jobs, wait_for_jobs

    if code is ExitCode.HUNG_UP:
        return code
    if code is ExitCode.OK or (options.continue_on_error and code not in (ExitCode.INTERRUPTED, ExitCode.TERMINATED)):
        ended = wait_for_jobs(runner)
        return ended if ended in (ExitCode.INTERRUPTED, ExitCode.TERMINATED, ExitCode.HUNG_UP) else code or ended
    stop_jobs(runner, runner.jobs)
    return code
