"""What is looked at and made on the server before reading begins, anew or from an offset."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.changes import Cursor
from bergsql.engine.connectors.postgres.client import telling
from bergsql.engine.connectors.postgres.handover import Progress
from bergsql.engine.connectors.postgres.options import COMMITTED, INITIAL, LATEST, SNAPSHOT
from bergsql.engine.connectors.postgres.slots import check_place, log_end, ready_publication, ready_slot, slot
from bergsql.engine.connectors.postgres.tables import (
    StoredTable,
    Types,
    check_logged,
    check_tables,
    matching,
    named,
)

if TYPE_CHECKING:
    from psycopg import Connection

    from bergsql.engine.connectors.postgres.source import PostgresSource

_PATIENCE: Final = 3.0
"""Seconds in which the server may find out that who read a slot before is gone."""
_PAUSE: Final = 0.1


class Start(NamedTuple):
    """``progress``: of the snapshot, None where there is none, or where nothing of it is needed any more. ``cursor``:
    where the log is read on, None before the snapshot is read to its end."""

    tables: Mapping[int, StoredTable]
    progress: Progress | None
    cursor: Cursor | None


def tables_of(source: PostgresSource, connection: Connection[Any], types: Types) -> dict[int, StoredTable]:
    """The tables that a new job reads.

    :raises BergError: where they cannot be, as they are declared.
    """
    settings = source.settings
    with telling(settings):
        found = matching(connection, settings, types)
    check_tables(found, settings, source.texts.stored)
    for table in found:
        source.texts.conversions(table.columns, table.full_name)
        if not source.bounded:
            check_logged(table, settings, source.texts.stored, source.key_names)
    return {t.id: t for t in found}


def begin(source: PostgresSource, connection: Connection[Any], types: Types, note: Callable[[str], None]) -> Start:
    """Where a new job starts. It makes the slot, which outlives it: ``note`` is told so.

    :raises BergError: where it cannot.
    """
    settings = source.settings
    tables = tables_of(source, connection, types)
    progress = Progress(dict.fromkeys(tables, ()))
    if settings.startup == SNAPSHOT:
        return Start(tables, progress, None)
    if settings.startup == COMMITTED:
        position = _patiently(lambda: ready_slot(connection, settings, make=False))
        ready_publication(connection, settings, list(tables.values()), behind=True)
        return Start(tables, None, Cursor(position))
    # The publication first: changes from before it was made, or held a table, cannot be read.
    ready_publication(connection, settings, list(tables.values()))
    is_new = slot(connection, settings) is None
    _patiently(lambda: ready_slot(connection, settings, make=True))
    if is_new:
        note(
            f"The replication slot '{settings.slot}' of {settings.place} was made. The server keeps its log for it: "
            f"when nobody reads it any more, SELECT pg_drop_replication_slot('{settings.slot}'); there."
        )
    if settings.startup == INITIAL:
        return Start(tables, progress, None)
    assert settings.startup == LATEST
    with telling(settings):
        return Start(tables, None, Cursor(log_end(connection)))


def go_on(
    source: PostgresSource, connection: Connection[Any], types: Types, offset: Any, note: Callable[[str], None]
) -> Start:
    """Where a job goes on.

    :raises BergError: where it cannot.
    """
    settings = source.settings
    ids = [int(i) for i in offset["tables"]]
    with telling(settings):
        found = {t.id: t for t in named(connection, ids, types)}
        others = [t.full_name for t in matching(connection, settings, types) if t.id not in ids]
    if missing := [name for id_, name in zip(ids, offset["names"], strict=True) if id_ not in found]:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"{missing[0]} of {settings.place}, which the job reads, is not there any more.",
            hint="A table that was dropped and made again is another one: start a new job.",
        )
    if others:
        note(
            f"{', '.join(others)} of {settings.place} was not there when the job began, and is not read. A new job "
            "reads it."
        )
    progress = Progress.of(offset["snapshot"]) if offset.get("snapshot") is not None else None
    cursor = Cursor(*offset["log"]) if offset.get("log") is not None else None
    if not source.bounded:
        ready_publication(connection, settings, list(found.values()), behind=True)
        confirmed = _patiently(lambda: ready_slot(connection, settings, make=False))
        place = cursor.position if cursor is not None else progress.lowest if progress is not None else None
        if place is not None:
            with telling(settings):
                check_place(connection, settings, place, confirmed)
    return Start({i: found[i] for i in ids}, progress, cursor)


def _patiently(ready: Callable[[], int]) -> int:
    """Wait a moment for a slot that somebody reads: it may be our own reader of before, killed just now."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return ready()
        except BergError as error:
            if error.code is not ErrorCode.CONNECTION or time.monotonic() > end:
                raise
        time.sleep(_PAUSE)
