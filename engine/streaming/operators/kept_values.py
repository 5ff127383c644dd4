"""Values of groups that are kept one by one, so that rows can be taken back: entries of the store in order.

The entry of a value begins with its group's key, so the least and the greatest, the first and the last of a group are
found by a seek, however many there are. Cost follows the changed values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.changelog import column
from bergsql.engine.streaming.operators.accumulators.layout import MINUS, PLUS, Kept
from bergsql.engine.streaming.state.codec import decode_rows, encode_keys, encode_ordered, encode_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.state.base import StateScope

_KEY: Final = 200
"""Bytes of a group's key in front of its entries, at most; longer ones are hashed."""
_VALUE: Final = 270
"""Bytes of an ordered value; of longer ones, which end in a hash, those that begin alike are compared."""
_HASH: Final = 16
_COUNT: Final = 8


class KeptValues(ABC):
    """The values of one :class:`Kept`."""

    def __init__(self, context: OperatorContext, scope: StateScope, keys: Sequence[int], kept: Kept) -> None:
        self._context = context
        self._scope = scope
        self._keys = [column(k) for k in keys]
        self._x = column(kept.argument)
        self._kept = kept
        self._where = f" WHERE {kept.condition}" if kept.condition else ""

    @abstractmethod
    def told(self, source: str) -> str:
        """Bring the changes of a relation in; a relation of the groups' keys k0, … with ``told`` and ``x``."""

    def drop(self, groups: pa.Table, names: Sequence[str]) -> None:
        """Forget the values of groups."""
        for key in encode_keys(groups, names, limit=_KEY):
            self._forget(key)

    def _forget(self, key: bytes) -> None:
        self._scope.delete_many([k for k, _ in self._scope.scan(key)])

    def _answer(self, groups: pa.Table, x: pa.Array) -> str:
        import pyarrow as pa

        names = [f"k{i}" for i in range(len(self._keys))]
        told = pa.array([True] * groups.num_rows, pa.bool_())
        columns = [groups.column(name) for name in self._keys]
        return self._context.relation(pa.table([*columns, told, x], names=[*names, "told", "x"]))

    def _listed(self, *more: str) -> str:
        return ", ".join([*(f"i.{k}" for k in self._keys), *more])


class OrderedValues(KeptValues):
    """How often each value is there, in their order: for MIN and MAX.

    A group is told of only where a value was taken back: what else comes is compared with the one so far.
    """

    def told(self, source: str) -> str:
        groups = f" GROUP BY {self._listed(f'i.{self._x}')}"
        more = f"count(*) FILTER (WHERE {PLUS}) - count(*) FILTER (WHERE {MINUS})"
        changes = self._context.query(
            f"SELECT {self._listed(f'i.{self._x} AS x', f'{more} AS n', f'bool_or({MINUS}) AS back')}"
            f" FROM {source} AS i{self._where}{groups}"
        )
        keys = encode_keys(changes, self._keys, limit=_KEY)
        entries = [k + v for k, v in zip(keys, encode_ordered(changes, "x", limit=_VALUE), strict=True)]
        held = self._scope.get_many(entries)
        put: list[tuple[bytes, bytes]] = []
        gone: list[bytes] = []
        less: dict[bytes, int] = {}
        back = changes.column("back").to_pylist()
        rows = zip(entries, held, changes.column("n").to_pylist(), encode_rows(changes, ["x"]), strict=True)
        for i, (entry, old, n, value) in enumerate(rows):
            count = n + (int.from_bytes(old[:_COUNT], "little") if old else 0)
            if count > 0:
                put.append((entry, count.to_bytes(_COUNT, "little") + value))
            elif old:
                gone.append(entry)
            if back[i]:  # it may have come in the same batch
                less.setdefault(keys[i], i)
        self._scope.put_many(put)
        self._scope.delete_many(gone)
        return self._answer(_rows(changes, less), self._ends(less, changes.schema.field("x").type))

    def _ends(self, groups: dict[bytes, int], type: pa.DataType) -> pa.Array:
        import pyarrow as pa

        found = [self._end(key, type) for key in groups]
        values = decode_rows([v for v in found if v is not None], pa.schema([("x", type)])).column(0)
        return _spread(values, [v is not None for v in found])

    def _end(self, key: bytes, type: pa.DataType) -> bytes | None:
        if self._kept.kind == "least":
            entry = next(iter(self._scope.scan(key)), None)
        else:
            entry = self._scope.last(key)
        if entry is None:
            return None
        if len(entry[0]) - len(key) < _VALUE:
            return entry[1][_COUNT:]
        return self._among(entry[0][:-_HASH], type)

    def _among(self, beginning: bytes, type: pa.DataType) -> bytes:
        """Of long values that begin alike, the least or greatest by all of it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = [v[_COUNT:] for _, v in self._scope.scan(beginning)]
        rows = decode_rows(values, pa.schema([("x", type)]))
        order = pc.sort_indices(rows, [("x", "ascending")]).to_pylist()
        end: int = order[0 if self._kept.kind == "least" else -1]
        return values[end]


class ComingValues(KeptValues):
    """Values in the order in which they came: for FIRST_VALUE, LAST_VALUE, ARRAY_AGG, LISTAGG.

    One that is taken back is the oldest of its equals, as in Flink.
    """

    def __init__(self, context: OperatorContext, scope: StateScope, keys: Sequence[int], kept: Kept) -> None:
        super().__init__(context, scope, keys, kept)
        self._by_value = scope.part("values")
        self._numbers = scope.part("numbers")
        (number,) = self._numbers.get_many([b"next"])
        self._next = int.from_bytes(number or b"", "big")

    def told(self, source: str) -> str:
        items = self._listed(f"i.{self._x} AS x", f"{MINUS} AS gone")
        rows = self._context.query(f"SELECT {items} FROM {source} AS i{self._where} ORDER BY i.rowid")
        keys = encode_keys(rows, self._keys, limit=_KEY)
        pairs = [k + v for k, v in zip(keys, encode_keys(rows, ["x"], limit=_VALUE), strict=True)]
        groups: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            groups.setdefault(key, i)
        self._change(keys, pairs, encode_rows(rows, ["x"]), rows.column("gone").to_pylist())
        values = self._values(list(groups), rows.schema.field("x").type)
        return self._answer(_rows(rows, groups), values)

    def _change(self, keys: list[bytes], pairs: list[bytes], values: list[bytes], gone: list[bool]) -> None:
        put: list[tuple[bytes, bytes]] = []
        put_pairs: list[tuple[bytes, bytes]] = []
        less: dict[bytes, tuple[bytes, int]] = {}
        for key, pair, value, back in zip(keys, pairs, values, gone, strict=True):
            if back:
                less[pair] = (key, less.get(pair, (key, 0))[1] + 1)
                continue
            number = self._next.to_bytes(8, "big")
            self._next += 1
            put.append((key + number, value))
            put_pairs.append((pair + number, b""))
        self._scope.put_many(put)
        self._by_value.put_many(put_pairs)
        self._numbers.put_many([(b"next", self._next.to_bytes(8, "big"))])
        for pair, (key, count) in less.items():
            # Those of the batch are there by now: what is taken back may be one of them.
            oldest = [entry for entry, _ in islice(self._by_value.scan(pair), count)]
            self._by_value.delete_many(oldest)
            self._scope.delete_many([key + entry[-8:] for entry in oldest])

    def _values(self, groups: Sequence[bytes], type: pa.DataType) -> pa.Array:
        import pyarrow as pa

        schema = pa.schema([("x", type)])
        if self._kept.kind == "all":
            found = [[v for _, v in self._scope.scan(key)] for key in groups]
            offsets = pa.array([0, *_running([len(values) for values in found])], pa.int32())
            elements = decode_rows([v for values in found for v in values], schema).column(0)
            lists = pa.ListArray.from_arrays(offsets, _whole(elements))
            return _spread(lists, [True] * len(found), [bool(values) for values in found])
        ends = [
            next(iter(self._scope.scan(key)), None) if self._kept.kind == "first" else self._scope.last(key)
            for key in groups
        ]
        values = decode_rows([end[1] for end in ends if end is not None], schema).column(0)
        return _spread(values, [end is not None for end in ends])

    def _forget(self, key: bytes) -> None:
        super()._forget(key)
        self._by_value.delete_many([k for k, _ in self._by_value.scan(key)])


def _rows(table: pa.Table, numbers: dict[bytes, int]) -> pa.Table:
    import pyarrow as pa

    return table.take(pa.array(numbers.values(), pa.int64()))


def _running(counts: Sequence[int]) -> list[int]:
    from itertools import accumulate

    return list(accumulate(counts))


def _whole(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    import pyarrow as pa

    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _spread(values: pa.ChunkedArray | pa.Array, there: Sequence[bool], full: Sequence[bool] | None = None) -> pa.Array:
    """The values one behind the other, NULL for each that is not ``there`` or not ``full``."""
    import pyarrow as pa

    running = iter(range(len(there)))
    at = [next(running) if t else None for t in there]
    if full is not None:
        at = [a if f else None for a, f in zip(at, full, strict=True)]
    return _whole(values).take(pa.array(at, pa.int64()))


def kept_values(context: OperatorContext, scope: StateScope, keys: Sequence[int], kept: Kept) -> KeptValues:
    make = OrderedValues if kept.kind in ("least", "greatest") else ComingValues
    return make(context, scope, keys, kept)
