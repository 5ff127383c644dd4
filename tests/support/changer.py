"""Changes the rows of tables through the table engine alone: as DELETE, UPDATE and MERGE do, without SQL of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.metadata.schema import Schema
from bergsql.engine.duck import set_variables
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.column_names import scanned_names
from bergsql.engine.table.metadata_columns import PLACE_FILE, PLACE_POSITION, PLACE_ROW_ID
from bergsql.engine.table.planning import FileTask
from bergsql.engine.table.row_changes import RowChanges, collect_changes
from bergsql.engine.table.row_delta import RowDelta
from bergsql.engine.table.row_level_properties import Mode
from bergsql.engine.table.row_rewrite import ChangedFiles, write_changes
from bergsql.engine.table.scan import build_scan
from tests.support.tables import Tables


@dataclass
class Changer:
    """Changes of the table ``name`` of ``tables``, in one mode."""

    tables: Tables
    mode: Mode
    name: str = "t"

    def collect(self, where: str, updated: Mapping[str, str] | None = None, inserted: str = "") -> RowChanges:
        """The rows for which ``where`` is true go, or get new values; rows of the query ``inserted`` come."""
        table = self.tables.load(self.name)
        schema, names = table.metadata.schema, scanned_names(table.metadata.schema)
        v3 = table.metadata.format_version >= 3
        places = [PLACE_FILE, PLACE_POSITION, *([PLACE_ROW_ID] if v3 else [])]
        scan = build_scan(table, self.tables.storage, columns=frozenset([*(f.name for f in schema.fields), *places]))
        row_id = identifier(PLACE_ROW_ID) if v3 else "CAST(NULL AS BIGINT)"
        items = [identifier(PLACE_FILE), identifier(PLACE_POSITION), "0", row_id]
        kinds = ["delete"]
        if updated is not None or inserted:
            columns = [identifier(names[f.name]) for f in schema.fields]
            if updated is None:
                items += [f"if(true, NULL, {c})" for c in columns]
            else:
                items += [updated.get(f.name, c) for f, c in zip(schema.fields, columns, strict=True)]
                kinds = ["update"]
        sql = f"SELECT {', '.join(items)} FROM ({scan.sql}) AS t WHERE {where}"
        if inserted:
            kinds.append("insert")
            sql += f" UNION ALL SELECT NULL, NULL, 1, NULL, * FROM ({inserted}) AS n"
        return collect_changes(self.tables.duck, sql, scan.variables, tasks=scan.plan.tasks, clauses=kinds, unique=True)

    def write(
        self,
        changes: RowChanges,
        properties: Mapping[str, str] | None = None,
        schema: Schema | None = None,
        whole: Sequence[FileTask] = (),
    ) -> ChangedFiles:
        table = self.tables.load(self.name)
        return write_changes(
            changes,
            whole=whole,
            table=table,
            schema=schema or table.metadata.schema,
            storage=self.tables.storage,
            mode=self.mode,
            properties=properties,
        )

    def commit(self, table: LoadedTable, files: ChangedFiles) -> None:
        delta = RowDelta(files.added, files.deletes, files.removed, files.removed_deletes)
        self.tables.commit(table, delta)

    def change(
        self,
        where: str,
        updated: Mapping[str, str] | None = None,
        inserted: str = "",
        properties: Mapping[str, str] | None = None,
    ) -> ChangedFiles:
        """Change rows and commit it."""
        table = self.tables.load(self.name)
        with self.collect(where, updated, inserted) as changes:
            files = self.write(changes, properties)
        self.commit(table, files)
        return files

    def read(self, columns: Sequence[str] | None = None, order: str = "ALL") -> list[tuple[Any, ...]]:
        """The rows of the table as it is now, in order; metadata columns too if named."""
        table = self.tables.load(self.name)
        names = scanned_names(table.metadata.schema)
        wanted = list(columns) if columns else [f.name for f in table.metadata.schema.fields]
        scan = build_scan(table, self.tables.storage, columns=frozenset(wanted))
        cursor = self.tables.duck.cursor()
        set_variables(cursor, scan.variables)
        items = ", ".join(identifier(names[c]) for c in wanted)
        rows = cursor.execute(f"SELECT {items} FROM ({scan.sql}) AS t ORDER BY {order}").fetchall()
        self.tables.duck.done(cursor)
        return rows
