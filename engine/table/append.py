"""Adding files to a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.engine.table.producer import Operation, Producer
from bergsql.engine.table.validate import check_not_replaced

if TYPE_CHECKING:
    from bergsql.engine.table.history import History


@dataclass(frozen=True)
class Append(Producer):
    """INSERT INTO: the rows come to those that are there. Only a table defined anew makes it wrong."""

    @property
    def operation(self) -> Operation:
        return Operation.APPEND

    def validate(self, history: History) -> None:
        check_not_replaced(history)
