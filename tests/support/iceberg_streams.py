"""Streams over Iceberg tables without a job: a reader that is polled, and what a runtime gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.changes import RemoveSnapshots, SetSnapshotRef, TableUpdate
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.engine.duck import Duck
from bergsql.engine.plan.relations import IcebergRelation
from bergsql.engine.relations import SessionRelations
from bergsql.engine.streaming.sources.base import Json, Reader
from bergsql.engine.streaming.sources.iceberg import iceberg_source
from bergsql.engine.streaming.sources.iceberg.source import IcebergSource
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.producer import Operation

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.catalog.base import Catalog, LoadedTable
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.session import Session


@dataclass
class Standpoint:
    """What planning asks of a session, with nothing but settings."""

    settings: dict[str, str] = field(default_factory=dict)

    def setting(self, key: str) -> str | None:
        return self.settings.get(key)


@dataclass
class Reading:
    """A :class:`ReaderContext` on a cursor of its own."""

    duck: Duck
    max_rows: int = 1_000_000
    max_bytes: int = 1 << 30
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cursor: duckdb.DuckDBPyConnection = self.duck.cursor()

    def relation(self, rows: pa.Table) -> str:
        self.cursor.register("rows_of_a_test", rows)
        return "rows_of_a_test"

    def note(self, message: str) -> None:
        self.notes.append(message)


OPTIONS = {"streaming": "true", "monitor-interval": "0 ms"}


def planned(
    session: Session, options: Mapping[str, str] | None = None, *, name: str = "t", **how: Any
) -> IcebergSource:
    """The source of a table, read as a stream that looks at the table at each poll."""
    relations = SessionRelations(session)
    relation = relations.resolve(tuple(name.split(".")), None)
    assert isinstance(relation, IcebergRelation)
    return iceberg_source(relation, {**OPTIONS, **(options or {})}, relations, **how)


def metadata_of(session: Session, name: str = "t") -> TableMetadata:
    """The table as it is now."""
    return _target(session, name)[1].metadata


def change(session: Session, *updates: TableUpdate, name: str = "t") -> None:
    """Commit changes of metadata as they are: what CALL does elsewhere."""
    catalog, table = _target(session, name)
    catalog.commit(table, updates)


def expire(session: Session, *snapshot_ids: int, name: str = "t") -> None:
    """Forget snapshots; their files stay."""
    change(session, RemoveSnapshots(snapshot_ids), name=name)


def roll_back(session: Session, snapshot_id: int, branch: str = "main", name: str = "t") -> None:
    change(session, SetSnapshotRef(branch, SnapshotRef(snapshot_id)), name=name)


@dataclass(frozen=True)
class _Rewrite(Append):
    @property
    def operation(self) -> Operation:
        return Operation.REPLACE


def rewrite_nothing(session: Session, name: str = "t") -> None:
    """A snapshot of 'replace'."""
    catalog, table = _target(session, name)
    commit_snapshot(catalog, table, _Rewrite(), catalog.storage())


def snapshot_ids(session: Session, name: str = "t") -> list[int]:
    """The snapshots of the table, oldest first."""
    return [s.snapshot_id for s in metadata_of(session, name).snapshots]


def _target(session: Session, name: str) -> tuple[Catalog, LoadedTable]:
    relation = SessionRelations(session).resolve(tuple(name.split(".")), None)
    assert isinstance(relation, IcebergRelation)
    assert relation.catalog is not None
    return relation.catalog, relation.table


class Stream:
    """A reader at work."""

    def __init__(self, source: IcebergSource, duck: Duck, offset: Json = None, **limits: Any) -> None:
        self.source = source
        self.context = Reading(duck, **limits)
        self.reader: Reader = source.reader(self.context, offset)

    def poll(self) -> list[tuple[Any, ...]] | None:
        """The rows of the next batch, each with its kind behind it."""
        batch = self.reader.poll()
        if batch is None:
            return None
        cursor = self.context.cursor.execute(f"SELECT * FROM ({batch.sql})")
        assert [d[0] for d in cursor.description or ()] == [f"c{i}" for i in range(len(self.source.columns))] + ["op"]
        return cursor.fetchall()

    def batches(self) -> list[list[tuple[Any, ...]]]:
        """All batches that are there now."""
        found = []
        for _ in range(10_000):
            rows = self.poll()
            if rows is not None:
                found.append(rows)
            elif self.reader.finished or self.reader.wait > 0 or self.reader.lag == 0:
                return found
        raise AssertionError("the stream does not come to an end")

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows of all batches that are there now, of insertions only and without their kind."""
        found = [row for batch in self.batches() for row in batch]
        assert all(row[-1] == 0 for row in found)
        return [row[:-1] for row in found]


def fold(rows: Counter[str], changes: Iterable[tuple[str, int]]) -> None:
    """Carry out changes on rows; one that goes must be there."""
    for row, op in changes:
        if op in (0, 2):
            rows[row] += 1
        else:
            assert rows[row] > 0, (row, rows)
            rows[row] -= 1
