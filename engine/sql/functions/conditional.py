"""Functions that choose: IF, COALESCE, NULLIF and the like, and the type functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.comparison import comparable, condition
from bergsql.engine.plan.context import refuse_unordered
from bergsql.engine.plan.sql_text import FAILURE_MARK
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import flink_name, spark_name
from bergsql.engine.sql.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, FLOATS, INT, NULL, STRING, DataType, Kind

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.context import Context


def _if(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    text = f"(IF({', '.join(b.text for b in bound)}))"
    ready = fit_arguments("acc", "if", bound, context, span_of(node))
    test = condition(ready[0], context, node.expressions[0], "IF")
    a, b = ready[1], ready[2]
    sql = f"CASE WHEN {test.sql} THEN {a.sql} ELSE {b.sql} END"
    return Bound.of(f"({sql})", a.type, text, test, a, b, nullable=a.nullable or b.nullable)


def _nullif(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    fit_arguments("aa", "nullif", bound, context, span_of(node))
    a, b = bound
    left, right = comparable(a, b, context, node)
    sql = f"CASE WHEN {left.sql} = {right.sql} THEN NULL ELSE {a.sql} END"
    return Bound.of(f"({sql})", a.type, f"nullif({a.text}, {b.text})", a, left, right, nullable=True)


def _coalesce(arguments: list[Bound], context: Context) -> Bound:
    nullable = all(a.nullable for a in arguments)
    return Bound(f"coalesce({', '.join(a.sql for a in arguments)})", arguments[0].type, "", nullable)


def _nvl2(arguments: list[Bound], context: Context) -> str:
    test, a, b = arguments
    return f"CASE WHEN {test.sql} IS NOT NULL THEN {a.sql} ELSE {b.sql} END"


def _typeof(arguments: list[Bound], context: Context) -> Bound:
    a = arguments[0]
    if context.spark:
        name = spark_name(a.type)
    else:
        name = flink_name(a.type) + ("" if a.nullable else " NOT NULL")
    return Bound(string_literal(name), STRING, "", False, name)


def _cast_to(type_: DataType) -> Callable[[list[Bound], Context], Bound]:
    """Spark's functions named after a type: casts whose column is named after the argument."""

    def made(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.casts import coerce

        return coerce(arguments[0], type_, context)

    return made


def _isnull(arguments: list[Bound], context: Context) -> Bound:
    return Bound(f"({arguments[0].sql} IS NULL)", BOOLEAN, f"({arguments[0].text} IS NULL)", False)


def _isnotnull(arguments: list[Bound], context: Context) -> Bound:
    return Bound(f"({arguments[0].sql} IS NOT NULL)", BOOLEAN, f"({arguments[0].text} IS NOT NULL)", False)


def _equal_null(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    fit_arguments("aa", "equal_null", bound, context, span_of(node))
    a, b = comparable(bound[0], bound[1], context, node)
    text = f"equal_null({bound[0].text}, {bound[1].text})"
    return Bound.of(f"({a.sql} IS NOT DISTINCT FROM {b.sql})", BOOLEAN, text, a, b, nullable=False)


def _raised(message: str) -> str:
    return f"error({string_literal(FAILURE_MARK)} || {message})"


def _assert_true(arguments: list[Bound], context: Context) -> Bound:
    test = arguments[0]
    message = string_literal(f"'{test.text}' is not true!")
    said = arguments[1].sql if len(arguments) > 1 else message
    shown = arguments[1].text if len(arguments) > 1 else f"'{test.text}' is not true!"
    text = f"assert_true({test.text}, {shown})"
    sql = f"CASE WHEN {test.sql} THEN NULL ELSE {_raised(said)} END"
    return Bound(sql, NULL, text, volatile=True)


def _raise_error(arguments: list[Bound], context: Context) -> Bound:
    return Bound(_raised(f"coalesce({arguments[0].sql}, 'null')"), NULL, "", volatile=True)


def _isnan(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    return f"coalesce(isnan({a.sql}), FALSE)" if a.type.kind in FLOATS else "FALSE"


def _greatest(word: str) -> Callable[[list[Bound], Context], str]:
    from bergsql.engine.plan.nested_order import extreme, has_key

    def made(arguments: list[Bound], context: Context) -> str:
        for a in arguments:
            refuse_unordered(a.type, context, None, word.upper())
        listed = ", ".join(a.sql for a in arguments)
        found = f"{word}({listed})"
        if has_key(arguments[0].type):
            found = extreme("max" if word == "greatest" else "min", f"[{listed}]", arguments[0].type)
        if context.spark:  # NULLs are skipped, as DuckDB does
            return found
        test = " OR ".join(f"{a.sql} IS NULL" for a in arguments)
        return f"CASE WHEN {test} THEN NULL ELSE {found} END"

    return made


FUNCTIONS: tuple[Function, ...] = (
    Special("if", "fs", _if),
    Special("iff", "s", _if),
    Special("nullif", "fs", _nullif),
    Scalar("coalesce", "fs", "c+", "c", _coalesce),
    Scalar("ifnull", "fs", "cc", "c", _coalesce),
    Scalar("nvl", "s", "cc", "c", _coalesce),
    Scalar("nvl2", "s", "acc", 1, _nvl2),
    Scalar("typeof", "fs", "a", STRING, _typeof),
    *(
        Scalar(name, "s", "a", type_, _cast_to(type_))
        for name, type_ in (
            ("boolean", BOOLEAN),
            ("tinyint", DataType(Kind.TINYINT)),
            ("smallint", DataType(Kind.SMALLINT)),
            ("int", INT),
            ("bigint", BIGINT),
            ("float", DataType(Kind.FLOAT)),
            ("double", DOUBLE),
            ("decimal", DataType(Kind.DECIMAL, 10, 0)),
            ("string", STRING),
            ("binary", BYTES),
            ("date", DATE),
            ("timestamp", DataType(Kind.TIMESTAMP_LTZ, 6)),
        )
    ),
    Special("equal_null", "s", _equal_null),
    Scalar("nullifzero", "s", "n", 0, "CASE WHEN {0} <> 0 THEN {0} END"),
    Scalar("zeroifnull", "s", "n", 0, "coalesce({0}, 0)"),
    Scalar("assert_true", "s", "bt?", NULL, _assert_true),
    Scalar("raise_error", "s", "t", NULL, _raise_error),
    Scalar("isnull", "s", "a", BOOLEAN, _isnull),
    Scalar("isnotnull", "s", "a", BOOLEAN, _isnotnull),
    Scalar("isnan", "s", "n", BOOLEAN, _isnan),
    Scalar("nanvl", "s", "dd", 0, "CASE WHEN isnan({0}) THEN {1} ELSE {0} END"),
    Scalar("greatest", "fs", "cc+", "c", _greatest("greatest")),
    Scalar("least", "fs", "cc+", "c", _greatest("least")),
)
