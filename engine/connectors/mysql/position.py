"""A place in a server's binlog, from which it can be read on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.sources.base import Json


@dataclass(frozen=True)
class Position:
    """Behind a whole transaction; or with ``row`` inside the next one, behind so many rows of it.

    gtid
        What was read by GTIDs, where the server has them: the same place on another server.
    begun
        When the file was begun, in seconds since 1970: tells it from one of another server, or of another time, that
        has the same name.
    """

    file: str
    pos: int
    gtid: str | None = None
    row: int = 0
    begun: int | None = None

    @cached_property
    def order(self) -> tuple[int, int, int]:
        """What positions of one server are compared by."""
        return (*place_order(self.file, self.pos), self.row)

    def __lt__(self, other: Position) -> bool:
        return self.order < other.order

    def __str__(self) -> str:
        return f"{self.file}:{self.pos}"

    def to_json(self) -> Json:
        made: dict[str, Json] = {"file": self.file, "pos": self.pos}
        if self.gtid is not None:
            made["gtid"] = self.gtid
        if self.row:
            made["row"] = self.row
        if self.begun is not None:
            made["begun"] = self.begun
        return made

    @staticmethod
    def from_json(value: Json) -> Position:
        """
        :raises BergError: CORRUPT for what :meth:`to_json` has not made.
        """
        try:
            assert isinstance(value, dict)
            return Position(**value)  # type: ignore[arg-type]
        except (AssertionError, TypeError):
            raise BergError(ErrorCode.CORRUPT, "What was kept of a binlog's place is not understood.") from None


def place_order(file: str, pos: int) -> tuple[int, int]:
    """The order of places in the files of a binlog, which are numbered.

    >>> place_order("binlog.000012", 4)
    (12, 4)
    """
    number = re.search(r"(\d+)$", file)
    return int(number[1]) if number is not None else 0, pos
