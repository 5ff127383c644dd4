"""CAST: what a value of one type becomes as another, in each flavour.

Spark with ANSI off never fails: what does not fit is NULL, integers wrap, a fraction is cut off. Flink fails on text
that does not read, and else does as Spark. DuckDB rounds where both cut off, raises where both wrap, reads more text
than they do, and writes doubles and timestamps differently: those casts are spelt out, the rest are DuckDB's own.
"""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan import cast_text, fold, integers
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.constants import constant
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import each, let, tries
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import Place, declared_type, span_of
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.type_names import duckdb_name, flink_name, spark_name
from bergsql.engine.sql.types import (
    BINARIES,
    FLOATS,
    INTEGERS,
    INTERVALS,
    NESTED,
    NUMBERS,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Field,
    Kind,
)


def type_text(type_: DataType, flavour: Flavour) -> str:
    """The type's name as the flavour writes it in a message or in the text of a CAST."""
    if flavour is Flavour.FLINK:
        return flink_name(type_)
    return spark_name(type_).upper()


def cast_hint(source: DataType, to: DataType, context: Context) -> str | None:
    """What to do with a value of ``source`` that is not stored in ``to``: a CAST, if there is one."""
    if to.kind is Kind.NULL:
        return "Only NULL can be stored there."
    try:
        convert_sql("x", source, to, context)
    except BergError:
        return None
    name = flink_name if context.flavour is Flavour.FLINK else spark_name
    return f"CAST(… AS {name(to)}) converts it."


def cast(bound: Bound, to: DataType, context: Context, *, safe: bool = False, place: Place = None) -> Bound:
    """``CAST(bound AS to)``; ``safe``: TRY_CAST.

    :raises BergError: TYPE when no value of the one type can become one of the other.
    """
    if context.spark and to.kind in TEXTS:
        to = STRING  # as Spark does: the length of a CHAR or VARCHAR means nothing in a CAST
    result = convert(bound, to, context, safe=safe, place=place)
    if to.kind is Kind.BINARY and bound.type != to and not bound.is_null:
        result = _of_length(result, to.precision or 1)
    word = "TRY_CAST" if safe else "CAST"
    if context.spark and to.kind in NESTED:
        return replace(result, text=bound.text, name=None)  # Spark names a cast to a nested type by what is cast
    return replace(result, text=f"{word}({bound.text} AS {type_text(to, context.flavour)})", name=None)


def _of_length(bound: Bound, length: int) -> Bound:
    """Bytes cut or filled up with zeros, as Flink's CAST to BINARY(n) does. An INSERT does not: it refuses them."""
    sized = f"unhex(rpad(left(hex({bound.sql}), {2 * length}), {2 * length}, '0'))"
    return Bound.of(sized, bound.type, bound.text, bound)


def coerce(bound: Bound, to: DataType, context: Context, place: Place = None) -> Bound:
    """``bound`` as ``to``, as if nothing was written: its text stays."""
    return replace(convert(bound, to, context, place=place), text=bound.text, name=bound.name)


def convert(bound: Bound, to: DataType, context: Context, *, safe: bool = False, place: Place = None) -> Bound:
    """The value converted. The text of the result is of no use."""
    source = bound.type
    if source == to:
        return bound
    if source.kind is Kind.NULL:
        if "error(" in bound.sql and not bound.is_constant:  # which is raised, whatever it is cast to
            return Bound.of(f"CAST({bound.sql} AS {duckdb_name(to)})", to, bound.text, bound, nullable=True)
        return constant(None, to, bound.text)
    if bound.is_constant:
        folded = fold.fold_cast(bound.constant, source, to, context, safe=safe, place=place)
        if folded is not fold.UNFOLDED:
            return constant(folded, to, bound.text, context.planner.relations.time_zone)
    if same_in_duckdb(source, to):
        # Only our description of the type changes (INT NOT NULL, VARCHAR and STRING …): plain column refs stay plain.
        return replace(bound, type=to, constant=bound.constant)
    sql = convert_sql(bound.sql, source, to, context, safe=safe, volatile=bound.volatile, place=place)
    if bound.volatile and tries(sql):
        sql = let(bound.sql, lambda x: convert_sql(x, source, to, context, safe=safe, place=place))
    nullable = bound.nullable or context.spark or safe
    result = Bound.of(sql, to, bound.text, bound, nullable=nullable, volatile="error(" in sql)
    if images_of(bound):
        from bergsql.engine.plan.monotone import attach_cast

        attach_cast(result, bound, to, context, safe=safe)
    return result


def same_in_duckdb(source: DataType, to: DataType) -> bool:
    """True when a value of the one is one of the other without any change."""
    if source.kind in TEXTS and to.kind in TEXTS:
        return to.kind is Kind.STRING
    if source.kind in BINARIES and to.kind is Kind.BYTES:
        return True
    if source.kind is to.kind and (source.kind in STAMPS or source.kind is Kind.TIME):
        return source.fractional_digits <= to.fractional_digits and source.holds_nanoseconds == to.holds_nanoseconds
    return source.kind is to.kind and source.kind in INTERVALS


def convert_sql(
    sql: str,
    source: DataType,
    to: DataType,
    context: Context,
    *,
    safe: bool = False,
    volatile: bool = False,
    place: Place = None,
) -> str:
    """SQL that converts ``sql``, a value of ``source``."""
    if source == to or same_in_duckdb(source, to):
        return sql
    if source.kind is Kind.NULL:
        return f"CAST(NULL AS {duckdb_name(to)})"
    found = _convert(sql, source, to, context, safe, volatile, place)
    if found is None:
        raise _impossible(source, to, context, place)
    return found


def _convert(
    sql: str, source: DataType, to: DataType, context: Context, safe: bool, volatile: bool, place: Place
) -> str | None:
    strict = not context.spark and not safe
    if to.kind in TEXTS:
        return cast_text.to_text(sql, source, to, context)
    if source.kind in TEXTS:
        return cast_text.from_text(sql, to, context.planner.relations.time_zone, strict=strict)
    if to.kind in INTEGERS:
        return _to_integer(sql, source.kind, to.kind, context, safe=safe, volatile=volatile)
    if to.kind in FLOATS:
        return _to_float(sql, source.kind, to.kind, context)
    if to.kind is Kind.DECIMAL:
        return _to_decimal(sql, source.kind, to, context)
    if to.kind is Kind.BOOLEAN:
        return _to_boolean(sql, source, context)
    if to.kind is Kind.DATE or to.kind is Kind.TIME or to.kind in STAMPS:
        return _to_time(sql, source, to, context)
    if source.kind in BINARIES and to.kind in BINARIES:
        return sql
    if to.kind in BINARIES and source.kind in integers.BITS and context.spark:
        return _integer_bytes(sql, integers.BITS[source.kind])
    if source.kind in NESTED and source.kind is to.kind and len(source.children) == len(to.children):
        return _to_nested(sql, source, to, context, safe, place)
    return None


def _to_boolean(sql: str, source: DataType, context: Context) -> str | None:
    if source.kind in NUMBERS:
        return f"({sql} <> 0)"
    if context.spark and source.kind is Kind.DATE:
        return "CAST(NULL AS BOOLEAN)"
    return f"(epoch_us({sql}) <> 0)" if context.spark and source.kind is Kind.TIMESTAMP_LTZ else None


def _integer_bytes(sql: str, bits: int) -> str:
    """The bytes of an integer in two's complement, the highest first."""
    number = f"CAST({sql} AS HUGEINT)"
    return let(
        number,
        lambda x: f"unhex(printf('%0{bits // 4}X', CASE WHEN {x} < 0 THEN {x} + {1 << bits} ELSE {x} END))",
    )


def _impossible(source: DataType, to: DataType, context: Context, place: Place) -> BergError:
    a, b = type_text(source, context.flavour), type_text(to, context.flavour)
    hint = None
    if source.kind in NUMBERS and to.kind in STAMPS and not context.spark:
        hint = "TO_TIMESTAMP_LTZ(seconds, 0) makes a timestamp of a number."
    elif to.kind is Kind.MULTISET:
        hint = f"CAST it to MAP<{type_text(to.children[0].type, context.flavour)}, INT>."
    return BergError(ErrorCode.TYPE, f"{a} cannot be cast to {b}.", span=span_of(place), hint=hint)


def _to_integer(sql: str, source: Kind, to: Kind, context: Context, *, safe: bool, volatile: bool) -> str | None:
    name = integers.SQL_NAMES[to]
    if source is Kind.BOOLEAN:
        return f"CAST({sql} AS {name})"
    if source in INTEGERS or source is Kind.HUGEINT:
        if source is not Kind.HUGEINT and integers.BITS[source] <= integers.BITS[to]:
            return f"CAST({sql} AS {name})"
        return f"TRY_CAST({sql} AS {name})" if safe else integers.narrowed(sql, source, to, volatile=volatile)
    if source is Kind.DECIMAL:
        if safe:
            return f"TRY_CAST(trunc({sql}) AS {name})"
        cut = integers.wrapped(f"CAST(trunc({sql}) AS HUGEINT)", to)
        return cut if volatile else f"coalesce(TRY_CAST(trunc({sql}) AS {name}), {cut})"
    if source in FLOATS:
        if to in (Kind.TINYINT, Kind.SMALLINT):  # through INT, as Java does
            whole = _float_to_integer(sql, Kind.INT)
            return integers.narrowed(whole, Kind.INT, to, volatile=True)
        return f"TRY_CAST(trunc({sql}) AS {name})" if safe else _float_to_integer(sql, to)
    if context.spark and source is Kind.TIMESTAMP_LTZ:
        seconds = f"CAST(floor(epoch({sql})) AS BIGINT)"
        return seconds if to is Kind.BIGINT else integers.narrowed(seconds, Kind.BIGINT, to, volatile=volatile)
    if context.spark and source is Kind.DATE:
        return f"CAST(NULL AS {name})"
    return None


def _float_to_integer(sql: str, to: Kind) -> str:
    """Java's (int): cut off, NaN is 0, what is too large is the largest."""
    top = (1 << (integers.BITS[to] - 1)) - 1
    name = integers.SQL_NAMES[to]
    return let(
        sql,
        lambda x: (
            f"coalesce(TRY_CAST(trunc({x}) AS {name}), CAST(CASE WHEN isnan({x}) THEN 0 WHEN {x} > 0 THEN {top}"
            f" WHEN {x} < 0 THEN {-top - 1} END AS {name}))"
        ),
    )


def _to_float(sql: str, source: Kind, to: Kind, context: Context) -> str | None:
    if to is Kind.FLOAT and source is Kind.DOUBLE:
        # Java gives infinity where DuckDB raises.
        return let(
            sql,
            lambda x: (
                f"coalesce(TRY_CAST({x} AS FLOAT), "
                f"CAST(CASE WHEN {x} > 0 THEN 'inf' WHEN {x} < 0 THEN '-inf' END AS FLOAT))"
            ),
        )
    name = "DOUBLE" if to is Kind.DOUBLE else "FLOAT"
    if source in NUMBERS or source is Kind.BOOLEAN:
        return f"CAST({sql} AS {name})"
    if context.spark and source is Kind.TIMESTAMP_LTZ:
        return f"CAST(epoch({sql}) AS {name})"
    if context.spark and source is Kind.DATE:
        return f"CAST(NULL AS {name})"
    return None


def _to_decimal(sql: str, source: Kind, to: DataType, context: Context) -> str | None:
    name = duckdb_name(to)
    if source is Kind.BOOLEAN:
        return f"CAST(CAST({sql} AS INTEGER) AS {name})"
    if source in FLOATS:
        # By its shortest digits, as Java does: 1.255 as a double is a little less, and would not round up.
        return f"TRY_CAST(CAST({sql} AS VARCHAR) AS {name})"
    if source in NUMBERS:
        # What has too many digits is NULL in both flavours.
        whole = (to.precision or 0) - (to.scale or 0)
        if source in integers.BITS and whole >= len(str(1 << (integers.BITS[source] - 1))):
            return f"CAST({sql} AS {name})"
        return f"TRY_CAST({sql} AS {name})"
    if context.spark and source is Kind.TIMESTAMP_LTZ:
        return f"TRY_CAST(epoch_us({sql}) * CAST(0.000001 AS DECIMAL(7,6)) AS {name})"
    if context.spark and source is Kind.DATE:
        return f"CAST(NULL AS {name})"
    return None


def _to_time(sql: str, source: DataType, to: DataType, context: Context) -> str | None:
    name = duckdb_name(to)
    if source.kind is Kind.DATE and to.kind in STAMPS:
        return f"CAST({sql} AS {name})"
    if source.kind in STAMPS:
        if to.kind is Kind.DATE:
            return f"CAST({sql} AS DATE)"
        if to.kind is Kind.TIME:
            local = f"CAST({sql} AS TIMESTAMP)" if source.kind is Kind.TIMESTAMP_LTZ else sql
            return f"CAST({local} AS {name})"
        alike = source.kind is to.kind and source.holds_nanoseconds == to.holds_nanoseconds
        other = sql if alike else f"CAST({sql} AS {name})"
        if source.kind is Kind.TIMESTAMP and to.kind is Kind.TIMESTAMP_LTZ and not to.holds_nanoseconds:
            from bergsql.engine.plan.zones import first_shown

            other = first_shown(other, context.planner.relations.time_zone)
        return cut_fraction(other, source, to)
    if source.kind is Kind.TIME and to.kind is Kind.TIME:
        return f"CAST({sql} AS {name})"
    if source.kind is Kind.TIME and to.kind in STAMPS and not context.spark:
        return f"CAST(current_date + {sql} AS {name})"
    if context.spark and to.kind is Kind.TIMESTAMP_LTZ:
        if source.kind in INTEGERS:
            return f"make_timestamptz(CAST({sql} AS BIGINT) * 1000000)"
        if source.kind in (*FLOATS, Kind.DECIMAL):
            return f"make_timestamptz(TRY_CAST(trunc({sql} * 1000000) AS BIGINT))"
        if source.kind is Kind.BOOLEAN:
            return f"make_timestamptz(CAST({sql} AS BIGINT))"
    return None


def cut_fraction(sql: str, source: DataType, to: DataType) -> str:
    """A timestamp cut to the digits that ``to`` keeps (both engines cut, neither rounds)."""
    digits = to.fractional_digits
    if digits >= min(source.fractional_digits, 6):
        return sql
    if digits in (0, 3):
        return f"date_trunc('{'second' if digits == 0 else 'millisecond'}', {sql})"
    unit = 10 ** (6 - digits)
    made = "make_timestamptz" if to.kind is Kind.TIMESTAMP_LTZ else "make_timestamp"
    return let(sql, lambda x: f"{made}(epoch_us({x}) - ((epoch_us({x}) % {unit}) + {unit}) % {unit})")


def _to_nested(sql: str, source: DataType, to: DataType, context: Context, safe: bool, place: Place) -> str:
    def part(item: str, a: Field, b: Field) -> str:
        return convert_sql(item, a.type, b.type, context, safe=safe, place=place)

    if source.kind is Kind.ARRAY:
        if same_in_duckdb(source.children[0].type, to.children[0].type):
            return sql
        return each(sql, lambda e: part(e, source.children[0], to.children[0]))
    if source.kind is Kind.ROW:

        def made(x: str) -> str:
            names = distinct_names(b.name for b in to.children)
            parts = ", ".join(
                f"{identifier(name)} := " + part(f"struct_extract_at({x}, {i})", a, b)
                for i, (name, a, b) in enumerate(zip(names, source.children, to.children, strict=True), start=1)
            )
            return f"CASE WHEN {x} IS NOT NULL THEN struct_pack({parts}) END"

        return let(sql, made)
    (key, value), (to_key, to_value) = source.children, to.children

    def entry(e: str) -> str:
        return f"struct_pack(key := {part(f'{e}.key', key, to_key)}, value := {part(f'{e}.value', value, to_value)})"

    def mapped(x: str) -> str:
        return f"CASE WHEN {x} IS NOT NULL THEN map_from_entries({each(f'map_entries({x})', entry)}) END"

    return let(sql, mapped)


def bind_cast(node: exp.Expr, context: Context) -> Bound:
    if node.meta.get("literal"):
        from bergsql.engine.plan.typed_literals import bind_typed_literal

        return bind_typed_literal(node, context)
    operand = bind(node.this, context)
    safe = isinstance(node, exp.TryCast)
    return cast(operand, declared_type(node.args["to"]), context, safe=safe, place=node)
