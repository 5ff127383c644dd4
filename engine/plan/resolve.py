"""A dotted name looked up in a scope: the column it means, and the fields of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.plan.bound import Bound, Origin
from bergsql.engine.plan.images import Image
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import distinct_names, string_literal
from bergsql.engine.sql.types import DataType, Field, Kind

METADATA_COLUMNS = frozenset({"_file", "_pos", "_partition", "_spec_id", "_deleted"})
ROW_LINEAGE = frozenset({"_row_id", "_last_updated_sequence_number"})


def resolve(scope: Scope, parts: Sequence[str], spans: Sequence[Span | None]) -> tuple[Bound, int, bool]:
    """What a dotted name means: a column, how many of the parts its name took (the rest are fields of it), and whether
    it is one of ``scope`` itself, not of a query around.

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
            return *found, at is scope
        at = at.parent
    raise _not_found(scope, parts, spans)


def _in_scope(scope: Scope, parts: Sequence[str], spans: Sequence[Span | None]) -> tuple[Bound, int] | None:
    # A qualified name first: in ``t.id`` t is a table where there is one of that name.
    for taken in range(len(parts) - 1, 0, -1):
        sources = scope.source(parts[:taken])
        columns = scope.columns(parts[taken], sources) or scope.hidden(parts[taken], sources) if sources else []
        if len(columns) > 1:
            raise _ambiguous(parts[: taken + 1], sources, spans)
        if columns:
            return column_of(columns[0], parts[taken]), taken + 1
        if sources and not scope.columns(parts[0]):
            _check_metadata_column(sources, parts[taken], _span(spans, taken))
            known = [c.name for s in sources for c in s.columns]
            raise unknown_name(".".join(parts[: taken + 1]), parts[taken], known, _span(spans, taken), scope.flavour)
    merged = scope.merged.get(scope.fold(parts[0]))
    if merged is not None:
        return column_of(merged, parts[0]), 1
    found = scope.columns(parts[0]) or scope.hidden(parts[0])
    if len(found) > 1:
        raise _ambiguous(parts[:1], [s for s in scope.sources if any(c in found for c in _all_columns(s))], spans)
    return (column_of(found[0], parts[0]), 1) if found else None


def column_of(column: SourceColumn, written: str) -> Bound:
    """A reference to a column. Its name is as it was written, as Spark names a result's columns."""
    found = Bound(column.sql, column.type, written, nullable=column.nullable, name=written, origin=column.origin)
    found.images = column.images
    return found


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
        hint=f"Write {names[0]}.{parts[-1]}." if where else _distinct_hint(names),
    )


def _distinct_hint(names: list[str]) -> str:
    return "Give the columns different names." if len(names) < 2 else "Give each of the relations its own alias."


def _all_columns(source: Source) -> list[SourceColumn]:
    return [*source.columns, *(source.hidden() if source.hidden is not None else ())]


def _check_metadata_column(sources: list[Source], name: str, span: Span | None) -> None:
    """Say why a metadata column is not there, if it is one."""
    folded = name.casefold()
    if any(s.hidden is not None for s in sources):
        message = f"Column '{name}' was not found."
        if folded in ROW_LINEAGE:
            hint = "Tables have this metadata column from format version 3 on."
            raise BergError(ErrorCode.NOT_FOUND, message, span=span, hint=hint)
    if folded in METADATA_COLUMNS | ROW_LINEAGE:
        message = f"Column '{name}' was not found."
        hint = f"A metadata column is read where its table stands in FROM, as '{folded}'."
        if name != folded and any(s.hidden is not None for s in sources):
            hint = f"Did you mean '{folded}'? Names are case-sensitive in the flink dialect."
        elif any(s.of_metadata for s in sources):
            hint = "Metadata tables have no metadata columns: those are of the rows of the table itself."
        raise BergError(ErrorCode.NOT_FOUND, message, span=span, hint=hint)


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
            hint = f"Tables here: {', '.join(dict.fromkeys(tables))}."
        return BergError(ErrorCode.NOT_FOUND, f"Column '{name}' was not found.", span=_span(spans, 1), hint=hint)
    return unknown_name(parts[0], parts[0], [c.name for s in sources for c in s.columns], spans[0], scope.flavour)


def unknown_name(name: str, last: str, known: list[str], span: Span | None, flavour: Flavour) -> BergError:
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
        value = bound.type.children[1].type
        sql = f"{bound.sql}[{string_literal(name)}]"
        return Bound.of(sql, value, f"{bound.text}.{name}", bound, nullable=True, name=name)
    if bound.type.kind is Kind.ARRAY and bound.type.children[0].type.kind is Kind.ROW and flavour is Flavour.SPARK:
        element = field_of(Bound("x", bound.type.children[0].type, ""), name, span, flavour)
        type_ = DataType(Kind.ARRAY, children=(Field("element", element.type),))
        sql = f"list_transform({bound.sql}, lambda x: {element.sql})"
        return Bound.of(sql, type_, f"{bound.text}.{name}", bound, name=name)
    if bound.type.kind is not Kind.ROW:
        what = bound.name or bound.text
        raise BergError(ErrorCode.TYPE, f"'{what}' is not a struct: it has no field '{name}'.", span=span)
    children, spark = bound.type.children, flavour is Flavour.SPARK
    same = [i for i, c in enumerate(children) if c.name == name or (spark and c.name.casefold() == name.casefold())]
    whole = f"{bound.name or bound.text}.{name}"
    if not same:
        raise unknown_name(whole, name, [c.name for c in children], span, flavour)
    if len(same) > 1:
        names = " and ".join(f"'{children[i].name}'" for i in same)
        raise BergError(ErrorCode.INVALID, f"Field '{whole}' is ambiguous: the struct has {names}.", span=span)
    return part_of(bound, same[0], name)


def part_of(bound: Bound, place: int, name: str) -> Bound:
    """The field of a struct at a place, called ``name`` where it was written."""
    child = bound.type.children[place]
    unique = distinct_names(c.name for c in bound.type.children)[place]
    found = Bound.of(
        f"struct_extract({bound.sql}, {string_literal(unique)})",
        child.type,
        f"{bound.text}.{name}",
        bound,
        nullable=bound.nullable or child.nullable,
        name=name,
    )
    if bound.origin is not None:
        found.origin = Origin(bound.origin.slot, (*bound.origin.path, child.name))
    elif bound.images:
        found.images = tuple(
            Image(Origin(i.origin.slot, (*i.origin.path, child.name)), child.type) for i in bound.images if not i.steps
        )
    return found
