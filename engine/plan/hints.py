"""``/*+ OPTIONS(…) */`` behind a table that is written, and what hints behind any table have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.sql.statements import Option

WRITE_OPTIONS = (
    "write-format target-file-size-bytes upsert-enabled overwrite-enabled distribution-mode compression-codec "
    "compression-level compression-strategy write-parallelism uid-suffix shred-variants variant-inference-buffer-size "
    "range-distribution-statistics-type range-distribution-sort-key-base-weight"
).split()
"""Options that Flink's Iceberg sink knows."""

ENABLED = "table.dynamic-table-options.enabled"
"""The setting that allows hints."""


UPSERT_OPTION = "upsert-enabled"
_OVERWRITE_OPTION = "overwrite-enabled"
_SWITCHES = (UPSERT_OPTION, _OVERWRITE_OPTION)
"""Write options that say what an INSERT does."""


class InsertHints(NamedTuple):
    """What a hint behind the target of an INSERT asks for; a switch is None where nothing is said."""

    properties: Mapping[str, str]
    upsert: Option | None = None
    overwrite: Option | None = None

    @property
    def upserts(self) -> bool | None:
        return None if self.upsert is None else self.upsert.value.lower() == "true"

    @property
    def overwrites(self) -> bool | None:
        return None if self.overwrite is None else self.overwrite.value.lower() == "true"


def insert_hints(options: Sequence[Option], metadata: TableMetadata, relations: Relations) -> InsertHints:
    """What a hint asks of an INSERT. Raises as :func:`write_properties` does."""
    switches = {o.key: o for o in options if o.key in _SWITCHES}
    check_enabled(options, relations)
    for option in switches.values():
        if option.value.lower() not in ("true", "false"):
            message = f"The write option '{option.key}' is true or false, not '{option.value}'."
            raise BergError(ErrorCode.OPTION, message, span=option.span)
    properties = write_properties([o for o in options if o.key not in _SWITCHES], metadata, relations)
    return InsertHints(properties, switches.get(UPSERT_OPTION), switches.get(_OVERWRITE_OPTION))


def write_properties(options: Sequence[Option], metadata: TableMetadata, relations: Relations) -> dict[str, str]:
    """What a hint behind a table that is written asks for, as properties that go before the table's own.

    :raises BergError: at the option, for one that is unknown, comes later or has a wrong value.
    """
    check_enabled(options, relations)
    refuse_unknown(options, WRITE_OPTIONS, "a write option of an Iceberg table")
    given = {o.key: o.value for o in options}
    file_format = given.get("write-format", metadata.properties.get("write.format.default", "parquet")).lower()
    found: dict[str, str] = {}
    for option in options:
        if option.key in _SWITCHES:
            message = f"The write option '{option.key}' says what an INSERT does."
            raise BergError(ErrorCode.OPTION, message, span=option.span, hint="Leave it out.")
        key = _PROPERTIES.get(option.key)
        if key is None or (option.key == "compression-strategy" and file_format != "orc"):
            raise not_supported(f"The write option '{option.key}'", option.span)
        key = key.format(file_format)
        found[key] = option.value
        if option.key != "write-format" and file_format not in ("parquet", "avro", "orc"):
            continue  # that is the fault
        _check_property(option, key, {**metadata.properties, **found}, metadata.location)
    return found


_PROPERTIES = {
    "write-format": "write.format.default",
    "target-file-size-bytes": "write.target-file-size-bytes",
    "distribution-mode": "write.distribution-mode",
    "compression-codec": "write.{}.compression-codec",
    "compression-level": "write.{}.compression-level",
    "compression-strategy": "write.{}.compression-strategy",
}
"""The write options that stand for a property of the table; ``{}`` is the format."""


def _check_property(option: Option, key: str, properties: Mapping[str, str], location: str) -> None:
    from bergsql.engine.table.properties import PropertyError, WriteProperties

    try:
        WriteProperties.of(properties, location)
    except PropertyError as error:
        if error.key != key:
            return  # about another one, which is looked at in its turn, or the table's own
        message = error.message.replace(f"The table property '{key}'", f"The write option '{option.key}'")
        raise BergError(error.code, message, span=option.span, hint=error.near) from None


def check_enabled(options: Sequence[Option], relations: Relations) -> None:
    """Refuse OPTIONS where the session has them switched off."""
    if options and relations.setting(ENABLED) == "false":
        raise BergError(
            ErrorCode.OPTION,
            f"OPTIONS hints are switched off by '{ENABLED}'.",
            span=options[0].span,
            hint=f"SET '{ENABLED}' = 'true'; allows them.",
        )


def refuse_unknown(options: Sequence[Option], known: Sequence[str], what: str) -> None:
    """Refuse a key that is not among ``known``, which are ``what``; the nearest is the hint."""
    for option in options:
        if option.key not in known:
            raise BergError(
                ErrorCode.OPTION,
                f"'{option.key}' is not {what}.",
                span=option.span,
                hint=did_you_mean(option.key, known),
            )
