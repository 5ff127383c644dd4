"""What an event of the binlog tells of rows: all of their columns, or it is refused; and sets of transactions."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.charsets import UNICODE, Charsets
from bergsql.engine.connectors.mysql.members import raw_members
from bergsql.engine.connectors.mysql.table_maps import expanded

_NO_CODEC: Final = "none of Python's"
"""What a column's encoding is called so that the library gives its bytes."""
_TIME: Final = 19
_SECOND: Final = timedelta(seconds=1)


class Image(NamedTuple):
    """How rows of a table are told.

    sets
        The members of each column that is a SET, in their order.
    fixes
        By a column's name, what makes a value right that the library gives.
    """

    columns: tuple[str, ...]
    sets: Mapping[str, tuple[str, ...]]
    fixes: Mapping[str, Callable[[Any], Any]]

    def filled(self, row: Mapping[str, Any], part: str) -> tuple[Any, ...]:
        """The values of a row."""
        values: dict[str, Any] = row[part]
        for name, fix in self.fixes.items():
            if values[name]:  # what is empty needs none, and the library takes it for a text of any encoding
                values[name] = fix(values[name])
        if self.sets:
            reasons = row[part.replace("values", "none_sources")]
            for name, members in self.sets.items():
                found = values[name]
                if found is not None:
                    values[name] = ",".join(m for m in members if m in found)
                elif str(reasons.get(name, "")).casefold().endswith("empty set"):
                    values[name] = ""
        return tuple(values.values())


def image_of(event: Any, charsets: Charsets, compressed: Container[int]) -> Image:
    """How the rows are told that come with a table's event, whose columns are made ready for it.

    :param compressed: which columns are COMPRESSED, by their places.
    :raises BergError: where the names of columns are not told, or their values cannot be read.
    """
    names = tuple(c.name for c in event.columns)
    if any(not name or name.startswith("UNKNOWN_COL") for name in names):
        raise BergError(
            ErrorCode.CONFIG,
            f"The binlog does not name the columns of {event.schema}.{event.table}.",
            hint="SET GLOBAL binlog_row_metadata = FULL; and let sessions connect anew.",
        )
    fixes: dict[str, Callable[[Any], Any]] = {}
    texts = iter(event.optional_metadata.charset_collation_list)
    for at, column in enumerate(event.columns):
        if event._is_character_column(column.type, dbms=event.dbms):
            charset = charsets.name(next(texts))
            if at in compressed:
                column.character_set_name = _NO_CODEC
                fixes[column.name] = expanded if charset == "binary" else _expanding(charsets.decode(charset))
            elif charset != "binary":
                column.character_set_name = UNICODE.get(charset, _NO_CODEC)
                if charset not in UNICODE:
                    fixes[column.name] = charsets.decode(charset)
        elif column.type == _TIME and column.fsp:
            fixes[column.name] = _time
    return Image(names, dict(_members(event, charsets)), fixes)


def _expanding(decode: Callable[[bytes], str]) -> Callable[[bytes], str]:
    return lambda octets: decode(expanded(octets))


def _members(event: Any, charsets: Charsets) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give columns of ENUM their members as texts; those of SET."""
    columns = [c for c in event.columns if c.enum_values or c.set_values]
    told = event.optional_metadata.enum_and_set_collation_list
    names = [charsets.name(number) for number in told] if columns else []
    raw = None
    if any(UNICODE.get(name) != "utf-8" for name in names):
        raw = raw_members(event.packet.packet.get_all_data())
    for column, charset in zip(columns, names, strict=True):
        if raw is not None and charset != "binary":
            part = raw.enums if column.enum_values else raw.sets
            decoded = [charsets.decode(charset)(octets) for octets in part.pop(0)]
            if column.enum_values:
                column.enum_values = ["", *decoded]
            else:
                column.set_values = decoded
        if column.set_values:
            yield column.name, tuple(column.set_values)


def _time(value: timedelta) -> timedelta:
    """A TIME. Below zero, the library takes its fraction of a second for what is missing to the next whole one."""
    part = -value % _SECOND
    return value if value >= timedelta() or not part else value - _SECOND + 2 * part


def check_image(event: Any) -> None:
    """Refuse rows of which some columns are not told, or parts of columns."""
    if type(event).__name__ == "PartialUpdateRowsEvent":
        raise BergError(
            ErrorCode.CONFIG,
            f"The binlog holds only what changed within JSON of {event.schema}.{event.table}.",
            hint="SET GLOBAL binlog_row_value_options = ''; and let sessions connect anew. Then start a new job.",
        )
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
