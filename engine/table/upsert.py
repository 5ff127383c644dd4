"""Upserts: rows that take the place of those with the same key, as Flink's Iceberg sink writes them.

Of rows with one key in a statement the last one stays. All keys are deleted in what was there before, by equality
delete files, and the rows are added: nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.engine.duck import set_variables
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.equality_delete_writing import write_equality_deletes
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.producer import Operation, Producer
from bergsql.engine.table.properties import WriteProperties
from bergsql.engine.table.staging import Staging
from bergsql.engine.table.validate import check_not_replaced
from bergsql.engine.table.writer import write_into, write_settings

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.duck import Duck
    from bergsql.engine.table.history import History

_TABLE = "upserted_rows"


@dataclass(frozen=True)
class Upsert(Producer):
    """Rows with keys. What others do meanwhile cannot make it wrong: the rows of keys are as they were given last.

    So it is never put together with another commit: its delete files reach what is older, and nothing else.
    """

    deletes: Sequence[DataFile] = ()

    @property
    def operation(self) -> Operation:
        return Operation.OVERWRITE if self.deletes else Operation.APPEND

    def validate(self, history: History) -> None:
        """Refuse what others changed of the key or the partitioning: the delete files would miss rows."""
        check_not_replaced(history)
        base, now = history.base, history.current
        if set(base.schema.identifier_field_ids) != set(now.schema.identifier_field_ids):
            raise StatementConflict("The key of the table was changed meanwhile.")
        if base.default_spec_id != now.default_spec_id:
            raise StatementConflict("The partitioning of the table was changed meanwhile.")

    @property
    def added(self) -> Sequence[DataFile]:
        return [*self.files, *self.deletes]


@dataclass(frozen=True, slots=True)
class Upserted:
    """Files that no snapshot holds yet: ``rows`` rows, one a key; ``left_out`` had a key that came again."""

    files: Sequence[DataFile]
    deletes: Sequence[DataFile]
    rows: int
    left_out: int


def write_upserts(
    duck: Duck,
    select_sql: str,
    variables: Mapping[str, object],
    *,
    key: Sequence[NestedField],
    specs: Sequence[PartitionSpec],
    metadata: TableMetadata,
    storage: Storage,
    properties: Mapping[str, str] | None = None,
) -> Upserted:
    """Write rows as data files of a table, and delete files of their keys in each of ``specs`` (``reaching_specs``).

    ``select_sql``, ``variables`` and ``properties`` are as for :func:`~bergsql.engine.table.writer.write_rows`, and so
    are the errors: NULL in a column of the key is one. On any failure no file stays.
    """
    settings = write_settings(metadata, properties)
    of_deletes = WriteProperties.of_deletes({**metadata.properties, **(properties or {})}, metadata.location)
    fields = metadata.schema.fields
    columns = [f"c{i}" for i in range(len(fields))]
    keys = ", ".join(c for c, f in zip(columns, fields, strict=True) if f in key)
    cursor = duck.cursor()
    try:
        with Staging(storage, settings) as staging:
            set_variables(cursor, variables)
            cursor.execute(
                f"CREATE OR REPLACE TEMP TABLE {_TABLE} AS SELECT * FROM ({select_sql}) AS q({', '.join(columns)})"
            )
            table = f"temp.main.{_TABLE}"
            ((count, distinct),) = cursor.execute(
                f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {table}))"
            ).fetchall()
            # The numbers of a table's rows are in the order in which they came.
            last = f" WHERE rowid IN (SELECT max(rowid) FROM {table} GROUP BY {keys})" if distinct < count else ""
            rows = f"SELECT {', '.join(columns)} FROM {table}{last}"
            written = write_into(staging, cursor, rows, {}, metadata, storage, settings)
            deleted = f"SELECT DISTINCT {keys} FROM {table}"
            deletes = write_equality_deletes(
                staging, cursor, deleted, key, specs if written.rows else (), metadata, storage, of_deletes
            )
    finally:
        duck.done(cursor)
    return Upserted(written.files, deletes, written.rows, count - written.rows)
