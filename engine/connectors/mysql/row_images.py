"""What an event of the binlog tells of rows: all of their columns, or it is refused; and sets of transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode


def filled(row: Mapping[str, Any], part: str, sets: tuple[str, ...]) -> tuple[Any, ...]:
    """The values of a row. An empty SET is told as nothing, with the reason beside it."""
    values: dict[str, Any] = row[part]
    if sets:
        reasons = row[part.replace("values", "none_sources")]
        for name in sets:
            if values[name] is None and str(reasons.get(name, "")).casefold().endswith("empty set"):
                values[name] = set()
    return tuple(values.values())


def check_image(event: Any) -> None:
    """Refuse rows of which some columns are not told."""
    count = event.number_of_columns
    for bitmap in ("columns_present_bitmap", "columns_present_bitmap2"):
        found = getattr(event, bitmap, None)
        if found is not None and sum(byte.bit_count() for byte in found) < count:
            raise BergError(
                ErrorCode.CONFIG,
                f"The binlog holds only a part of the columns of {event.schema}.{event.table}.",
                hint="SET GLOBAL binlog_row_image = 'FULL'; and let sessions connect anew. Then start a new job.",
            )


def with_transaction(executed: str | None, gtid: str, *, is_mariadb: bool) -> str:
    """What was executed, with one transaction more."""
    if not is_mariadb:
        from pymysqlreplication.gtid import Gtid, GtidSet

        made = GtidSet(executed or "")
        made.merge_gtid(Gtid(gtid))
        return str(made)
    newest = {g.split("-")[0]: g for g in (executed or "").split(",") if g}
    newest[gtid.split("-")[0]] = gtid
    return ",".join(newest.values())
