"""Which columns a name can mean at a place in a query.

A scope holds the relations of one FROM clause; its parent is the scope of the query around it (a correlated subquery
sees both). A column's name is compared as the flavour compares identifiers: exactly in flink, without case in spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean, not_supported
from bergsql.engine.plan.bound import Bound, Origin, identifier
from bergsql.engine.plan.records import Record
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import DataType, Field, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import OutputColumn

METADATA_COLUMNS = frozenset({"_file", "_pos", "_partition", "_spec_id", "_deleted", "_row_id"})
"""Columns that Iceberg adds to every table in Spark."""


class SourceColumn(Record):
    """A column of a relation in FROM. ``sql`` reads it anywhere in that query."""

    __slots__ = ("name", "nullable", "origin", "sql", "type")

    def __init__(
        self, name: str, sql: str, type: DataType, nullable: bool = True, origin: Origin | None = None
    ) -> None:
        self.name = name
        self.sql = sql
        self.type = type
        self.nullable = nullable
        self.origin = origin


class Source(NamedTuple):
    """A relation in FROM. ``names`` is the dotted name it answers to: its alias, or the parts of its full name."""

    names: tuple[str, ...]
    columns: list[SourceColumn]
    has_metadata_columns: bool = False


class Scope:
    """The relations of a FROM clause, and the scope around.

    star
        What ``*`` stands for, when a USING or NATURAL join merges columns; None: all columns of all sources.
    merged
        Columns merged by USING, by folded name: what the bare name means.
    outer
        Names that were found further out.
    slots
        The scans below this FROM: a condition here may be pushed to these, and to no others.
    """

    __slots__ = ("flavour", "merged", "outer", "parent", "slots", "sources", "star")

    def __init__(self, flavour: Flavour, parent: Scope | None = None) -> None:
        self.flavour = flavour
        self.parent = parent
        self.sources: list[Source] = []
        self.star: list[SourceColumn] | None = None
        self.merged: dict[str, SourceColumn] = {}
        self.outer: list[str] = []
        self.slots: set[int] = set()

    def same(self, a: str, b: str) -> bool:
        return a == b if self.flavour is Flavour.FLINK else a.casefold() == b.casefold()

    def fold(self, name: str) -> str:
        return name if self.flavour is Flavour.FLINK else name.casefold()

    def all_columns(self) -> list[SourceColumn]:
        if self.star is not None:
            return self.star
        return [column for source in self.sources for column in source.columns]

    def source(self, parts: Sequence[str]) -> list[Source]:
        """The relations that a dotted name such as ``t`` or ``db.t`` names."""
        return [s for s in self.sources if self._names(s, parts)]

    def _names(self, source: Source, parts: Sequence[str]) -> bool:
        if not source.names or len(parts) > len(source.names):
            return False
        return all(self.same(a, b) for a, b in zip(reversed(source.names), reversed(parts), strict=False))


def resolve(scope: Scope, parts: Sequence[str], spans: Sequence[Span | None]) -> tuple[Bound, int]:
    """What a dotted name means: a column, and how many of the parts its name took (the rest are fields of it).

    :raises BergError: NOT_FOUND with the nearest name as hint, or INVALID when it is ambiguous.
    """
    at: Scope | None = scope
    while at is not None:
        found = _in_scope(at, parts, spans)
        if found is not None:
            inner: Scope | None = scope
            while inner is not None and inner is not at:
                inner.outer.append(parts[found[1] - 1])
                inner = inner.parent
            return found
        at = at.parent
    raise _not_found(scope, parts, spans)


def _in_scope(scope: Scope, parts: Sequence[str], spans: Sequence[Span | None]) -> tuple[Bound, int] | None:
    # A qualified name first: in ``t.id`` t is a table where there is one of that name.
    for taken in range(len(parts) - 1, 0, -1):
        sources = scope.source(parts[:taken])
        columns = [c for s in sources for c in s.columns if scope.same(c.name, parts[taken])]
        if len(columns) > 1:
            raise _ambiguous(parts[: taken + 1], sources, spans)
        if columns:
            return column_of(columns[0], parts[taken]), taken + 1
        if sources:
            _check_metadata_column(sources, parts[taken], spans[taken])
            if not any(scope.same(c.name, parts[0]) for s in scope.sources for c in s.columns):
                known = [c.name for s in sources for c in s.columns]
                raise _unknown(".".join(parts[: taken + 1]), parts[taken], known, _span(spans, taken), scope.flavour)
    merged = scope.merged.get(scope.fold(parts[0]))
    if merged is not None:
        return column_of(merged, parts[0]), 1
    found = [c for s in scope.sources for c in s.columns if scope.same(c.name, parts[0])]
    if len(found) > 1:
        raise _ambiguous(parts[:1], [s for s in scope.sources if any(c in found for c in s.columns)], spans)
    return (column_of(found[0], parts[0]), 1) if found else None


def column_of(column: SourceColumn, written: str) -> Bound:
    """A reference to a column. Its name is as it was written, as Spark names a result's columns."""
    return Bound(column.sql, column.type, written, nullable=column.nullable, name=written, origin=column.origin)


def _span(spans: Sequence[Span | None], last: int) -> Span | None:
    first, end = spans[0], spans[last]
    return Span(first.start, end.end) if first and end else end or first


def _ambiguous(parts: Sequence[str], sources: list[Source], spans: Sequence[Span | None]) -> BergError:
    names = [s.names[-1] for s in sources if s.names]
    where = f": it is in {' and in '.join(names)}" if len(set(names)) > 1 else ""
    return BergError(
        ErrorCode.INVALID,
        f"Column '{'.'.join(parts)}' is ambiguous{where}.",
        span=_span(spans, len(parts) - 1),
        hint=f"Write {names[0]}.{parts[-1]}." if where else "Give the columns different names.",
    )


def _check_metadata_column(sources: list[Source], name: str, span: Span | None) -> None:
    if name.casefold() in METADATA_COLUMNS and any(s.has_metadata_columns for s in sources):
        raise not_supported(f"The metadata column '{name}'", span)


def _scopes(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _not_found(scope: Scope, parts: Sequence[str], spans: Sequence[Span | None]) -> BergError:
    sources = [s for sc in _scopes(scope) for s in sc.sources]
    _check_metadata_column(sources, parts[0], spans[0])
    if len(parts) > 1:
        tables = [s.names[-1] for s in sources if s.names]
        columns = [c.name for s in sources for c in s.columns]
        name = ".".join(parts)
        hint = did_you_mean(parts[0], [*tables, *columns])
        if tables and hint is None:
            hint = f"FROM names {', '.join(dict.fromkeys(tables))}."
        return BergError(ErrorCode.NOT_FOUND, f"Column '{name}' was not found.", span=_span(spans, 1), hint=hint)
    return _unknown(parts[0], parts[0], [c.name for s in sources for c in s.columns], spans[0], scope.flavour)


def _unknown(name: str, last: str, known: list[str], span: Span | None, flavour: Flavour) -> BergError:
    same = [k for k in known if k.casefold() == last.casefold()]
    if same and flavour is Flavour.FLINK:
        hint: str | None = f"Did you mean '{same[0]}'? Names are case-sensitive in the flink dialect."
    else:
        hint = did_you_mean(last, known)
        if hint is None and known:
            shown = list(dict.fromkeys(known))
            more = ", …" if len(shown) > 10 else ""
            hint = f"Columns here: {', '.join(shown[:10])}{more}."
    return BergError(ErrorCode.NOT_FOUND, f"Column '{name}' was not found.", span=span, hint=hint)


def field_of(bound: Bound, name: str, span: Span | None, flavour: Flavour) -> Bound:
    """A field of a struct, by name.

    :raises BergError: NOT_FOUND when the struct has no such field, TYPE when it is none.
    """
    if bound.type.kind is Kind.MAP and flavour is Flavour.SPARK:
        return Bound(f"{bound.sql}[{_string(name)}]", bound.type.children[1].type, f"{bound.text}.{name}", name=name)
    if bound.type.kind is Kind.ARRAY and bound.type.children[0].type.kind is Kind.ROW and flavour is Flavour.SPARK:
        element = field_of(Bound("x", bound.type.children[0].type, ""), name, span, flavour)
        return Bound(
            f"list_transform({bound.sql}, lambda x: {element.sql})",
            DataType(Kind.ARRAY, children=(Field("element", element.type),)),
            f"{bound.text}.{name}",
            name=name,
        )
    if bound.type.kind is not Kind.ROW:
        what = bound.name or bound.text
        raise BergError(ErrorCode.TYPE, f"'{what}' is not a struct: it has no field '{name}'.", span=span)
    for child in bound.type.children:
        if child.name == name or (flavour is Flavour.SPARK and child.name.casefold() == name.casefold()):
            return Bound(
                f"struct_extract({bound.sql}, {_string(child.name)})",
                child.type,
                f"{bound.text}.{name}",
                nullable=bound.nullable or child.nullable,
                name=name,
                origin=_dotted(bound.origin, child.name),
            )
    raise _unknown(f"{bound.name or bound.text}.{name}", name, [c.name for c in bound.type.children], span, flavour)


def _dotted(origin: Origin | None, name: str) -> Origin | None:
    return Origin(origin.slot, f"{origin.column}.{name}") if origin and "." not in name else None


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def derived_columns(columns: Sequence[OutputColumn], alias: str) -> tuple[list[SourceColumn], list[str]]:
    """The columns of a derived relation, and names for them in DuckDB that differ even without case."""
    taken: set[str] = set()
    found: list[SourceColumn] = []
    inner: list[str] = []
    for column in columns:
        unique, n = column.name, 0
        while unique.casefold() in taken:
            n += 1
            unique = f"{column.name}_{n}"
        taken.add(unique.casefold())
        inner.append(identifier(unique))
        sql = f"{identifier(alias)}.{identifier(unique)}"
        found.append(SourceColumn(column.name, sql, column.type, column.nullable, column.origin))
    return found, inner
