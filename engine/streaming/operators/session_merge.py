"""Sessions put together: what was kept of those that have become one, and the rows that are new in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.operators.group_state import pair_sql, same_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.operators.groups import Groups

_BOUNDS = ["ss", "se"]


class SessionMerge:
    """States of sessions, two at a time: a state has the form of a batch's deltas."""

    def __init__(self, context: OperatorContext, groups: Groups, partition: Sequence[str]) -> None:
        self._context = context
        self._groups = groups
        self._keys = [*groups.names, *_BOUNDS]
        self._place = pair_sql(partition, groups.names)

    def merged(self, table: str, placed: str, old: str) -> pa.Table:
        """A row for each key and changed session, with ``place``, bounds and the state.

        ``placed`` says of the rows of ``table`` and of ``old`` in which sessions they are now.
        """
        taken = f"(FROM {placed} WHERE NOT old AND alive)"
        fresh = f"(SELECT t.*, t.rowid, p.ss, p.se FROM {table} AS t JOIN {taken} AS p ON p.id = t.rowid)"
        deltas = self._context.relation(
            self._context.query(self._groups.deltas_sql(self._groups.layout.rows, fresh, _BOUNDS))
        )
        states = self._old(placed, old)
        sql = self._combined_sql(states, deltas)
        return self._context.query(f"SELECT {self._place} AS place, * FROM ({sql})")

    def _old(self, placed: str, old: str) -> str:
        """A relation of what was kept of the sessions, those that have become one put together."""
        listed = ", ".join([*(f"o.{name}" for name in self._groups.names), "p.ss", "p.se"])
        states = ", ".join(["", *(f"o.{name}" for name in self._groups.layout.states)])
        found = self._context.query(
            f"SELECT {listed}{states}, row_number() OVER (PARTITION BY {listed} ORDER BY o.ss) AS turn"
            f" FROM {old} AS o JOIN {placed} AS p ON p.id = o.row AND p.old AND p.alive"
        )
        name = self._context.relation(found)
        turns = max(found.column("turn").to_pylist(), default=0)
        states = ", ".join([*self._keys, *self._groups.layout.states])
        joined = f"(SELECT {states} FROM {name} WHERE turn = 1)"
        for turn in range(2, turns + 1):
            more = f"(SELECT {self._as_deltas()} FROM {name} WHERE turn = {turn})"
            joined = self._context.relation(self._context.query(self._combined_sql(joined, more)))
        return joined

    def _as_deltas(self) -> str:
        """States under the names of the deltas of the same form."""
        layout = self._groups.layout
        names = {like.split(".")[1]: state for state, like in layout.partial.items()}
        return ", ".join([*self._keys, *(f"{state} AS {delta}" for delta, state in names.items())])

    def _combined_sql(self, states: str, deltas: str) -> str:
        keys = [f"coalesce(d.{key}, o.{key}) AS {key}" for key in self._keys]
        made = [f"{sql} AS {name}" for name, (_, sql) in self._groups.layout.states.items()]
        match = same_sql("d", "o", self._keys)
        return f"SELECT {', '.join([*keys, *made])} FROM {deltas} AS d FULL JOIN {states} AS o ON {match}"
