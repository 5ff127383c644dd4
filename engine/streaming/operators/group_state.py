"""State of groups in blocks (:mod:`bergsql.engine.streaming.state.keyed`), reached by DuckDB's hash of the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.streaming.state.keyed import Fetched, KeyedRows

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.state.base import StateScope
    from bergsql.engine.streaming.state.keyed import Longs, Places

_PROBE: Final = "SELECT hash(1), hash('bergsql'), hash(1.5, DATE '2000-01-01')"
"""DuckDB may hash otherwise one day; then rows are not where they are looked for."""
_PROBED: Final = b"hash"


def hash_sql(columns: Sequence[str]) -> str:
    """A place made of a whole key."""
    return f"hash({', '.join(columns)})" if columns else "CAST(0 AS UBIGINT)"


def pair_sql(first: Sequence[str], second: Sequence[str]) -> str:
    """A place made of two keys, half of it of each: what is equal in the first lies together."""
    return f"(({hash_sql(first)} & CAST(18446744069414584320 AS UBIGINT)) | ({hash_sql(second)} >> 32))"


def same_sql(a: str, b: str, columns: Sequence[str]) -> str:
    """The condition that rows of two relations have the same key, NULL equal to NULL."""
    return " AND ".join(f"{a}.{name} IS NOT DISTINCT FROM {b}.{name}" for name in columns) or "TRUE"


class GroupState:
    """Rows with the columns of ``schema``, in which they are found by ``place``, SQL over them."""

    def __init__(self, context: OperatorContext, scope: StateScope, columns: dict[str, str], place: str) -> None:
        """``columns``: DuckDB types by name."""
        self._context = context
        self.columns = columns
        self._place = place
        listed = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in columns.items())
        schema = context.query(f"SELECT {listed} LIMIT 0").schema
        self.rows = KeyedRows(scope, schema)
        self._check_hash(scope)

    def _check_hash(self, scope: StateScope) -> None:
        about = scope.part("about")
        now = repr(self._context.query(_PROBE).to_pylist()).encode()
        (kept,) = about.get_many([_PROBED])
        if kept == now:
            return
        if kept is not None:
            self._move_all()
        about.put_many([(_PROBED, now)])

    def _move_all(self) -> None:
        """Put all rows to the places that they have now: once, after DuckDB's hash has changed."""
        fetched = self.rows.every()
        rows = fetched.rows.drop_columns(["row"])
        name = self._context.relation(rows)
        places = self._context.query(f"SELECT {self._place} AS place FROM {name}").column("place").to_numpy()
        self.rows.replace(fetched, fetched.rows.column("row").to_numpy(), places, rows)

    def fetch(self, places: Places) -> tuple[Fetched, str]:
        """The rows at some places, in any order; and a name under which DuckDB reads them, with ``row``."""
        import numpy as np

        ordered = np.sort(places)  # numpy's own unique takes three times as long
        once = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        fetched = self.rows.fetch(ordered[once])
        return fetched, self._context.relation(fetched.rows)

    def replace(self, fetched: Fetched, gone: Longs, places: Places, rows: pa.Table) -> Places:
        """Take rows away and put others; ``rows`` has the state's columns among others."""
        chosen = rows.select(list(self.columns)).cast(self.rows.schema)
        return self.rows.replace(fetched, gone, places, chosen)

    def remove(self, fetched: Fetched, gone: Longs) -> None:
        """Take rows away."""
        import numpy as np

        self.replace(fetched, gone, np.zeros(0, np.uint64), fetched.rows.slice(0, 0))


def numbers(table: pa.Table, name: str) -> Any:
    """A column of whole numbers, without those that are NULL."""
    return table.column(name).drop_null().to_numpy()
