"""DEFAULT of a column: a constant expression, kept in the schema as a JSON single value (spec, "Default values")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.exact import decimal_of, unscaled_decimal
from bergsql.catalog.metadata.java_floats import float_text
from bergsql.catalog.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    UnknownType,
    VariantType,
)
from bergsql.catalog.metadata.value_json import value_to_json
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.execute.constants import constants
from bergsql.engine.plan.casts import cast_hint
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.store_assignment import assign, can_assign
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import flink_name, from_iceberg, spark_name

if TYPE_CHECKING:
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st

_NULL_ONLY = (UnknownType, VariantType, GeometryType, GeographyType)
_CHANGING = frozenset(
    "rand random rand_integer uuid now current_date current_time current_timestamp current_row_timestamp curdate "
    "localtime localtimestamp proctime unix_timestamp current_user session_user user current_catalog current_database "
    "current_schema current_watermark current_timezone".split()
)
"""Functions whose value is another one at another time, or for another person."""


def default_of(
    session: Session, expression: st.Expression, type_: IcebergType, format_version: int, column: str
) -> Any:
    """The JSON of the value that DEFAULT gives a column of ``type_``; None for NULL.

    :raises BergError: INVALID before format version 3, and for what is not constant; TYPE when the value is of a type
        that could not be stored in the column.
    """
    if format_version < 3:
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{column}': a DEFAULT needs a table of format version 3, this one has {format_version}.",
            span=expression.span,
            hint="'format-version'='3' among the table's properties makes or keeps it one.",
        )
    try:
        return _folded(session, expression, type_, column)
    except BergError as error:
        raise error.at(expression.span) from None


def _folded(session: Session, expression: st.Expression, type_: IcebergType, column: str) -> Any:
    context, bound = _bound(session, expression)
    if bound.is_null:
        return None
    if not type_.is_primitive or isinstance(type_, _NULL_ONLY):
        raise BergError(
            ErrorCode.INVALID, f"Column '{column}' of type {type_} can have no DEFAULT but NULL.", span=expression.span
        )
    target = from_iceberg(type_)
    if not can_assign(bound.type, target, session.flavour):
        name = spark_name if session.flavour is Flavour.SPARK else flink_name
        raise BergError(
            ErrorCode.TYPE,
            f"The DEFAULT of column '{column}' is {name(bound.type)}, the column is {name(target)}.",
            span=expression.span,
            hint=cast_hint(bound.type, target, context),
        )
    (value,) = constants(session, [_counted(assign(bound.sql, bound.type, target, context), type_)])
    return _json(value, type_, column)


def _bound(session: Session, expression: st.Expression) -> tuple[Context, Bound]:
    """The expression as SQL, refused where it is not constant."""
    relations = SessionRelations(session)
    planner = Planner(relations)
    context = Context(planner, Scope(session.flavour), "a DEFAULT", aggregates_allowed=False, windows_allowed=False)
    changing = next((n for n in map(_called, expression.ast.walk()) if n in _CHANGING), None)
    if changing is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"A DEFAULT is a constant: {changing}() would be another value for each statement.",
            span=expression.span,
        )
    if expression.ast.find(exp.Query) is not None:
        raise BergError(ErrorCode.INVALID, "A DEFAULT is a constant: it holds no query.", span=expression.span)
    return context, bind(expression.ast, context)


def _called(node: Any) -> str:
    """The name of the function that a node calls; empty for all others."""
    kind = type(node).__name__
    if kind == "Anonymous":
        return str(node.this).lower()
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(kind))


def _counted(sql: str, type_: IcebergType) -> str:
    """SQL of the value as the number that the table format counts it in, where DuckDB's own form could lose some."""
    match type_:
        case DateType():
            return f"date_diff('day', DATE '1970-01-01', {sql})"
        case TimestampType() | TimestamptzType():
            return f"epoch_us({sql})"
        case TimestampNsType() | TimestamptzNsType():
            return f"epoch_ns({sql})"
    return sql


def _json(value: Any, type_: IcebergType, column: str) -> Any:
    match type_:
        case FloatType() | DoubleType() if value is not None:
            if value - value != 0:  # NaN and the infinities, which JSON has no number for
                raise BergError(ErrorCode.INVALID, f"The DEFAULT of column '{column}' is no finite number.")
            return float(float_text(value)) if isinstance(type_, FloatType) else value
        case FixedType(length=length) if value is not None and len(value) != length:
            raise BergError(
                ErrorCode.TYPE, f"The DEFAULT of column '{column}' has {len(value)} bytes, the column {length}."
            )
        case DecimalType(scale=scale) if value is not None:
            value = decimal_of(unscaled_decimal(value, scale), scale)
    return value_to_json(type_, to_internal(type_, value))
