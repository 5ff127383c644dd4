"""``/*+ OPTIONS(…) */`` behind a table that is read or written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.relations import ConnectorRelation

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import Relation, Relations
    from bergsql.engine.sql.statements import Option, TableHint

READ_OPTIONS = (
    "snapshot-id as-of-timestamp case-sensitive starting-strategy start-snapshot-timestamp start-snapshot-id "
    "end-snapshot-id branch tag start-tag end-tag split-size split-lookback split-file-open-cost streaming "
    "monitor-interval include-column-stats max-planning-snapshot-count limit max-allowed-planning-failures "
    "watermark-column watermark-column-time-unit"
).split()
"""Flink's read options of an Iceberg table."""


WRITE_OPTIONS = (
    "write-format target-file-size-bytes upsert-enabled overwrite-enabled distribution-mode compression-codec "
    "compression-level compression-strategy write-parallelism uid-suffix shred-variants variant-inference-buffer-size "
    "range-distribution-statistics-type range-distribution-sort-key-base-weight"
).split()
"""Options that Flink's Iceberg sink knows."""

ENABLED = "table.dynamic-table-options.enabled"
"""The setting that allows hints."""


def check_read_hints(hints: Iterable[TableHint], relation: Relation, relations: Relations) -> None:
    """Refuse what a hint behind a table that is read asks for: known options come later, others are unknown.

    ``'streaming' = 'false'`` says what holds anyway.
    """
    for hint in hints:
        _check_enabled(hint.options, relations)
        if isinstance(relation, ConnectorRelation):
            continue  # its options are the connector's
        _refuse_unknown(hint.options, READ_OPTIONS, "a read option of an Iceberg table")
        for option in hint.options:
            if option.key != "streaming":
                raise not_supported(f"The read option '{option.key}'", option.span)
            if option.value.lower() == "true":
                raise not_supported("A streaming SELECT", option.span, "Without the hint the table is read once.")
            if option.value.lower() != "false":
                raise BergError(ErrorCode.OPTION, "'streaming' is 'true' or 'false'.", span=option.span)


def check_write_hints(options: Sequence[Option], relations: Relations) -> None:
    """Refuse what a hint behind the target of an INSERT asks for: known options come later, others are unknown."""
    _check_enabled(options, relations)
    _refuse_unknown(options, WRITE_OPTIONS, "a write option of an Iceberg table")
    for option in options:
        raise not_supported(f"The write option '{option.key}'", option.span)


def _check_enabled(options: Sequence[Option], relations: Relations) -> None:
    if options and relations.setting(ENABLED) == "false":
        raise BergError(
            ErrorCode.OPTION,
            f"OPTIONS hints are switched off by '{ENABLED}'.",
            span=options[0].span,
            hint=f"SET '{ENABLED}' = 'true'; allows them.",
        )


def _refuse_unknown(options: Sequence[Option], known: Sequence[str], what: str) -> None:
    for option in options:
        if option.key not in known:
            raise BergError(
                ErrorCode.OPTION,
                f"'{option.key}' is not {what}.",
                span=option.span,
                hint=did_you_mean(option.key, known),
            )
