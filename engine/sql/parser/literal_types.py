"""The type that a literal says it has: ``DATE '…'``, ``TIMESTAMP '…'``, Spark's ``1L`` and ``1.5BD``."""

from __future__ import annotations

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import DataType, Kind

LITERAL_TYPES = {
    "DATE": Kind.DATE,
    "TIME": Kind.TIME,
    "TIMESTAMP": Kind.TIMESTAMP,
    "TIMESTAMP_NTZ": Kind.TIMESTAMP,
    "TIMESTAMP_LTZ": Kind.TIMESTAMP_LTZ,
}
"""The words that make a literal of the string behind them; TIMESTAMP is flink's meaning here."""

_SUFFIXES = {
    "L": Kind.BIGINT,
    "S": Kind.SMALLINT,
    "Y": Kind.TINYINT,
    "D": Kind.DOUBLE,
    "F": Kind.FLOAT,
}


def literal_type(word: str, text: str, flavour: Flavour) -> DataType:
    """The type of ``word 'text'``: in flink its precision is the number of fraction digits written."""
    kind = LITERAL_TYPES[word]
    if kind is Kind.DATE:
        return DataType(kind)
    if flavour is Flavour.SPARK and kind is not Kind.TIME:
        return DataType(Kind.TIMESTAMP_LTZ if word == "TIMESTAMP" else kind, 6)
    _, _, fraction = text.partition(".")
    return DataType(kind, min(9, len(fraction) - len(fraction.lstrip("0123456789"))))


def number_type(digits: str, suffix: str) -> DataType:
    """The type of a number with one of Spark's suffixes."""
    if suffix != "BD":
        return DataType(_SUFFIXES[suffix])
    from decimal import Decimal

    _, figures, exponent = Decimal(digits).as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(figures) + max(0, int(exponent)), scale)
    return DataType(Kind.DECIMAL, min(precision, 38), min(scale, 38))
