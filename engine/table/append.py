"""Adding files to a table."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.engine.table.producer import Operation, Producer


@dataclass(frozen=True)
class Append(Producer):
    """INSERT INTO: the rows come to those that are there. Nothing that others do can make it wrong."""

    @property
    def operation(self) -> Operation:
        return Operation.APPEND
