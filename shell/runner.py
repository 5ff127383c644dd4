"""One statement: run, shown, and whatever goes wrong told."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.result import Result, ResultKind
from bergsql.shell.commands import Quit, run_command
from bergsql.shell.exits import ExitCode, exit_code_of
from bergsql.shell.interrupt import Interrupts
from bergsql.shell.render.formats import FORMATS, Format, layout
from bergsql.shell.render.layout import Ended, View
from bergsql.shell.screen import OutputError, Results, Screen, masked

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.sql.splitter import SourceStatement
    from bergsql.engine.streaming.jobs.registry import Job
    from bergsql.shell.progress import ProgressBar
    from bergsql.shell.sources import Source

_SUCCEEDED = "Execute statement succeeded."
_CANCELLED = "Query cancelled."
_COMPLETE = "Complete execution of the SQL update statement."
_SIGNALLED = 128
"""The exit code of a process that a signal ended, without the signal's number."""


class Runner:
    """Runs statements in a session and shows what they give on a screen."""

    def __init__(self, session: Session, screen: Screen, format_: str) -> None:
        self.session = session
        self.screen = screen
        self.at_prompt = False
        """Whether a person types the statements."""
        self._default_format = format_
        self.continue_on_error = False
        """Whether a script goes on behind a statement that failed."""
        self.verbose = False
        """Whether each statement is shown before it runs."""
        self.sourced: list[str] = []
        """The files that SOURCE has open, the innermost last."""
        self._holds_result = False
        """Whether a file for one result has it."""
        self.jobs: list[Job] = []
        """The jobs that statements have started, for whoever waits for them."""
        self.interrupts = Interrupts(session)
        session.tell = screen.info
        self._bar: ProgressBar | None = None
        if screen.err.isatty() and not screen.quiet:
            from bergsql.shell.progress import ProgressBar

            self._bar = ProgressBar(session, screen.err)

    def run(self, statement: SourceStatement, source: Source, *, announce: bool = True) -> ExitCode:
        """Run a statement or a command of the client.

        :param announce: tell what a statement has to say beside its result, and that it succeeded.
        :raises Quit: for QUIT, and when the process was asked to end.
        :raises OutputError: when the result cannot be written.
        """
        if self.verbose:
            self.screen.say(masked(statement.text) + ("" if statement.text[:1] == "!" else ";"))
        try:
            done = run_command(self, statement, source, announce)
        except BergError as error:
            return self.tell(error, statement, source)
        if done is not None:
            return done
        code = self._run_told(statement, source, announce)
        if self.interrupts.ended_by is not None:
            raise Quit(ExitCode(_SIGNALLED + self.interrupts.ended_by))
        return code

    def _run_told(self, statement: SourceStatement, source: Source, announce: bool) -> ExitCode:
        try:
            with self.interrupts.during_statement():
                self._run(statement, announce)
        except Ended:
            return ExitCode.INTERRUPTED
        except KeyboardInterrupt:
            return self._cancelled()
        except BergError as error:
            if self.interrupts.pressed and error.code is not ErrorCode.UNKNOWN_OUTCOME:
                return self._cancelled()
            return self.tell(error, statement, source)
        except OutputError:
            raise
        except Exception as error:
            return self.tell(_internal_error(error), statement, source)
        return ExitCode.OK

    def use(self, database: str) -> ExitCode:
        """Make ``[catalog.]database`` the current one; the code of what went wrong."""
        from bergsql.engine.sql.quoting import flink_identifier

        try:
            self.session.execute(f"USE {'.'.join(map(flink_identifier, database.split('.')))}")
        except BergError as error:
            error.span = None
            self.tell(error, None, None)
            return ExitCode.CONFIGURATION
        return ExitCode.OK

    def tell(self, error: BergError, statement: SourceStatement | None, source: Source | None) -> ExitCode:
        """Show an error; gives the exit code that it stands for."""
        from bergsql.shell.render.errors import error_text

        self.screen.error(error_text(error, statement, source), error)
        return exit_code_of(error)

    def _cancelled(self) -> ExitCode:
        if self.screen.err.isatty():
            self.screen.err.write("\n")  # behind the terminal's ^C
        self.screen.info(_CANCELLED)
        return ExitCode.INTERRUPTED

    def _run(self, statement: SourceStatement, announce: bool) -> None:
        started = monotonic()
        if self._bar is not None:
            self._bar.start()
        try:
            result = self.session.execute(statement)
            try:
                if self._bar is not None:
                    if result.kind is not ResultKind.ROWS:
                        self._bar.stop()
                    result.chunks = self._bar.until_first(result.chunks)
                    if (batches := result.batches) is not None:
                        bar = self._bar
                        result.batches = lambda rows: bar.until_first(batches(rows))
                self._show(result, started, announce)
            finally:
                result.close()
        finally:
            if self._bar is not None:
                self._bar.stop()
            if self.session.settings.flag("shell.timing"):
                self.screen.say(f"Time: {monotonic() - started:.3f} seconds")

    def _show(self, result: Result, started: float, announce: bool) -> None:
        if announce or result.job is not None:
            for message in result.messages:
                self.screen.info(message)
        if result.job is not None:
            self._started(result.job)
        elif result.columns:
            self._draw(result, self._view(started))
        elif result.kind is ResultKind.OK and announce:
            self.screen.info(_SUCCEEDED)
        self.screen.out.flush()

    def _started(self, job: Job) -> None:
        """A statement became a job: it is waited for here, or at the end of the input, or not at all."""
        if not self.session.settings.flag("table.dml-sync"):
            self.jobs.append(job)
            return
        from bergsql.shell.waiting import wait_at_statement

        if self._bar is not None:
            self._bar.stop()
        wait_at_statement(self, job)
        self.screen.info(_COMPLETE)

    def _draw(self, result: Result, view: View) -> None:
        mode = self.session.setting("sql-client.execution.result-mode")
        if self.at_prompt and mode != "tableau" and result.kind is ResultKind.ROWS and self.screen.out.isatty():
            self._show_screen(result, view, changelog=mode == "changelog")
            return
        format_ = FORMATS[self.session.setting("shell.format") or self._default_format]
        if format_.one_result and result.kind is not ResultKind.ROWS:
            # The file is for the rows of a query; what SHOW or SET say is for the person.
            layout("tableau")(result, Results(self.screen.err), view)
            return
        if format_.binary:
            self._check_binary(format_)
        layout(format_.name)(result, self.screen.out, view)

    def _show_screen(self, result: Result, view: View, *, changelog: bool) -> None:
        """Show a result in a screen of its own.

        :raises BergError: OPTION for the changelog of what is said to be a batch, as Flink's client has it.
        """
        if changelog and self.session.setting("execution.runtime-mode") == "batch":
            raise BergError(
                ErrorCode.OPTION,
                "The result of a batch query can only be shown in table or tableau mode.",
                hint="SET 'sql-client.execution.result-mode' = 'table';",
            )
        from bergsql.shell.render.layout import footer
        from bergsql.shell.result_view import show_view

        most = self.session.settings.number("sql-client.execution.max-table-result.rows")
        if result.changelog:
            from bergsql.shell.live_view import show_live

            if self._bar is not None:
                self._bar.stop()  # it would be drawn over the screen, which is there before the first row
            show_live(result, view, changelog=changelog, most=most, stop=self.session.interrupt)
            self.screen.info("Result retrieval cancelled.")
            return
        rows = show_view(result, view, changelog=changelog, most=most)
        self.screen.out.write(footer(rows, view))

    def _check_binary(self, format_: Format) -> None:
        """Refuse to write what a terminal cannot show, and a second result into a file that can hold one.

        :raises BergError: OPTION.
        """
        out = self.screen.out
        if format_.one_result and out.name is None:
            raise BergError(
                ErrorCode.OPTION, f"The format {format_.name} is a file's.", hint="Start bergsql with --output FILE."
            )
        if out.isatty():
            message = f"The format {format_.name} is binary, which a terminal cannot show."
            raise BergError(ErrorCode.OPTION, message, hint="Send it to a pipe or to --output FILE.")
        if format_.one_result and self._holds_result:
            message = f"{out.name} has a result already, and a {format_.name} file holds one."
            raise BergError(ErrorCode.OPTION, message, hint="Run each query with an --output of its own.")
        self._holds_result = format_.one_result

    def _view(self, started: float) -> View:
        settings = self.session.settings
        turns = self.at_prompt and settings.flag("shell.auto-vertical")
        return View(
            null=settings.get("shell.null-mark"),
            terminal_width=self.screen.out.terminal_width() if turns else None,
            zone=self.session.time_zone,
            max_width=settings.number("table.display.max-column-width"),
            show_time=settings.flag("sql-client.display.print-time-cost"),
            started=started,
        )


def _internal_error(error: Exception) -> BergError:
    """A fault of ours, told like any other error."""
    reported = BergError(
        ErrorCode.INTERNAL,
        f"Internal error: {type(error).__name__}: {error}",
        hint="This is a fault in bergsql; --debug shows where.",
    )
    reported.__cause__ = error
    return reported
