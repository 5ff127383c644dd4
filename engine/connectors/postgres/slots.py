"""Publications, slots and snapshots on the server.

What is exact about them (PostgreSQL's "Logical Decoding Concepts"): a slot streams the transactions whose commit stands
in the log at or behind its consistent point, and the snapshot that its making exports sees those that committed before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.client import (
    connect,
    lost_changes,
    of_slot,
    rows,
    shut,
    telling,
)
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    from psycopg import Connection

    from bergsql.engine.connectors.postgres.options import Settings
    from bergsql.engine.connectors.postgres.tables import StoredTable


def lsn_of(text: str) -> int:
    """A position in the log from its text, ``16/B374D848``."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


class Slot(NamedTuple):
    """A slot as it stands; ``confirmed`` is what its reader said it has."""

    plugin: str
    database: str
    active_pid: int | None
    confirmed: int | None
    wal_status: str | None


def slot(connection: Connection[Any], settings: Settings) -> Slot | None:
    """The slot, None where it is not there."""
    found = rows(
        connection,
        "SELECT plugin, database, active_pid, confirmed_flush_lsn::text, to_jsonb(s) ->> 'wal_status' "  # not in 12
        "FROM pg_replication_slots AS s WHERE slot_name = %s",
        [settings.slot],
    )
    if not found:
        return None
    plugin, database, pid, confirmed, status = found[0]
    return Slot(plugin, database, pid, lsn_of(confirmed) if confirmed else None, status)


def ready_slot(connection: Connection[Any], settings: Settings, *, make: bool) -> int:
    """Where the slot is, which can be read: it is made if it is missing and ``make`` says so.

    :raises BergError: where it cannot be.
    """
    found = slot(connection, settings)
    what = f"The replication slot '{settings.slot}' of {settings.place}"
    if found is None:
        if not make:
            raise lost_changes(f"{what} is not there.")
        with telling(settings):
            ((position,),) = rows(
                connection, "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')", [settings.slot]
            )
        return lsn_of(position)
    if found.plugin != "pgoutput" or found.database != settings.database:
        raise BergError(
            ErrorCode.INVALID,
            f"{what} is one of plugin '{found.plugin}' and database '{found.database}'.",
            hint="Name another 'slot.name': it is made.",
        )
    if found.active_pid is not None:
        error = of_slot(f"it is active for PID {found.active_pid}", settings)
        assert error is not None
        raise error
    if found.wal_status == "lost" or found.confirmed is None:
        raise lost_changes(f"{what} no longer holds the changes that come next: it was invalidated.")
    return found.confirmed


def check_place(connection: Connection[Any], settings: Settings, place: int, confirmed: int) -> None:
    """Refuse to go on from ``place`` where the log between it and where the slot is (``confirmed``) cannot be read.

    The server would go on from where the slot is, and say nothing. No slot is past a checkpoint that is still the last
    one: up to there it moves, and no further. So one that is past it followed later checkpoints, or was made again.

    :raises BergError: INVALID.
    """
    if confirmed > place:
        raise lost_changes(
            f"The replication slot '{settings.slot}' of {settings.place} is past the place where the job goes on: it "
            "followed a later checkpoint, or was made again."
        )
    if log_end(connection) < place:
        raise lost_changes(
            f"The log of {settings.place} ends before the place where the job goes on: the server is another one, or "
            "was set back."
        )


def ready_publication(
    connection: Connection[Any], settings: Settings, tables: Sequence[StoredTable], *, behind: bool = False
) -> None:
    """See to it that the publication holds the tables.

    :param behind: whether what is read was written before now: it must hold them already, or changes are gone.

    :raises BergError: where it does not, and may not be changed.
    """
    name, what = identifier(settings.publication), f"The publication '{settings.publication}' of {settings.place}"
    ids = [t.id for t in tables]
    with telling(settings):
        found = rows(
            connection,
            "SELECT puballtables, pubinsert AND pubupdate AND pubdelete AND pubtruncate FROM pg_publication "
            "WHERE pubname = %s",
            [settings.publication],
        )
        missing = _not_held(connection, settings, tables)
        _check_filters(connection, settings, ids)
        if behind and missing:
            raise lost_changes(f"{what} does not hold {missing[0].full_name}, changes of which come next.")
        listed = ", ".join(f"{identifier(t.schema)}.{identifier(t.name)}" for t in missing)
        if not found and settings.autocreate != "disabled":
            of = "FOR ALL TABLES" if settings.autocreate == "all_tables" else f"FOR TABLE {listed}"
            rows(connection, f"CREATE PUBLICATION {name} {of}")
            return
        if found and not found[0][1]:
            raise BergError(
                ErrorCode.INVALID,
                f"{what} leaves changes out.",
                hint=f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate');",
            )
        if found and missing and settings.autocreate == "filtered":
            rows(connection, f"ALTER PUBLICATION {name} ADD TABLE {listed}")
            if not _not_held(connection, settings, missing):
                return
            raise BergError(
                ErrorCode.INVALID,
                f"{what} tells changes of {missing[0].full_name} as those of the table that it is a partition of.",
                hint=f"ALTER PUBLICATION {name} SET (publish_via_partition_root = false); or name another one by "
                "'debezium.publication.name'.",
            )
    if not found:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"{what} is not there.",
            hint=f"CREATE PUBLICATION {name} FOR TABLE {listed}; makes it, or "
            "'debezium.publication.autocreate.mode' = 'filtered' does.",
        )
    if missing:
        raise BergError(
            ErrorCode.INVALID,
            f"{what} does not hold {missing[0].full_name}.",
            hint=f"ALTER PUBLICATION {name} ADD TABLE {listed};",
        )


def _not_held(connection: Connection[Any], settings: Settings, tables: Sequence[StoredTable]) -> list[StoredTable]:
    """The tables of which the publication tells no changes."""
    held = rows(
        connection,
        "SELECT c.oid::bigint FROM pg_publication_tables p JOIN pg_namespace n ON n.nspname = p.schemaname "
        "JOIN pg_class c ON c.relname = p.tablename AND c.relnamespace = n.oid WHERE p.pubname = %s",
        [settings.publication],
    )
    return [t for t in tables if (t.id,) not in held]


def _check_filters(connection: Connection[Any], settings: Settings, ids: Sequence[int]) -> None:
    """Refuse a publication that holds only some rows of a table (PostgreSQL 15 and later)."""
    if connection.info.server_version < 150000:
        return
    filtered = rows(
        connection,
        "SELECT r.prrelid::regclass::text FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid "
        "WHERE p.pubname = %s AND r.prrelid::bigint = ANY(%s::bigint[]) AND r.prqual IS NOT NULL",
        [settings.publication, list(ids)],
    )
    if filtered:
        raise BergError(
            ErrorCode.INVALID,
            f"The publication '{settings.publication}' of {settings.place} holds only some rows of {filtered[0][0]}.",
            hint="Name another one by 'debezium.publication.name': a snapshot takes all rows.",
        )


def log_end(connection: Connection[Any]) -> int:
    """Behind all that has committed and lasts: what commits from now on stands at or behind it.

    Not where the next record goes: what is not on disk is gone when the server is killed, and its place taken again.
    """
    at = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END"
    ((text,),) = rows(connection, f"SELECT ({at})::text")
    return lsn_of(text)


class SnapshotView(NamedTuple):
    """A connection that sees the rows as of a position: of what committed before it, all, and nothing else."""

    connection: Connection[Any]
    position: int


def snapshot_view(settings: Settings) -> SnapshotView:
    """A new one, by a slot that is there only for the moment. It waits for transactions that are open now.

    :raises BergError: where it cannot be had.
    """
    maker = connect(settings, replication=True)
    reader: Connection[Any] | None = None
    try:
        with telling(settings):
            name = identifier(f"{settings.slot[:40]}_{maker.info.backend_pid}")
            made = rows(maker, f"CREATE_REPLICATION_SLOT {name} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT")
            ((_, position, exported, _),) = made
            reader = connect(settings)
            rows(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            rows(reader, "SET TRANSACTION SNAPSHOT %s", [exported])
    except BaseException:
        shut(reader)
        raise
    finally:
        shut(maker)
    return SnapshotView(reader, lsn_of(position))


def plain_view(settings: Settings) -> SnapshotView:
    """One that no changes follow: it needs no slot, and has no position."""
    reader = connect(settings)
    with telling(settings):
        rows(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        rows(reader, "SELECT 1")
    return SnapshotView(reader, 0)
