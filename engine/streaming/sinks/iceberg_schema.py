"""The columns of a table that is changed while a job writes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.changelog import column
from bergsql.engine.table.projection import literal_sql

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField

POLICY = "engine.sink.schema-change"
"""The setting that says what a job does about such a change: ``follow`` what adds columns, or ``fail``."""
FOLLOW, FAIL = "follow", "fail"


def columns_for(planned: Schema, now: Schema, table: str, policy: str) -> list[str]:
    """SQL of the columns of ``now``, in order, over rows that were planned for the columns of another schema.

    A column that came gets its default, or NULL.

    :raises BergError: INVALID for a change that cannot be followed, or is not to be.
    """
    if planned.fields == now.fields:
        return [column(i) for i in range(len(now.fields))]
    places = {f.field_id: i for i, f in enumerate(planned.fields)}
    known = {f.field_id for f in now.fields}
    for f in planned.fields:
        if f.field_id not in known:
            raise _stopped(table, f"column '{f.name}' was dropped")
    items = []
    for f in now.fields:
        place = places.get(f.field_id)
        if place is not None:
            _check_kept(planned.fields[place], f, table)
            items.append(column(place))
            continue
        if f.required and f.write_default is None:
            raise _stopped(table, f"column '{f.name}' was added as NOT NULL")
        if policy == FAIL:
            raise _stopped(
                table,
                f"column '{f.name}' was added",
                f"With SET '{POLICY}' = '{FOLLOW}'; a job goes on where columns are added, which get NULL.",
            )
        items.append(literal_sql(f.type, f.write_default))
    return items


def check_key(planned: Schema, now: Schema, table: str) -> None:
    """Refuse another key than the one that changes were planned for."""
    if set(planned.identifier_field_ids) != set(now.identifier_field_ids):
        raise _stopped(table, "its key was changed")


def _check_kept(planned: NestedField, now: NestedField, table: str) -> None:
    if planned.name != now.name:
        raise _stopped(table, f"column '{planned.name}' was renamed to '{now.name}'")
    if planned.type != now.type:
        raise _stopped(table, f"the type of column '{now.name}' was changed from {planned.type} to {now.type}")
    if now.required and not planned.required:
        raise _stopped(table, f"column '{now.name}' became NOT NULL")


def _stopped(table: str, what: str, hint: str | None = None) -> BergError:
    message = f"Table {table} was changed under the job: {what}."
    return BergError(ErrorCode.INVALID, message, hint=hint or "Start the job anew, for the table as it is.")
