"""Statements that are not typed: from -f, from -e, from standard input, and from init files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bergsql.catalog.errors import BergError
from bergsql.shell.commands import Quit
from bergsql.shell.exits import ExitCode
from bergsql.shell.runner import Runner
from bergsql.shell.sources import STDIN, Source, open_script, read_text, statements


class Input(NamedTuple):
    """A text to run: of a script that is open, or of the command line."""

    source: Source
    descriptor: int | None = None
    text: str = ""

    def texts(self) -> Iterator[str]:
        """The text, as it arrives."""
        if self.descriptor is None:
            return iter((self.text,))
        return read_text(self.descriptor, self.source.name or "Standard input")


def script(path: str) -> Input:
    """The script at ``path``, opened.

    :raises BergError: CONFIG, naming the file.
    """
    return Input(Source(None if path == "-" else path), open_script(path))


def command_line(text: str) -> Input:
    """The statements of a -e."""
    return Input(Source(), text=text)


STANDARD_INPUT = Input(Source(script=True), STDIN)


def run_init(runner: Runner, inits: Sequence[Input]) -> ExitCode:
    """Run the init files, in order, up to the first failure. They announce nothing."""
    return run_batch(runner, inits, announce=False)


def run_batch(
    runner: Runner, inputs: Sequence[Input], *, continue_on_error: bool = False, announce: bool = True
) -> ExitCode:
    """Run the inputs, in order. ``announce``: as for :meth:`Runner.run`.

    :returns: the code of the first failure. It is the last statement that ran, unless ``continue_on_error``.
    """
    failed = ExitCode.OK
    for each in inputs:
        try:
            for statement in statements(each.texts(), lambda: runner.session.flavour):
                code = runner.run(statement, each.source, announce=announce)
                failed = failed or code
                if code is ExitCode.INTERRUPTED or (failed and not continue_on_error):
                    return code
        except Quit as leaving:
            leaving.code = leaving.code or failed
            raise
        except BergError as error:  # the text itself cannot be read
            code = runner.tell(error, None, None)
            failed = failed or code
            if not continue_on_error:
                return code
    return failed
