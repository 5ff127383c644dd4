"""Functions of maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import each, failure, let, let_all
from bergsql.engine.sql.functions.arrays import with_all
from bergsql.engine.sql.functions.collections import array_of, element_of, map_of
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BOOLEAN, NULL, STRING, DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context


def checked_map(word: str, keys: str, values: str) -> str:
    """A map of two arrays, with errors of ours for what no map can be of."""
    null = failure(f"{word}: a key of a map cannot be NULL.")
    double = failure(f"{word}: two entries of the map have the same key.")
    odd = failure(f"{word} takes as many values as keys.")

    def made(both: list[str]) -> str:
        k, v = both
        # The map is made of no keys where a branch above was taken: DuckDB computes constants everywhere.
        return (
            f"CASE WHEN {k} IS NULL OR {v} IS NULL THEN NULL WHEN len({k}) <> len({v}) THEN {odd} "
            f"WHEN list_position({k}, NULL) > 0 THEN {null} WHEN len({k}) <> len(list_distinct({k})) THEN {double} "
            f"ELSE TRY(map({k}, {v})) END"
        )

    return let_all([keys, values], made)


def _element_maps(arguments: list[Bound], context: Context, word: str) -> tuple[list[Bound], DataType]:
    """Maps as their common type."""
    from bergsql.engine.plan.casts import coerce
    from bergsql.engine.plan.coercion import shared_type

    shared, odd = shared_type((a.type for a in arguments), context.common_type)
    if odd is not None:
        raise BergError(ErrorCode.TYPE, f"{word} takes maps of one type.")
    return [coerce(a, shared, context) for a in arguments], shared


def _concat(arguments: list[Bound], context: Context) -> Bound:
    """Spark's: a key that is there twice is an error."""
    if not arguments:
        return Bound("CAST(MAP {} AS MAP(VARCHAR, VARCHAR))", map_of(STRING, STRING), "", False)
    maps, type_ = _element_maps(arguments, context, "MAP_CONCAT")

    def made(given: list[str]) -> str:
        keys = f"list_concat({', '.join(f'map_keys({m})' for m in given)})"
        values = f"list_concat({', '.join(f'map_values({m})' for m in given)})"
        tests = " OR ".join(f"{m} IS NULL" for m in given)
        return f"CASE WHEN {tests} THEN NULL ELSE {checked_map('MAP_CONCAT', keys, values)} END"

    return Bound(let_all([m.sql for m in maps], made), type_, "")


def _union(arguments: list[Bound], context: Context) -> Bound:
    """Flink's: the later value wins."""
    maps, type_ = _element_maps(arguments, context, "MAP_UNION")
    if len(maps) == 1:
        return Bound(maps[0].sql, type_, "")
    return Bound(with_all(maps, f"map_concat({', '.join(m.sql for m in maps)})"), type_, "")


def _contains_key(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    a, key = arguments
    return f"map_contains({a.sql}, {coerce(key, a.type.children[0].type, context).sql})"


def _entries(arguments: Sequence[Bound]) -> DataType:
    key, value = arguments[0].type.children
    return array_of(DataType(Kind.ROW, children=(Field("key", key.type, False), Field("value", value.type))), False)


def _from_arrays(arguments: list[Bound], context: Context) -> Bound:
    keys, values = arguments
    sql = checked_map("MAP_FROM_ARRAYS", keys.sql, values.sql)
    return Bound(sql, map_of(element_of(keys), element_of(values)), "", volatile=True)


def _from_entries(arguments: list[Bound], context: Context) -> Bound:
    a = arguments[0]
    entry = element_of(a)
    if entry.kind is Kind.NULL:
        return Bound(f"CAST(NULL AS {duckdb_name(map_of(NULL, NULL))})", map_of(NULL, NULL), "")
    if entry.kind is not Kind.ROW or len(entry.children) != 2:
        raise BergError(ErrorCode.TYPE, "MAP_FROM_ENTRIES takes an array of structs of two fields.")
    key, value = (f.type for f in entry.children)

    def made(x: str) -> str:
        parts = (each(x, lambda e, i=i: f"struct_extract_at({e}, {i})") for i in (1, 2))  # type: ignore[misc]
        return f"CASE WHEN coalesce(list_position({x}, NULL), 0) = 0 THEN {checked_map('MAP_FROM_ENTRIES', *parts)} END"

    return Bound(let(a.sql, made), map_of(key, value), "", volatile=True)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("map_concat", "s", "M*", 0, _concat, volatile=True),
    Scalar("map_union", "f", "M+", 0, _union),
    Scalar("map_contains_key", "s", "Ma", BOOLEAN, _contains_key),
    Scalar("map_entries", "fs", "M", _entries, "map_entries({0})"),
    Scalar("map_from_arrays", "fs", "AA", 0, _from_arrays),
    Scalar("map_from_entries", "s", "A", 0, _from_entries),
)
