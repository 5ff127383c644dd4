"""``/*+ OPTIONS(…) */`` behind a table that is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.relations import ConnectorRelation

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import Relation
    from bergsql.engine.sql.statements import TableHint

READ_OPTIONS = (
    "snapshot-id as-of-timestamp case-sensitive starting-strategy start-snapshot-timestamp start-snapshot-id "
    "end-snapshot-id branch tag start-tag end-tag split-size split-lookback split-file-open-cost streaming "
    "monitor-interval include-column-stats max-planning-snapshot-count limit max-allowed-planning-failures "
    "watermark-column watermark-column-time-unit"
).split()
"""Flink's read options of an Iceberg table."""


def check_hints(hints: Iterable[TableHint], relation: Relation) -> None:
    """Refuse what a hint asks for: known options come later, others are unknown.

    ``'streaming' = 'false'`` says what holds anyway.
    """
    if isinstance(relation, ConnectorRelation):
        return  # its options are the connector's
    for hint in hints:
        options = {o.key: o for o in hint.options}
        for option in hint.options:
            if option.key not in READ_OPTIONS:
                raise BergError(
                    ErrorCode.OPTION,
                    f"'{option.key}' is not a read option of an Iceberg table.",
                    span=option.span,
                    hint=did_you_mean(option.key, READ_OPTIONS),
                )
        streaming = options.pop("streaming", None)
        if streaming is not None and streaming.value.lower() == "true":
            raise not_supported("A streaming SELECT", streaming.span, "Without the hint the table is read once.")
        if streaming is not None and streaming.value.lower() != "false":
            raise BergError(ErrorCode.OPTION, "'streaming' is 'true' or 'false'.", span=streaming.span)
        for option in options.values():
            raise not_supported(f"The read option '{option.key}'", option.span)
