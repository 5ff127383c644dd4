"""The prompt's history: whole statements in a file of the user's own, without those that hold a secret."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import FileHistory

from bergsql.catalog.secrets import mask_text
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.sources import statements

_PRIVATE = 0o600


class StatementHistory(FileHistory):
    """One entry a statement, however they were typed or pasted. What holds a secret lasts for the session only.

    :raises OSError: at construction, when the file cannot be written.
    """

    def __init__(self, path: Path, flavour: Callable[[], Flavour]) -> None:
        super().__init__(str(path))
        self._path = path
        self._flavour = flavour
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE))  # fails here, not at the first entry
        path.chmod(_PRIVATE)

    def append_string(self, string: str) -> None:
        """Add what was typed at the prompt."""
        for text in _entries(string, self._flavour):
            if self.get_strings()[-1:] != [text]:
                super().append_string(text)

    def store_string(self, string: str) -> None:
        """Write an entry to the file, in prompt_toolkit's form, unless it holds a secret."""
        if mask_text(string) != string:
            return
        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        entry = f"\n# {datetime.now()}\n{lines}".encode()
        with suppress(OSError):  # a disk that is full now must not end the session; the entry stays in memory
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
            with os.fdopen(descriptor, "ab") as file:
                file.write(entry)


def _entries(typed: str, flavour: Callable[[], Flavour]) -> list[str]:
    """The statements in ``typed``, each with one semicolon."""
    return [statement.text + ";" for statement in statements(iter((typed,)), flavour)]
