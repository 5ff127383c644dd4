"""The default of a column as it is written in a statement."""

from __future__ import annotations

import re

from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    NestedField,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
)
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_text, spark_text

_TRAILING_ZEROS = re.compile(r"(?:\.0+|(\.\d*[1-9])0+)(?=\+|$)")
_CLOCKS = (TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)


def default_sql(field: NestedField, flavour: Flavour) -> str:
    """The value that rows to come have in a column which has such a default, as the flavour's grammar reads it."""
    json, spark = field.write_default, flavour is Flavour.SPARK
    if isinstance(field.type, _CLOCKS):
        json = _TRAILING_ZEROS.sub(r"\1", str(json).replace("T", " "))
    match field.type:
        case DateType():
            return f"DATE '{json}'"
        case TimeType():
            return f"TIME '{json}'"
        case TimestampType() | TimestampNsType():
            return f"{'TIMESTAMP_NTZ' if spark else 'TIMESTAMP'} '{json}'"
        case TimestamptzType() | TimestamptzNsType():
            return f"{'TIMESTAMP' if spark else 'TIMESTAMP_LTZ'} '{json}'"
        case BinaryType() | FixedType():
            return f"X'{json}'"
        case DecimalType():
            return str(json)
    if isinstance(json, bool):
        return "TRUE" if json else "FALSE"
    if isinstance(json, str):
        return (spark_text if spark else flink_text)(json)
    return str(json)
