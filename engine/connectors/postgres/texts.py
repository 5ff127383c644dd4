"""Rows as the texts of their values, by column, and the way to batches of the declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.values import Conversion, Parts, conversion, parts_of
from bergsql.engine.duck import arrow_rows
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, RowKind, column

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.postgres.tables import StoredType
    from bergsql.engine.streaming.sources.base import ReaderContext

SCHEMA: Final = "schema"
TABLE: Final = "table"
AT: Final = "at"
"""Columns beside the values: where a row is of, and when its transaction committed, in milliseconds since 1970."""

Conversions = tuple[Conversion, ...]


def text_name(position: int) -> str:
    """The name of the column that holds the texts of a stored column."""
    return f"t{position}"


class Columns:
    """The columns of a table as it is declared."""

    def __init__(self, declared: Sequence[TableColumn], database: str, name: str) -> None:
        """
        :param name: what the table is called where it is declared, for people.
        """
        self.declared, self.name = tuple(declared), name
        self.stored = tuple(c for c in declared if c.metadata is None)
        self._database = database

    def conversions(self, types: Mapping[str, StoredType], table: str) -> Conversions:
        """How the texts of a table's rows become values.

        :raises BergError: NOT_FOUND for a column that is not there, TYPE for one that does not fit.
        """
        for each in self.stored:
            if each.name not in types:
                raise BergError(
                    ErrorCode.NOT_FOUND,
                    f"Column '{each.name}' is not in {table} any more.",
                    hint="Declare the table without it, and start a new job.",
                )
        return tuple(conversion(c, types[c.name], table, self.name) for c in self.stored)

    def items(self, conversions: Conversions) -> str:
        """SQL of the columns of a batch over a relation of texts."""
        at = {c.name: n for n, c in enumerate(self.stored)}
        made = []
        for n, each in enumerate(self.declared):
            if each.metadata is None:
                place = at[each.name]
                made.append(f"{conversions[place].of(text_name(place))} AS {column(n)}")
            else:
                made.append(f"{self._told(each.metadata)} AS {column(n)}")
        return ", ".join(made)

    def _told(self, metadata: str) -> str:
        match metadata:
            case "table_name":
                return f'"{TABLE}"'
            case "schema_name":
                return f'"{SCHEMA}"'
            case "database_name":
                return string_literal(self._database)
            case "op_ts":
                return f'make_timestamptz("{AT}" * 1000)'
        kinds = " ".join(f"WHEN {int(k)} THEN '{k.symbol}'" for k in RowKind)
        return f"CASE {OP} {kinds} END"

    def typed(self, context: ReaderContext, texts: pa.Table, conversions: Conversions) -> str:
        """A query of the values, with ``op``, which are computed already.

        :raises BergError: INVALID where a text is no value of its column's type.
        """
        import duckdb

        from bergsql.engine.plan.duck_errors import from_duckdb_error
        from bergsql.engine.plan.sql_text import FAILURE_MARK

        sql = f"SELECT {self.items(conversions)}, {OP} FROM {context.relation(texts)}"
        try:
            rows = arrow_rows(context.cursor, sql)
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            told = from_duckdb_error(error)
            if FAILURE_MARK not in str(error):
                raise told from None
            raise BergError(
                ErrorCode.INVALID, told.message, hint="Declared STRING, it is read as PostgreSQL writes it."
            ) from None
        # Arrow has no UUID: its text comes back.
        items = [f"CAST({column(n)} AS {duckdb_name(c.type)}) AS {column(n)}" for n, c in enumerate(self.declared)]
        return f"(SELECT {', '.join(items)}, {OP} FROM {context.relation(rows)})"


def text_array(values: Sequence[bytes | None] | pa.Array, how: Conversion, name: str) -> pa.Array:
    """Texts of a column as Arrow; of an array, lists of its parts' texts.

    :raises BergError: INVALID for an array of other dimensions than it is declared with.
    """
    import pyarrow as pa

    texts = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    if not how.depth:
        return texts
    type_ = pa.string()
    for _ in range(how.depth):
        type_ = pa.list_(type_)
    return pa.array([_parts(v, how.depth, name) for v in texts.to_pylist()], type_)


def _parts(text: str | None, depth: int, name: str) -> Parts:
    try:
        return parts_of(text, depth)
    except (ValueError, IndexError):
        raise BergError(
            ErrorCode.INVALID,
            f"The value '{(text or '')[:100]}' of column '{name}' is no array of {depth} dimension"
            f"{'s' if depth > 1 else ''}.",
            hint="Declared STRING, it is read as PostgreSQL writes it.",
        ) from None


def with_place(texts: dict[str, pa.Array], schema: str, table: str, rows: int) -> pa.Table:
    """Rows of a snapshot as a relation of texts: all of one table, which come (INSERT) at no time that is known."""
    import pyarrow as pa

    def same(value: object, type_: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value, type_), rows)

    return pa.table(
        {
            **texts,
            SCHEMA: same(schema, pa.string()),
            TABLE: same(table, pa.string()),
            AT: same(0, pa.int64()),
            OP: same(int(RowKind.INSERT), pa.int8()),
        }
    )
