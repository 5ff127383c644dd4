"""A statement as text and as what it does to the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.statements.expressions import TABLE
from tests.support.statements.model import ModelTable


@dataclass(frozen=True)
class Statement:
    """``text`` names the table :data:`TABLE`; ``before`` and ``after`` are run around it, whatever comes of it.

    ``doubt`` tells a table for which the real Spark is known to do wrong: the reason, else an empty text.
    """

    kind: str
    text: str
    apply: Callable[[ModelTable], None]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    doubt: Callable[[ModelTable], str] = lambda _: ""

    def first(self, table: str) -> list[str]:
        """What is run before it."""
        return [line.replace(TABLE, table) for line in self.before]

    def sql(self, table: str, properties: str = "") -> str:
        return self.text.replace(TABLE, table).replace("@properties@", properties)
