"""One side of a join of streams: its rows by key, how often each is there, and how many partners it has."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.operators.changes import folded, names, with_columns
from bergsql.engine.streaming.state.rows import Rows, prefixes
from bergsql.engine.streaming.state.ttl import retention_of

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.nodes import Node
    from bergsql.engine.streaming.operators.base import OperatorContext

_COUNTS = struct.Struct("<qq")  # how often the row is there, and its partners (of a join with a condition)
_COUNT = struct.Struct("<q")
FEW = 10_000
"""So many rows of a batch are kept in order."""


class Part(NamedTuple):
    """Some rows of one side: columns c0, …, id, n (how often it was there), dw (its weight now), m (its partners).

    ``id`` is different for all rows of the side in a round.
    """

    rows: pa.Table
    keys: list[bytes]
    """Of the state, a row each."""
    prefixes: list[bytes]


class Side:
    """One input of a join, and its state."""

    def __init__(
        self, context: OperatorContext, name: str, node: Node, keys: Sequence[str], strict: Sequence[int]
    ) -> None:
        self._context = context
        self._keys = keys
        self._strict = strict
        self.count = len(node.columns)
        self.rows = Rows(context, node.columns)
        self._state = context.state.part(name)
        self._totals = context.state.part(name + "#")
        self._now = 0
        self.retention = retention_of(context.setting, self._state)
        self.stored = True
        """Whether the other side ever needs the rows, not just how many there are."""

    def expire(self, now: int) -> None:
        """Forget the rows that were not written to for as long as table.exec.state.ttl says; ``now`` as of a round."""
        self._now = now
        if self.retention is not None:
            for keys in self.retention.expired(now):
                self._state.delete_many(keys)

    def take(self, batch: Batch | None) -> tuple[Part | None, pa.Table | None]:
        """The changes of a batch, with what the state knows of their rows.

        Those with a NULL in their key, which never meet any, stand aside, with their weight ``w``.
        """
        import numpy as np
        import pyarrow.compute as pc

        if batch is None:
            return None, None
        batch = self._context.table(batch)
        # Few rows come out in the order in which they came; to sort many would cost more than it tells.
        ordered = " ORDER BY place" if (batch.rows or 0) <= FEW else ""
        keys = "".join(f", {sql} AS k{position}" for position, sql in enumerate(self._keys))
        null = " OR ".join(f"({self._keys[position]}) IS NULL" for position in self._strict) or "false"
        table = self._context.query(
            f"SELECT {names(self.count)}, w{keys}, {null} AS u FROM ({folded(batch, self.count)}){ordered}"
        )
        alone = None
        if pc.any(table["u"]).as_py():
            alone = table.filter(table["u"]).select([*self.rows.names, "w"])
            alone = with_columns(alone, id=np.arange(alone.num_rows))
            table = table.filter(pc.invert(table["u"]))
        if not table.num_rows:
            return None, alone
        first = prefixes(table, [f"k{position}" for position in range(len(self._keys))])
        weights = table["w"].to_numpy()
        table = table.select(self.rows.names)
        state_keys: list[bytes] = []
        n, m = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
        if self.stored:
            own = self.rows.identities(table)
            state_keys = [a + b for a, b in zip(first, own, strict=True)]
            for position, value in enumerate(self._state.get_many(state_keys)):
                if value is not None:
                    n[position], m[position] = _COUNTS.unpack_from(value)
            # What goes and was never there has been forgotten (table.exec.state.ttl).
            weights = np.maximum(weights, -n)
        return Part(with_columns(table, id=np.arange(len(first)), n=n, dw=weights, m=m), state_keys, first), alone

    def unchanged(self, wanted: Iterable[bytes], changed: Part | None) -> Part | None:
        """The rows of some keys that are not among the changed ones, if there are such."""
        import numpy as np

        known = frozenset(changed.keys) if changed else frozenset()
        found = [entry for entry in self._state.scan_many(list(dict.fromkeys(wanted))) if entry[1] not in known]
        if not found:
            return None
        first, keys, values = (list(each) for each in zip(*found, strict=True))
        size = _COUNTS.size
        counts = np.frombuffer(b"".join([value[:size] for value in values]), np.int64).reshape(-1, 2)
        table = self.rows.decode([value[size:] for value in values])
        begin = changed.rows.num_rows if changed else 0
        ids = np.arange(begin, begin + len(keys))
        zeros = np.zeros(len(keys), np.int64)
        return Part(with_columns(table, id=ids, n=counts[:, 0], dw=zeros, m=counts[:, 1]), keys, first)

    def store(self, changed: Part, partners: Sequence[int] | None = None) -> None:
        """Keep the changed rows, with the number of partners of each."""
        if not self.stored or not changed.keys:
            return
        now = (changed.rows["n"].to_numpy() + changed.rows["dw"].to_numpy()).tolist()
        values = self.rows.encode(changed.rows)
        self._state.put_many(
            [
                (key, _COUNTS.pack(n, m) + value)
                for key, value, n, m in zip(changed.keys, values, now, partners or [0] * len(now), strict=True)
                if n > 0
            ]
        )
        gone = [key for key, n in zip(changed.keys, now, strict=True) if n <= 0]
        self._state.delete_many(gone)
        if self.retention is not None:
            self.retention.forget(gone)
            self.retention.touch([key for key, n in zip(changed.keys, now, strict=True) if n > 0], self._now)

    def recount(self, partners: dict[bytes, int]) -> None:
        """Note new numbers of partners of rows that are kept."""
        keys = list(partners)
        found = zip(keys, self._state.get_many(keys), strict=True)
        known = [(key, value) for key, value in found if value is not None]
        size = _COUNTS.size
        self._state.put_many(
            [(key, _COUNTS.pack(_COUNTS.unpack_from(value)[0], partners[key]) + value[size:]) for key, value in known]
        )
        if self.retention is not None:
            self.retention.touch([key for key, _ in known], self._now)

    def total(self, changed: Part | None, asked: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
        """How many rows there were and are of each key that changed or is asked for; noted."""
        difference: dict[bytes, int] = {}
        if changed is not None:
            for prefix, weight in zip(changed.prefixes, changed.rows["dw"].to_numpy().tolist(), strict=True):
                difference[prefix] = difference.get(prefix, 0) + weight
        keys = list({**difference, **dict.fromkeys(asked)})
        result = {}
        for key, value in zip(keys, self._totals.get_many(keys), strict=True):
            old = _COUNT.unpack(value)[0] if value is not None else 0
            result[key] = old, max(old + difference.get(key, 0), 0)
        self._totals.put_many([(key, _COUNT.pack(result[key][1])) for key in difference if result[key][1]])
        self._totals.delete_many([key for key in difference if not result[key][1]])
        return result
