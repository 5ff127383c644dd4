"""Functions of arrays beyond construction and search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import at_least, each, failure, let, let_all
from bergsql.engine.sql.functions.collections import MOST_ELEMENTS, array_of, element_of, searching
from bergsql.engine.sql.functions.element_types import element_of_one_type, of_two_arrays
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BOOLEAN, DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context


def with_all(values: list[Bound], sql: str) -> str:
    """``sql``, or NULL where one of the values is: DuckDB's functions of several lists skip them."""
    tests = " AND ".join(f"{v.sql} IS NOT NULL" for v in values)
    return f"CASE WHEN {tests} THEN {sql} END"


def once(array: str, search: Callable[[str], str] = lambda a: f"list_position({a}, e)") -> str:
    """Each element of an array once, the first of its kind, in order."""
    return let(array, lambda a: f"list_filter({a}, lambda e, i: {search(a)} = i)")


def _except(arguments: list[Bound], context: Context) -> str:
    search = searching(arguments[0], context)

    def made(both: list[str]) -> str:
        a, b = both
        rest = f"list_filter({a}, lambda e, i: coalesce({search(b)}, 0) = 0 AND {search(a)} = i)"
        return f"CASE WHEN {b} IS NOT NULL THEN {rest} END"

    return let_all([a.sql for a in arguments], made)


def _union(arguments: list[Bound], context: Context) -> str:
    a, b = (x.sql for x in arguments)
    return with_all(arguments, once(f"list_concat({a}, {b})", searching(arguments[0], context)))


def _overlap(arguments: list[Bound], context: Context) -> str:
    """Unknown where only a NULL might have been in both."""

    def made(both: list[str]) -> str:
        a, b = both
        unknown = f"len({a}) > 0 AND len({b}) > 0 AND (list_position({a}, NULL) > 0 OR list_position({b}, NULL) > 0)"
        shared = f"len(list_filter({a}, lambda e: e IS NOT NULL AND list_position({b}, e) > 0)) > 0"
        return (
            f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN {shared} THEN TRUE "
            f"WHEN {unknown} THEN NULL ELSE FALSE END"
        )

    return let_all([a.sql for a in arguments], made)


def _zip(arguments: list[Bound], context: Context) -> Bound:
    """An array of structs, as long as the longest; a field is named after the column or its place."""
    names = [a.name or str(i) for i, a in enumerate(arguments)]
    if len({n.lower() for n in names}) < len(names):
        names = [str(i) for i in range(len(arguments))]
    fields = tuple(Field(n, element_of(a)) for n, a in zip(names, arguments, strict=True))

    def made(arrays: list[str]) -> str:
        sizes = ", ".join(f"len({a})" for a in arrays)
        parts = ", ".join(f"{identifier(n)} := {a}[i]" for n, a in zip(names, arrays, strict=True))
        tests = " AND ".join(f"{a} IS NOT NULL" for a in arrays)
        zipped = f"list_transform(generate_series(1, greatest({sizes})), lambda i: struct_pack({parts}))"
        return f"CASE WHEN {tests} THEN {zipped} END"

    type_ = array_of(DataType(Kind.ROW, children=fields), False)
    return Bound.of(let_all([a.sql for a in arguments], made), type_, "", *arguments)


def _insert(arguments: list[Bound], context: Context) -> Bound:
    """From 1, or from the end: -1 is behind the last. What lies beyond is filled with NULLs."""
    from bergsql.engine.plan.casts import coerce

    array, place, value = arguments
    common = element_of_one_type("ARRAY_INSERT", array, value.type, context)
    type_ = array_of(common)
    null = f"CAST(NULL AS {duckdb_name(common)})"
    wrong = failure("The place of ARRAY_INSERT is not 0: elements are counted from 1.")
    far = failure(f"ARRAY_INSERT would make an array of more than {MOST_ELEMENTS} elements.")

    def made(given: list[str]) -> str:
        a, i, x = given
        fill = f"list_transform(range({at_least('CAST(%s AS BIGINT)', 0)}), lambda f: {null})"
        behind = fill.replace("%s", f"{i} - len({a}) - 1")
        before = fill.replace("%s", f"-{i} - len({a}) - 1")
        return (
            f"CASE WHEN {a} IS NULL OR {i} IS NULL THEN NULL WHEN {i} = 0 THEN {wrong} "
            f"WHEN abs({i}) > {MOST_ELEMENTS} THEN {far} "
            f"WHEN {i} > 0 THEN list_concat({a}[1:{i} - 1], {behind}, [{x}], {a}[{i}:]) "
            f"WHEN -{i} <= len({a}) + 1 THEN list_concat({a}[1:len({a}) + {i} + 1], [{x}], {a}[len({a}) + {i} + 2:]) "
            f"ELSE list_concat([{x}], {before}, {a}) END"
        )

    ready = [coerce(array, type_, context), place, coerce(value, common, context)]
    return Bound(let_all([b.sql for b in ready], made), type_, "")


def _repeat(arguments: list[Bound], context: Context) -> Bound:
    value, times = arguments
    long = failure(f"ARRAY_REPEAT would make an array of %s elements: more than {MOST_ELEMENTS}.", times.sql)

    def made(given: list[str]) -> str:
        x, n = given
        size = f"CASE WHEN {n} > {MOST_ELEMENTS} THEN 0 ELSE {at_least(n, 0)} END"
        return (
            f"CASE WHEN {n} > {MOST_ELEMENTS} THEN {long} "
            f"WHEN {n} IS NOT NULL THEN list_transform(range(CAST({size} AS BIGINT)), lambda i: {x}) END"
        )

    return Bound(let_all([value.sql, times.sql], made), array_of(value.type, value.nullable), "")


def _flatten(arguments: list[Bound], context: Context) -> Bound:
    a = arguments[0]
    inner = element_of(a)
    if inner.kind not in (Kind.ARRAY, Kind.NULL):
        raise BergError(ErrorCode.TYPE, "FLATTEN takes an array of arrays.")
    if inner.kind is Kind.NULL:
        return Bound(a.sql, array_of(array_of(inner)), "")
    sql = let(a.sql, lambda x: f"CASE WHEN coalesce(list_position({x}, NULL), 0) = 0 THEN flatten({x}) END")
    return Bound(sql, inner, "")


def _get(arguments: list[Bound], context: Context) -> str:
    return let_all([a.sql for a in arguments], lambda g: f"CASE WHEN {g[1]} >= 0 THEN {g[0]}[{g[1]} + 1] END")


def _slice(arguments: list[Bound], context: Context) -> str:
    zero = failure("The start of SLICE is not 0: elements are counted from 1.")
    negative = failure("The length of SLICE is not negative.")

    def made(given: list[str]) -> str:
        a, start, size = given
        first = f"CASE WHEN {start} < 0 THEN len({a}) + {start} + 1 ELSE {start} END"
        cut = let(first, lambda f: f"CASE WHEN {f} < 1 THEN {a}[1:0] ELSE {a}[{f}:{f} + {size} - 1] END")
        tests = " OR ".join(f"{x} IS NULL" for x in given)
        return (
            f"CASE WHEN {tests} THEN NULL WHEN {start} = 0 THEN {zero} WHEN {size} < 0 THEN {negative} ELSE {cut} END"
        )

    return let_all([arguments[0].sql, *(f"CAST({a.sql} AS BIGINT)" for a in arguments[1:])], made)


def _array_slice(arguments: list[Bound], context: Context) -> str:
    """Flink's: from one place to another, 0 as 1; what lies outside is left out."""

    def made(given: list[str]) -> str:
        a, start = given[0], given[1]
        end = given[2] if len(given) > 2 else f"len({a})"
        first = f"CASE WHEN {start} < 0 THEN {at_least(f'(len({a}) + {start} + 1)', 1)} ELSE {at_least(start, 1)} END"
        last = f"CASE WHEN {end} < 0 THEN len({a}) + {end} + 1 WHEN {end} = 0 THEN 1 ELSE {end} END"
        cut = let_all([first, last], lambda p: f"CASE WHEN {p[0]} > {p[1]} THEN {a}[1:0] ELSE {a}[{p[0]}:{p[1]}] END")
        tests = " OR ".join(f"{x} IS NULL" for x in given)
        return f"CASE WHEN {tests} THEN NULL ELSE {cut} END"

    return let_all([arguments[0].sql, *(f"CAST({a.sql} AS BIGINT)" for a in arguments[1:])], made)


def sorted_flink(arguments: list[Bound], context: Context) -> str:
    """Flink's: ascending with NULLs first, descending with NULLs last, unless it is said."""
    from bergsql.engine.plan.nested_order import sorted_list

    element = element_of(arguments[0])

    def made(given: list[str]) -> str:
        a, up = given[0], given[1] if len(given) > 1 else "TRUE"
        first = given[2] if len(given) > 2 else up
        cases = " ".join(
            f"WHEN {'' if ascending else 'NOT '}{up} AND {'' if nulls else 'NOT '}{first} THEN "
            + sorted_list(a, element, "ASC" if ascending else "DESC", "FIRST" if nulls else "LAST")
            for ascending in (True, False)
            for nulls in (True, False)
        )
        return f"CASE {cases} END"

    return let_all([a.sql for a in arguments], made)


def _shuffled(arguments: list[Bound], context: Context) -> str:
    drawn = each(arguments[0].sql, lambda e: f"struct_pack(r := random(), e := {e})")
    return f"list_transform(list_sort({drawn}), lambda drawn: drawn.e)"


def _element(arguments: Sequence[Bound]) -> DataType:
    return element_of(arguments[0])


FUNCTIONS: tuple[Function, ...] = (
    Scalar("array_compact", "s", "A", 0, "list_filter({0}, lambda e: e IS NOT NULL)"),
    Scalar("array_except", "s", "AA", 0, of_two_arrays("ARRAY_EXCEPT", _except)),
    Scalar("array_except", "f", "CC", 0, _except),
    Scalar("array_union", "s", "AA", 0, of_two_arrays("ARRAY_UNION", _union)),
    Scalar("array_union", "f", "CC", 0, _union),
    Scalar("arrays_overlap", "s", "AA", BOOLEAN, of_two_arrays("ARRAYS_OVERLAP", _overlap, BOOLEAN)),
    Scalar("arrays_zip", "s", "A+", 0, _zip),
    Scalar("array_insert", "s", "Aia", 0, _insert),
    Scalar("array_repeat", "s", "ai", 0, _repeat),
    Scalar("flatten", "s", "A", 0, _flatten),
    Scalar("get", "s", "Ai", _element, _get),
    Scalar("slice", "s", "Aii", 0, _slice),
    Scalar("array_slice", "f", "Aii?", 0, _array_slice),
    Scalar("shuffle", "s", "A", 0, _shuffled, volatile=True),
)
