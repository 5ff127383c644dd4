"""Messages of the log become rows of a changelog, transaction by transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Message,
    Relation,
    Truncate,
    Value,
)
from bergsql.engine.streaming.changelog import RowKind

if TYPE_CHECKING:
    from bergsql.engine.connectors.postgres.tables import StoredTable, StoredType
    from bergsql.engine.connectors.postgres.texts import Columns, Conversions


class Known(NamedTuple):
    """A table of the log as its messages are laid out from here on: where what is wanted stands in a row."""

    table: StoredTable
    relation: Relation
    conversions: Conversions
    wanted: tuple[int, ...]
    key: tuple[int, ...]
    """The declared key, as places in a row of the log."""
    stored_key: tuple[int, ...]
    """The table's own key likewise, empty where it is not all there."""


class Row(NamedTuple):
    """A row of the changelog. ``key``: the texts of the table's own key, where that is needed."""

    kind: RowKind
    values: tuple[bytes | None, ...]
    key: tuple[str, ...] | None


class Cursor(NamedTuple):
    """Where the log is read on: behind ``done`` changes of the transaction that commits at ``open``, or if that is
    None behind ``position``, the end of one."""

    position: int
    open: int | None = None
    done: int = 0


class Assembler:
    """Follows the log. ``types`` finds types of the database by their ids."""

    def __init__(
        self,
        columns: Columns,
        key: Sequence[str],
        tables: Mapping[int, StoredTable],
        types: Callable[[Sequence[int]], Mapping[int, StoredType]],
        note: Callable[[str], None],
        *,
        upsert: bool,
        cursor: Cursor,
    ) -> None:
        self._columns, self._key, self._tables, self._types = columns, tuple(key), tables, types
        self._note, self._upsert = note, upsert
        self._known: dict[int, Known] = {}
        self._conversions: dict[Conversions, Conversions] = {}
        self._start, self._resumed = cursor.position, cursor
        self._position = cursor.position
        self._open: Begin | None = None
        self._done = 0
        self._skip = 0

    @property
    def cursor(self) -> Cursor:
        """Behind all that was taken."""
        if self._open is None:
            # A transaction that was begun before, and of which nothing came yet, is still half done.
            half = self._resumed if self._resumed.open is not None else None
            return half if half is not None and self._position == self._start else Cursor(self._position)
        if self._skip > self._done:
            return Cursor(self._position, self._open.commit, self._skip)
        return Cursor(self._position, self._open.commit, self._done)

    @property
    def commit(self) -> int:
        """Where the transaction commits whose rows come now."""
        assert self._open is not None
        return self._open.commit

    @property
    def at(self) -> int:
        """When, in milliseconds since 1970."""
        assert self._open is not None
        return self._open.at

    @property
    def between(self) -> bool:
        """Whether no transaction is half read."""
        return self._open is None

    def idle(self, position: int) -> None:
        """Nothing came up to a position, and no transaction is open."""
        assert self._open is None
        if self._resumed.open is None or self._position != self._start:
            self._position = max(self._position, position)

    def known(self, message: Change) -> Known | None:
        """The table of a change, None for one that is not read."""
        return self._known.get(message.relation)

    def rows(self, message: Message | None, *, with_keys: bool = False) -> Sequence[Row]:
        """Take a message: the rows that it gives.

        :raises BergError: for what cannot be told as changes of rows.
        """
        if isinstance(message, Change):
            return self._changed(message, with_keys=with_keys)
        if isinstance(message, Begin):
            self._open, self._done = message, 0
            self._skip = self._resumed.done if message.commit == self._resumed.open else 0
        elif isinstance(message, Commit):
            self._open, self._done, self._skip = None, 0, 0
            self._position = max(self._position, message.end)
        elif isinstance(message, Relation):
            self._learn(message)
        elif isinstance(message, Truncate):
            self._truncated(message)
        return ()

    def _learn(self, relation: Relation) -> None:
        table = self._tables.get(relation.id)
        name = f"{relation.schema}.{relation.name}"
        if table is None:
            return
        found = self._types([c.type_id for c in relation.columns])
        types = {c.name: found[c.type_id] for c in relation.columns if c.type_id in found}
        conversions = self._columns.conversions(types, name)
        conversions = self._conversions.setdefault(conversions, conversions)
        places = {c.name: n for n, c in enumerate(relation.columns)}
        added = [c.name for c in relation.columns if c.name not in table.columns]
        if added:
            self._note(f"{name} has a new column {', '.join(added)}, which is not declared and not read.")
        if self._upsert and relation.identity != "f":
            lacking = [k for k in self._key if not relation.columns[places[k]].in_key]
            if lacking:
                raise BergError(
                    ErrorCode.INVALID,
                    f"The log of {name} does not tell '{lacking[0]}' of rows that change.",
                    hint=f"The declared key is to be that of {name}, or ALTER TABLE {name} REPLICA IDENTITY FULL.",
                )
        wanted = tuple(places[c.name] for c in self._columns.stored)
        own = tuple(places[k] for k in table.key) if all(k in places for k in table.key) else ()
        key = tuple(places[k] for k in self._key)
        known = Known(table, relation, conversions, wanted, key, own)
        before = self._known.get(relation.id)
        if before is not None:
            self._tell_other_types(before, known)
        self._known[relation.id] = known

    def _tell_other_types(self, before: Known, now: Known) -> None:
        """Note the columns whose types are not what they were: ALTER TABLE may have changed values, but no row."""
        for old_place, place in zip(before.wanted, now.wanted, strict=True):
            old, new = before.relation.columns[old_place], now.relation.columns[place]
            if (old.type_id, old.modifier) != (new.type_id, new.modifier):
                self._note(
                    f"Column '{new.name}' of {now.relation.schema}.{now.relation.name} has another type. Where that "
                    "changed values of rows that were read before, the log does not tell: then start a new job."
                )

    def _truncated(self, message: Truncate) -> None:
        if self.commit < self._start:
            return
        for id_ in message.relations:
            if id_ in self._tables:
                raise BergError(
                    ErrorCode.INVALID,
                    f"{self._tables[id_].full_name} was truncated: its log does not tell which rows went.",
                    hint="Empty the target, drop the slot, and start a new job; DELETE FROM is told row by row.",
                )

    def _changed(self, message: Change, *, with_keys: bool) -> Sequence[Row]:
        self._done += 1
        known = self._known.get(message.relation)
        if known is None or self._done <= self._skip or self.commit < self._start:
            return ()
        old, new = message.old, message.new
        if old is not None and not message.whole and not self._upsert:
            old = None
        if message.kind != "I" and old is None and (message.kind == "D" or not self._upsert):
            raise self._without_old(known)
        made = self._row(known, with_keys=with_keys)
        if new is None:
            assert old is not None
            return (made(RowKind.DELETE, old),)
        if message.kind == "I":
            return (made(RowKind.INSERT, new),)
        if old is not None and message.whole:
            new = [o if n is UNCHANGED else n for o, n in zip(old, new, strict=True)]
        moved = old is not None and (not message.whole or any(old[k] != new[k] for k in known.key))
        if moved and old is not None:
            return made(RowKind.DELETE, old), made(RowKind.INSERT, new)
        if self._upsert or old is None:
            return (made(RowKind.UPDATE_AFTER, new),)
        return made(RowKind.UPDATE_BEFORE, old), made(RowKind.UPDATE_AFTER, new)

    def _row(self, known: Known, *, with_keys: bool) -> Callable[[RowKind, Sequence[Value]], Row]:
        def made(kind: RowKind, values: Sequence[Value]) -> Row:
            taken: list[bytes | None] = []
            for place in known.wanted:
                value = values[place]
                if isinstance(value, bool):
                    raise self._unchanged(known, place)
                taken.append(value)
            key = None
            if with_keys and known.stored_key:
                key = tuple(bytes(values[k] or b"").decode() for k in known.stored_key)
            return Row(kind, tuple(taken), key)

        return made

    def _without_old(self, known: Known) -> BergError:
        name = f"{known.relation.schema}.{known.relation.name}"
        return BergError(
            ErrorCode.INVALID,
            f"The log of {name} has a change without the row as it was.",
            hint=f"The table had another replica identity then. ALTER TABLE {name} REPLICA IDENTITY FULL; before a new "
            "job starts, or 'changelog-mode' = 'upsert'.",
        )

    def _unchanged(self, known: Known, place: int) -> BergError:
        name, column = f"{known.relation.schema}.{known.relation.name}", known.relation.columns[place].name
        return BergError(
            ErrorCode.INVALID,
            f"The log of {name} leaves out the large value of column '{column}' that an UPDATE did not touch.",
            hint=f"ALTER TABLE {name} REPLICA IDENTITY FULL; lets it hold such values; or leave the column out of the "
            "declared table.",
        )
