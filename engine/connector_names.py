"""The connectors that there are, or are to be: the names that ``'connector'='…'`` may have."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported

CONNECTORS = (
    "blackhole",
    "datagen",
    "filesystem",
    "iceberg",
    "jdbc",
    "kafka",
    "mysql-cdc",
    "postgres-cdc",
    "print",
    "upsert-kafka",
    "values",
)


def unread(form: str, connector: str, span: Span | None) -> BergError:
    """The error for the use of a connector's table: ``form`` is not there yet, or there is no such connector."""
    if connector in CONNECTORS:
        return not_supported(form, span)
    hint = did_you_mean(connector, CONNECTORS) or f"Connectors: {', '.join(CONNECTORS)}."
    return BergError(ErrorCode.NOT_FOUND, f"There is no connector '{connector}'.", span=span, hint=hint)
