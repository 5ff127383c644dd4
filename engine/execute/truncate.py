"""TRUNCATE TABLE: all files go, none is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.engine.execute.destination import Target, destination
from bergsql.engine.execute.outcome import DONE, NOTHING, counted, truncate_outcome
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.datafile import ManifestContent
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.overwrite import Truncate

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.table.datafile import ManifestFile


def truncate(session: Session, statement: st.Truncate) -> Result:
    """Empty a table, or a branch of it. An empty one gets a snapshot too in spark, as there."""
    target = destination(session, statement.target)
    name, table = target.name, target.table
    name.catalog.check_writable(table)
    if session.flavour is Flavour.FLINK and not _live(target, statement):
        return Result(ResultKind.DML, messages=(DONE, NOTHING))
    producer = Truncate(properties=target.summary)
    committed = commit_snapshot(name.catalog, table, producer, name.catalog.storage(), to=target.to)
    return Result(ResultKind.DML, messages=(DONE, truncate_outcome(committed, target.place)))


def planned_truncate(session: Session, statement: st.Truncate) -> list[str]:
    """What TRUNCATE would do, as lines of EXPLAIN."""
    target = destination(session, statement.target)
    manifests = _live(target, statement)
    files, deletes = (sum(m.live_files for m in manifests if m.content == content) for content in (0, 1))
    lines = [f"Truncate {target.name}{target.place}", f"  data files that go: {files}{_rows(manifests)}"]
    return [*lines, f"  delete files that go: {deletes}"] if deletes else lines


def _rows(manifests: list[ManifestFile]) -> str:
    """How many rows the data files hold, those that are deleted too; nothing where a manifest list does not say it."""
    counts = [(m.existing_rows_count, m.added_rows_count) for m in manifests if m.content == ManifestContent.DATA]
    rows = [n for pair in counts for n in pair if n is not None]
    return f" ({counted(sum(rows), 'row')})" if rows and len(rows) == 2 * len(counts) else ""


def _live(target: Target, statement: st.Truncate) -> list[ManifestFile]:
    """The manifests of what the table holds."""
    metadata = target.table.metadata
    head = target.to.head(metadata)
    if head is None:
        return []
    try:
        listed = read_manifest_list(target.name.catalog.storage(), head, metadata)
    except BergError as error:
        raise error.at(statement.target.span) from None
    return [m for m in listed if m.has_live_files]
