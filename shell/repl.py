"""The prompt: statements are typed, edited over several lines, run, and kept in a history."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.output import ColorDepth

from bergsql.shell import history
from bergsql.shell.commands import Quit, bare, command_in
from bergsql.shell.config import prompt_text
from bergsql.shell.exits import ExitCode
from bergsql.shell.highlight import STYLE, SqlHighlighter
from bergsql.shell.interrupt import raise_from_now_on
from bergsql.shell.keys import prompt_keys
from bergsql.shell.runner import Runner
from bergsql.shell.screen import OutputError
from bergsql.shell.sources import Source, statements

if TYPE_CHECKING:
    from bergsql.engine.sql.flavour import Flavour

_BANNER = "bergsql {version}: SQL on Apache Iceberg. HELP; lists the commands, QUIT; leaves."
_SOURCE = Source()
TEMPLATE = "{dialect} {catalog}.{database}> "


class Prompt:
    """The conversation of one session at a terminal."""

    def __init__(self, runner: Runner, history_path: Path, template: str | None) -> None:
        self._runner = runner
        runner.at_prompt = True
        self._template = template or TEMPLATE
        self._session = runner.session
        self._prompt: PromptSession[str] = PromptSession(
            history=self._history(history_path),
            lexer=SqlHighlighter(self._flavour),
            key_bindings=prompt_keys(self._is_complete),
            multiline=True,
            prompt_continuation=_continuation,
            style=STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
            complete_while_typing=False,
            reserve_space_for_menu=0,
        )

    def run(self) -> ExitCode:
        """Ask, run, and ask again, until QUIT or Ctrl-D."""
        raise_from_now_on()
        while True:
            try:
                self._run(self._prompt.prompt(self._message))
            except KeyboardInterrupt:
                continue  # what was typed is gone; or Ctrl-C came between a statement and the next prompt
            except OutputError as error:
                self._runner.screen.error(f"[ERROR] {error}", error)
            except EOFError:
                return ExitCode.OK
            except Quit as leaving:
                return leaving.code

    def _run(self, typed: str) -> None:
        """Run the statements that were typed or pasted at once, up to the first that fails."""
        found = statements(iter((typed,)), self._flavour)
        for statement in found:
            if self._runner.run(statement, _SOURCE):
                left = sum(1 for _ in found)
                if left:
                    self._runner.screen.info(f"{left} more statement{'s were' if left > 1 else ' was'} not run.")
                return

    def _message(self) -> StyleAndTextTuples:
        session = self._session
        text = prompt_text(self._template, session.current_catalog, session.current_database, session.flavour)
        return [("class:prompt", text)]

    def _flavour(self) -> Flavour:
        return self._session.flavour

    def _is_complete(self, text: str) -> bool:
        """Whether Enter runs ``text``: nothing at all, commands without their semicolon, whole statements."""
        if not text.strip() or command_in(text) is not None:
            return True
        left = bare(text)
        if not left.strip(";"):
            return bool(left)  # a comment goes on until its semicolon
        from bergsql.engine.sql.splitter import Splitter

        return Splitter.is_complete(text, self._flavour())

    def _history(self, path: Path) -> History:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return history.StatementHistory(path, self._flavour)
        except OSError as error:
            self._runner.screen.info(f"The history is not kept: {error.strerror}: {error.filename}.")
            return InMemoryHistory()


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:  # noqa: ARG001
    """The prompt of a statement's further lines, as wide as the first; nothing before wrapped text."""
    return [("class:prompt", " " * width if wrap_count else "> ".rjust(width))]


def run_prompt(runner: Runner, history_path: Path, template: str | None) -> ExitCode:
    """Greet and talk until the person leaves. ``template``: the prompt, with ``{catalog}`` and its kin."""
    if not runner.screen.quiet:
        from bergsql.engine.version import version

        print(_BANNER.format(version=version()), flush=True)
    return Prompt(runner, history_path, template).run()
