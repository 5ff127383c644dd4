"""What a statement that changes rows tells of what it did, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.engine.table.commit import Committed
    from bergsql.engine.table.row_rewrite import ChangedFiles
    from bergsql.engine.table.upsert import Upserted
    from bergsql.engine.table.writer import Written

DONE = "Complete execution of the SQL update statement."
NOTHING = "No rows: nothing was committed."

KINDS = ("update", "delete", "insert")
"""What may happen to rows, in the order in which it is told."""
VERBS = {"update": "updated", "delete": "deleted", "insert": "inserted"}


def insert_outcome(written: Written, committed: Committed, place: str = "") -> str:
    """What an INSERT did; ``place``: where its snapshot is, if not on the main branch."""
    summary = committed.snapshot.summary
    parts = [f"{counted(written.rows, 'row')} written in {counted(len(written.files), 'file')}"]
    removed = _removed(committed)
    if removed:
        parts.append(removed)
    partitions = summary.get("changed-partition-count")
    if partitions and committed.table.metadata.spec.fields:
        parts.append(f"{counted(partitions, 'partition')} changed")
    return ", ".join(parts) + _snapshot(committed, place)


def upsert_outcome(written: Upserted, key: str, committed: Committed, place: str = "") -> str:
    """What an upsert did. How many rows it took the place of, nobody knows: it looks none up."""
    parts = [
        f"{counted(written.rows, 'row')} upserted by key ({key})",
        f"{counted(len(written.files), 'data file')} and {counted(len(written.deletes), 'delete file')} added",
    ]
    if written.left_out:
        parts.insert(1, f"{counted(written.left_out, 'row')} left out for later ones of the same keys")
    return ", ".join(parts) + _snapshot(committed, place)


def truncate_outcome(committed: Committed, place: str = "") -> str:
    """What TRUNCATE TABLE did."""
    return (_removed(committed) or "The table was empty") + _snapshot(committed, place)


def _removed(committed: Committed) -> str:
    """The rows and files that a snapshot took away; empty where it took none.

    How many rows is told where no delete file may have taken some before.
    """
    summary = committed.snapshot.summary
    files, deletes = (summary.get(key, "0") for key in ("deleted-data-files", "removed-delete-files"))
    if deletes != "0":
        kinds = ((files, "file"), (deletes, "delete file"))
        return " and ".join(counted(n, what) for n, what in kinds if n != "0") + " removed"
    if files == "0":
        return ""
    if summary.get("total-delete-files", "0") != "0":
        return f"{counted(files, 'file')} removed"
    return f"{counted(summary.get('deleted-records', '0'), 'row')} removed with {counted(files, 'file')}"


def change_outcome(
    rows: Mapping[str, int],
    whole: str,
    files: ChangedFiles,
    committed: Committed,
    place: str = "",
    evolution: str = "",
) -> str:
    """What a DELETE, UPDATE or MERGE did: ``rows`` by ``update``, ``delete`` and ``insert``, those that the statement
    may have changed. ``whole`` is told of rows that are not counted, ``evolution`` of the schema."""
    told = [f"{counted(number, 'row')} {VERBS[kind]}" for kind, number in rows.items()]
    if whole:
        told = [*(t for t in told if not t.startswith("0 ")), whole]
    lists = (
        (files.added, "data file", "added"),
        (files.removed, "data file", "removed"),
        (files.deletes, "delete file", "added"),
        (files.removed_deletes, "delete file", "removed"),
    )
    changed = [f"{counted(len(which), what)} {verb}" for which, what, verb in lists if which]
    return "; ".join(filter(None, (", ".join(told), ", ".join(changed), evolution))) + _snapshot(committed, place)


def _snapshot(committed: Committed, place: str) -> str:
    return f"; snapshot {committed.snapshot.snapshot_id}{place}."


def counted(number: int | str, what: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number} {what if str(number) == '1' else what + 's'}"
