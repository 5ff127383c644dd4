"""Comparisons: which type both sides take, and what they say of a table's files."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, not_supported
from bergsql.engine.plan import pushdown
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.known import constant_of
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import (
    BINARIES,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTERVALS,
    NESTED,
    NUMBERS,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Kind,
)

SYMBOLS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<!=>",
}
_DUCK = {"<=>": "IS NOT DISTINCT FROM", "<!=>": "IS DISTINCT FROM"}
_ORDERS = frozenset({"<", "<=", ">", ">="})


def bind_comparison(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    """``a symbol b``."""
    symbol = SYMBOLS[type(node)]
    left, right = comparable(a, b, context, node)
    result = Bound.of(
        _with_null(symbol, left, right, context) or _compared(symbol, left, right),
        BOOLEAN,
        comparison_text(symbol, a, b),
        left,
        right,
        nullable=False if symbol in _DUCK else None,
    )
    pushdown.compare(result, symbol, left, right, context)
    if symbol == "=" and right.is_constant and not left.is_constant and not left.volatile:
        result.equality = (left.sql, right.sql, right.type)
    return result


def _with_null(symbol: str, left: Bound, right: Bound, context: Context) -> str | None:
    """``a <=> NULL`` as ``a IS NULL``: of a field of a struct, DuckDB fails on the former while it opens a file."""
    if symbol not in _DUCK:
        return None
    for value, other in ((right, left), (left, right)):
        if value.fixed and constant_of(value, context) is None:
            return f"({other.sql} IS {'NOT ' if symbol == '<!=>' else ''}NULL)"
    return None


def _compared(symbol: str, left: Bound, right: Bound) -> str:
    a, b = left.sql, right.sql
    if symbol in _ORDERS and left.type.kind in NESTED:
        from bergsql.engine.plan.nested_order import key_sql

        a, word = key_sql(a, left.type), b[:3]
        if b.startswith(("ANY (", "ALL (")):  # a query of what is compared with
            b = f"{word} (SELECT {key_sql('k.e', right.type)} FROM ({b[5:-1]}) AS k(e))"
        else:
            b = key_sql(b, right.type)
    return f"({a} {_DUCK.get(symbol, symbol)} {b})"


def comparison_text(symbol: str, a: Bound, b: Bound) -> str:
    if symbol == "<>":
        return f"(NOT ({a.text} = {b.text}))"
    if symbol == "<!=>":
        return f"(NOT ({a.text} <=> {b.text}))"
    return f"({a.text} {symbol} {b.text})"


def comparable(a: Bound, b: Bound, context: Context, node: exp.Expr) -> tuple[Bound, Bound]:
    """Both sides as types that DuckDB compares as the flavour does. A column is left as it is where that is right.

    :raises BergError: TYPE when the two cannot be compared.
    """
    types = compared_types(a.type, b.type, context)
    if types is None:
        raise _incomparable(a, b, context, node)
    left, right = types
    return (
        a if left is None else _known_side(a, left, b, context, node),
        b if right is None else _known_side(b, right, a, context, node),
    )


def _known_side(bound: Bound, to: DataType, other: Bound, context: Context, node: exp.Expr) -> Bound:
    try:
        return coerce(bound, to, context, node)
    except BergError as error:
        if bound.is_constant:
            error.message = f"{error.message.rstrip('.')}, which it is compared with."
            error.args = (error.message,)
            if other.name:
                error.message = f"'{bound.constant}' is compared with {other.name}, but is not {to.kind.value}."
        raise


def compared_types(a: DataType, b: DataType, context: Context) -> tuple[DataType | None, DataType | None] | None:
    """What each side is cast to before a comparison (None: nothing); None when they cannot be compared."""
    x, y = a.kind, b.kind
    if context.spark and (a.holds_map or b.holds_map):
        return None
    if a.opaque_part or b.opaque_part:
        return None
    if x is y and x not in NESTED:
        return (None, None)
    if Kind.NULL in (x, y) or (x in TEXTS and y in TEXTS) or (x in BINARIES and y in BINARIES):
        return (None, None)
    if x in NUMBERS and y in NUMBERS:
        # DuckDB compares a FLOAT and a DECIMAL as FLOATs, where 0.1 equals 0.1; as doubles it does not.
        if {x, y} == {Kind.FLOAT, Kind.DECIMAL}:
            return (DOUBLE, DOUBLE)
        return (None, None)
    if x in TEXTS:
        to = _read_as(b, context)
        return (to, None) if to else None
    if y in TEXTS:
        to = _read_as(a, context)
        return (None, to) if to else None
    if x in (*STAMPS, Kind.DATE) and y in (*STAMPS, Kind.DATE):
        shared = context.common_type(a, b)
        if shared is None:
            return None
        return (None if x is shared.kind else shared, None if y is shared.kind else shared)
    if x is Kind.BOOLEAN and y in NUMBERS:
        return (b, None)
    if y is Kind.BOOLEAN and x in NUMBERS:
        return (None, a)
    if x in NESTED and x is y:
        shared = context.common_type(a, b)
        return None if shared is None else (shared, shared)
    return None


def _read_as(other: DataType, context: Context) -> DataType | None:
    """What text is read as to be compared with a value of ``other``."""
    kind = other.kind
    if kind is Kind.DECIMAL and context.spark:
        return DOUBLE
    if kind in STAMPS:
        return DataType(kind, max(6, other.fractional_digits))
    if kind in NUMBERS or kind in (Kind.DATE, Kind.TIME, Kind.BOOLEAN, Kind.UUID):
        return other
    if kind in BINARIES:
        return BYTES
    return None


def _incomparable(a: Bound, b: Bound, context: Context, node: exp.Expr) -> BergError:
    x, y = type_text(a.type, context.flavour), type_text(b.type, context.flavour)
    opaque = a.type.opaque_part and b.type.opaque_part
    hint = "CAST(… AS STRING) gives their text." if opaque else "CAST one of the two sides."
    return type_error(f"{x} cannot be compared with {y}.", span_of(node), hint)


# --- logic ------------------------------------------------------------------------------------------------------------


def condition(bound: Bound, context: Context, node: exp.Expr, where: str) -> Bound:
    """``bound`` where a condition must stand.

    :raises BergError: TYPE when it is not BOOLEAN.
    """
    if bound.type.kind is Kind.BOOLEAN:
        return bound
    if bound.type.kind is Kind.NULL:
        return coerce(bound, BOOLEAN, context)
    raise type_error(
        f"{where} needs a condition, and this is {type_text(bound.type, context.flavour)}.",
        span_of(node),
        "Compare it with something, as in … = 1.",
    )


def bind_logic(nodes: list[exp.Expr], first: Bound, context: Context) -> Bound:
    """A whole chain of ANDs, or of ORs, from its innermost node: its text is joined once, not once a term."""
    from bergsql.engine.plan.expressions import bind

    word = "AND" if isinstance(nodes[0], exp.And) else "OR"
    parts = [condition(first, context, nodes[0].this, word)]
    parts += [condition(bind(n.expression, context), context, n.expression, word) for n in nodes]
    result = _joined(word, parts)
    (pushdown.conjunction if word == "AND" else pushdown.disjunction)(result, parts, context.planner)
    return result


def bind_and(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    a, b = condition(a, context, node.this, "AND"), condition(b, context, node.expression, "AND")
    result = _joined("AND", [a, b])
    pushdown.conjunction(result, [a, b], context.planner)
    return result


def bind_or(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    a, b = condition(a, context, node.this, "OR"), condition(b, context, node.expression, "OR")
    result = _joined("OR", [a, b])
    pushdown.disjunction(result, [a, b], context.planner)
    return result


def _joined(word: str, parts: list[Bound]) -> Bound:
    # A chain stays flat: its SQL would grow by a pair of parentheses a term, and DuckDB's parser is recursive.
    mark = f" {word} "
    first = parts[0]
    left = first.sql[1:-1] if first.sql.startswith("(") and first.name == word else first.sql
    text = "(" * (len(parts) - 1) + first.text + "".join(f"{mark}{p.text})" for p in parts[1:])
    terms = [left, *(p.sql for p in parts[1:])]
    if len(terms) > _LONG_CHAIN:
        terms = _shortened(terms, parts, mark)
    return Bound.of(f"({mark.join(terms)})", BOOLEAN, text, *parts, name=word)


_LONG_CHAIN = 200
_CHUNK = 100


def _shortened(terms: list[str], parts: list[Bound], mark: str) -> list[str]:
    """A long chain as DuckDB works on it in linear time; it takes a minute for 50,000 terms side by side.

    Equalities of one column become an IN. The rest is cut into parts, each in a cast that keeps DuckDB from putting
    them together again.
    """
    lists: dict[tuple[str, Kind, int | None], list[str]] = {}
    rest: list[str] = []
    for term, part in zip(terms, parts, strict=True):
        if part.equality is None or mark != " OR ":
            rest.append(term)
        else:
            left, right, type_ = part.equality
            lists.setdefault((left, type_.kind, type_.scale), []).append(right)
    made = [f"({left} IN ({', '.join(values)}))" for (left, _, _), values in lists.items()]
    while len(rest) > _CHUNK:
        rest = [
            f"CAST(CAST(({mark.join(rest[i : i + _CHUNK])}) AS UTINYINT) AS BOOLEAN)"
            for i in range(0, len(rest), _CHUNK)
        ]
    return made + rest


def bind_not(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind

    inner = node.this
    operand = condition(bind(inner, context), context, inner, "NOT")
    result = negated(operand, context)
    if _is_null_text(inner, operand):
        result.text = operand.text.removesuffix(" IS NULL)") + " IS NOT NULL)"
    return result


def negated(operand: Bound, context: Context) -> Bound:
    """NOT of a condition."""
    result = Bound.of(f"(NOT {operand.sql})", BOOLEAN, f"(NOT {operand.text})", operand)
    pushdown.negation(result, operand, context.planner)
    return result


def _is_null_text(node: exp.Expr, operand: Bound) -> bool:
    return isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and operand.text.endswith(" IS NULL)")


def bind_is(node: exp.Expr, context: Context) -> Bound:
    """IS NULL, IS TRUE, IS FALSE, IS UNKNOWN."""
    from bergsql.engine.plan.expressions import bind

    operand = bind(node.this, context)
    what = node.expression
    if isinstance(what, exp.Column) and what.name.upper() == "UNKNOWN" and not what.this.quoted and not what.table:
        operand, what = condition(operand, context, node.this, "IS"), exp.Null()
    if isinstance(what, exp.Null):
        text = f"({operand.text} IS NULL)"
        result = Bound.of(f"({operand.sql} IS NULL)", BOOLEAN, text, operand, nullable=False)
        pushdown.is_null(result, operand)
        return result
    if isinstance(what, exp.Boolean):
        operand = condition(operand, context, node.this, "IS")
        word = "TRUE" if what.this else "FALSE"
        text = f"({operand.text} <=> {word.lower()})"
        result = Bound.of(f"({operand.sql} IS {word})", BOOLEAN, text, operand, nullable=False)
        pushdown.is_truth(result, operand, context.planner, wanted=bool(what.this))
        return result
    if isinstance(what, exp.JSON):
        return _is_json(node, operand, what, context)
    raise type_error("IS stands before NULL, TRUE, FALSE or UNKNOWN.", span_of(node))


_JSON_KINDS = {
    "OBJECT": "= 'OBJECT'",
    "ARRAY": "= 'ARRAY'",
    "SCALAR": "NOT IN ('OBJECT', 'ARRAY')",
}


def _is_json(node: exp.Expr, operand: Bound, what: exp.Expr, context: Context) -> Bound:
    """``IS JSON [VALUE | OBJECT | ARRAY | SCALAR]``: FALSE for NULL."""
    if what.args.get("with_") or what.args.get("unique"):
        raise not_supported("IS JSON with UNIQUE KEYS", span_of(node))
    text = as_text(operand, context, node)
    kind = str(what.this or "VALUE").upper()
    sql = f"json_valid({text.sql})"
    if kind in _JSON_KINDS:
        sql = let(text.sql, lambda t: f"CASE WHEN json_valid({t}) THEN json_type({t}) {_JSON_KINDS[kind]} END")
    return Bound.of(f"coalesce({sql}, FALSE)", BOOLEAN, f"({operand.text} IS JSON {kind})", text, nullable=False)


def bind_between(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind

    operand = bind(node.this, context)
    low, high = bind(node.args["low"], context), bind(node.args["high"], context)
    try:
        between = bind_and(node, *_range(operand, low, high, context), context)
        if not node.args.get("symmetric"):
            return between
        return bind_or(node, between, bind_and(node, *_range(operand, high, low, context), context), context)
    except BergError as error:
        error.span = error.span or span_of(node)
        raise


def _range(operand: Bound, low: Bound, high: Bound, context: Context) -> tuple[Bound, Bound]:
    at_least = exp.GTE(this=exp.Null(), expression=exp.Null())
    at_most = exp.LTE(this=exp.Null(), expression=exp.Null())
    return bind_comparison(at_least, operand, low, context), bind_comparison(at_most, operand, high, context)


def bind_like(node: exp.Expr, a: Bound, b: Bound, context: Context, escape: str | None = None) -> Bound:
    """LIKE and ILIKE. Spark escapes with a backslash unless told otherwise, Flink not at all."""
    word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
    value, pattern = as_text(a, context, node), as_text(b, context, node)
    mark = escape if escape is not None else "\\" if context.spark else None
    if escape is None and isinstance(pattern.constant, str) and "\\" not in pattern.constant:
        mark = None  # without ESCAPE DuckDB turns LIKE 'a%' into a prefix test
    suffix = f" ESCAPE '{mark}'" if mark and mark != "'" else " ESCAPE ''''" if mark else ""
    text = f"{a.text} {word} {b.text}" if word == "LIKE" else f"ilike({a.text}, {b.text})"
    result = Bound.of(f"({value.sql} {word} {pattern.sql}{suffix})", BOOLEAN, text, value, pattern)
    if word == "LIKE" and isinstance(pattern.constant, str):
        pushdown.like(result, value, pattern.constant, mark)
    return negated(result, context) if node.args.get("negate") else result


def as_text(bound: Bound, context: Context, node: exp.Expr) -> Bound:
    """``bound`` as text; other atomic types are written out, as both engines do."""
    return bound if bound.type.kind in TEXTS else coerce(bound, STRING, context, node)


def bind_in(node: exp.Expr, context: Context) -> Bound:
    """``a IN (1, 2)`` and ``a IN (SELECT …)``."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.subqueries import bind_in_query

    operand = bind(node.this, context)
    query = node.args.get("query")
    if query is not None:
        return bind_in_query(node, operand, query, context)
    values = [bind(e, context) for e in node.expressions]
    kinds = {v.type.kind for v in values}
    text = f"({operand.text} IN ({', '.join(v.text for v in values)}))"
    if len(kinds - {Kind.NULL}) > 1 or any(k in INTERVALS for k in kinds):
        values = _one_type(operand, values, context, node)
    pairs = [comparable(operand, v, context, node) for v in values]
    left = next((p[0] for p in pairs if p[0] is not operand), operand)
    items = [p[1] for p in pairs]
    result = Bound.of(_in_sql(left, items, context), BOOLEAN, text, left, *items)
    pushdown.in_list(result, left, items, context)
    return result


def _in_sql(left: Bound, items: list[Bound], context: Context) -> str:
    """NULLs stand beside the list: of a field of a struct, DuckDB fails on one in it while it opens a file."""
    there = [i for i in items if left.fixed or not i.fixed or constant_of(i, context) is not None]
    if not there:
        return "CAST(NULL AS BOOLEAN)"
    found = f"({left.sql} IN ({', '.join(i.sql for i in there)}))"
    return found if len(there) == len(items) else f"({found} OR NULL)"


def _one_type(operand: Bound, values: list[Bound], context: Context, node: exp.Expr) -> list[Bound]:
    shared, odd = shared_type([operand.type, *(v.type for v in values)], context.common_type)
    if odd is not None:
        raise _incomparable(operand, values[odd - 1], context, node)
    return [replace(coerce(v, shared, context), text=v.text) for v in values]
