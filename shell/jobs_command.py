"""``bergsql jobs``: what is to be done with jobs without a session, as by a service manager at a start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, did_you_mean
from bergsql.shell.exits import ExitCode, exit_code_of
from bergsql.shell.options import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from bergsql.engine.streaming.jobs.registry import Job
    from bergsql.shell.screen import Screen

HELP = """\
usage: bergsql jobs list
       bergsql jobs stop ID… [--savepoint [--drain]]
       bergsql jobs resume {ID… | --all}

  list                      the jobs, the youngest first: id, state, start time and name
  stop                      stop jobs; --savepoint makes one of each first, --drain lets out what waits for a watermark
  resume                    go on with jobs from their last checkpoints; --all: with those that a crash, a kill or a
                            shutdown of the machine has ended (LOST and SUSPENDED)

Of an id its beginning is enough. The exit code is 0, 1 if any of it failed, 2 where the command line is wrong.
"""
_HELP = {"--help", "-h"}
_ACTIONS = ("list", "stop", "resume")
_OPTIONS = {"list": (), "stop": ("--savepoint", "--drain"), "resume": ("--all",)}


def run_jobs(arguments: Sequence[str], screen: Screen) -> ExitCode:
    """Run ``bergsql jobs`` with the arguments behind that word.

    :raises UsageError: where they make no sense.
    """
    from bergsql.shell.config import home_directory

    if not arguments or arguments[0] in _HELP:
        screen.out.begin(())
        screen.out.write(HELP)
        return ExitCode.OK if arguments else ExitCode.USAGE
    action, *rest = arguments
    if action not in _ACTIONS:
        hint = did_you_mean(action, _ACTIONS) or f"There are {', '.join(_ACTIONS)}."
        raise UsageError(f"There is no 'bergsql jobs {action}'.", hint)
    options = {each for each in rest if each.startswith("-")}
    if options & _HELP:
        screen.out.begin(())
        screen.out.write(HELP)
        return ExitCode.OK
    for option in options:
        if option not in _OPTIONS[action]:
            raise UsageError(f"'bergsql jobs {action}' has no option {option}.", did_you_mean(option, _OPTIONS[action]))
    ids = [each for each in rest if not each.startswith("-")]
    home = home_directory()
    try:
        return _run(action, ids, options, home, screen)
    except BergError as error:
        return _tell(error, screen)


def _run(action: str, ids: list[str], options: set[str], home: Path, screen: Screen) -> ExitCode:
    if action == "list":
        if ids:
            raise UsageError("'bergsql jobs list' takes no id.")
        return _list(home, screen)
    everything = "--all" in options
    if everything == bool(ids):
        raise UsageError(f"'bergsql jobs {action}' needs an id.", "--help shows how it is used." if not ids else None)
    if "--drain" in options and "--savepoint" not in options:
        raise UsageError("--drain needs --savepoint.")
    from bergsql.engine.streaming.jobs import control, registry

    if everything:
        ids = [job.id for job in registry.jobs(home) if control.needs_resume(job)]
    failed = ExitCode.OK
    for each in ids:
        named = each
        try:
            job = registry.job(home, each)
            named = job.id
            screen.info(_resume(job) if action == "resume" else _stop(job, options))
        except BergError as error:
            if named not in error.message:
                error.message = f"Job {named}: {error.message}"
            code = _tell(error, screen)
            failed = failed or code
    if everything and not ids:
        screen.info("There is no job to resume.")
    return failed


def _list(home: Path, screen: Screen) -> ExitCode:
    from datetime import datetime

    from bergsql.engine.streaming.jobs import registry

    screen.out.begin(())
    for job in registry.jobs(home):
        started = datetime.fromtimestamp(job.submitted / 1000).astimezone().isoformat(timespec="seconds")
        screen.out.write(f"{job.id}  {job.state:<12}  {started}  {job.name}\n")
    return ExitCode.OK


def _resume(job: Job) -> str:
    from bergsql.engine.streaming.jobs import control
    from bergsql.engine.streaming.jobs.status import JobState

    now = control.resume(job)
    error = now.status.error if now.state is JobState.RESTARTING else None
    return f"Job {job.id} is {now.state}." + (f" It failed: {error['message']}" if error is not None else "")


def _stop(job: Job, options: set[str]) -> str:
    from bergsql.engine.streaming.jobs import control, savepoints

    ended = control.stop(job, savepoint="--savepoint" in options, drain="--drain" in options)
    path = ended.status.savepoint
    return f"Job {job.id} is {ended.state}." + (f" Its savepoint: {savepoints.shown(path)}" if path else "")


def _tell(error: BergError, screen: Screen) -> ExitCode:
    from bergsql.shell.render.errors import error_text

    error.span = None
    screen.error(error_text(error), error)
    return exit_code_of(error)
