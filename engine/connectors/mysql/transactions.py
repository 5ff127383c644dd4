"""Where in a binlog one is: between two of its transactions, or inside one. Pure rules."""

from __future__ import annotations

from dataclasses import replace

from bergsql.engine.connectors.mysql.position import Position


class Transactions:
    """Goes along with a binlog, from a position on.

    base
        Behind the last whole transaction, or statement that is none.
    rows
        How many rows of tables that are read came since.
    in_two_phases
        Whether what comes is an XA transaction's, which may be taken back long after it has ended here.
    """

    def __init__(self, position: Position) -> None:
        self.base = position
        self.rows = 0
        self.in_two_phases = False
        self._given = position.row
        self._gtid: str | None = None
        self._open = False

    @property
    def here(self) -> Position:
        """The place behind the rows that came, and those that were given before."""
        return replace(self.base, row=max(self.rows, self._given))

    def named(self, gtids: str) -> None:
        """When what begins now has ended, these are the transactions that were read."""
        self._gtid = gtids

    def begin(self, *, in_two_phases: bool = False) -> None:
        """What comes is a transaction's, up to its end."""
        self._open, self.in_two_phases = True, in_two_phases

    def add(self, rows: int) -> int:
        """Take some rows; how many of them, the last ones, are new."""
        self.rows += rows
        return max(0, min(rows, self.rows - self._given))

    def end(self, file: str, pos: int) -> None:
        """A transaction is over: one may begin here."""
        self.base = Position(file, pos, self._gtid or self.base.gtid, begun=self._begun_of(file))
        self.rows = self._given = 0
        self.in_two_phases = self._open = False

    def stated(self, file: str, pos: int) -> None:
        """A statement that changes no rows. It is over, but in a transaction: ``CREATE TABLE … SELECT`` has rows."""
        if not self._open:
            self.end(file, pos)

    def passed(self, file: str, pos: int) -> bool:
        """Between two transactions, on to a place before which nothing more was; whether it is a new one."""
        moved = Position(file, pos, self.base.gtid, begun=self._begun_of(file))
        if self.rows or self._open or not self.base < moved:
            return False
        self.base = moved
        return True

    def turned(self, file: str, pos: int) -> bool:
        """The binlog goes on in another file, and what has not ended never will; whether no rows of such came."""
        self._open = self.in_two_phases = False
        self.base = Position(file, pos, self.base.gtid, begun=self._begun_of(file))
        return not self.rows

    def described(self, begun: int) -> None:
        """The file that is read was begun then."""
        self.base = replace(self.base, begun=begun)

    def _begun_of(self, file: str) -> int | None:
        return self.base.begun if file == self.base.file else None
