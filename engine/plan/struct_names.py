"""Fields of structs matched by name: how Spark's UPDATE and MERGE store a struct (its INSERT goes by position)."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.plan.sql_text import each, let
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.types import DataType, Field, Kind


def by_name(value: str, source: DataType, target: DataType, column: str, span: Span | None) -> tuple[str, DataType]:
    """``value`` (SQL of ``source``) with the fields of its structs in the order of ``target``, and its type then.

    :raises BergError: NOT_FOUND at ``span`` for a field that the value lacks or the column does.
    """
    if source.kind is not target.kind or source == target:
        return value, source
    if source.kind is Kind.ROW:
        return _struct(value, source, target, column, span)
    if source.kind is Kind.ARRAY:
        return _array(value, source, target, column, span)
    if source.kind is Kind.MAP:
        return _map(value, source, target, column, span)
    return value, source


def _struct(value: str, source: DataType, target: DataType, column: str, span: Span | None) -> tuple[str, DataType]:
    places = [_place(source, field.name, column, span) for field in target.children]
    wanted = {f.name.casefold() for f in target.children}
    for extra in source.children:
        if extra.name.casefold() not in wanted:
            names = [f.name for f in target.children]
            message = f"The struct has a field '{extra.name}', and column '{column}' has none of that name."
            hint = did_you_mean(extra.name, names) or f"Its fields are {', '.join(names)}."
            raise BergError(ErrorCode.NOT_FOUND, message, span=span, hint=hint)

    def part(struct: str, n: int) -> tuple[str, Field]:
        field, to = source.children[places[n]], target.children[n]
        access = f"struct_extract_at({struct}, {places[n] + 1})"
        sql, type_ = by_name(access, field.type, to.type, f"{column}.{to.name}", span)
        return sql, field._replace(type=type_)

    numbers = range(len(places))
    if places == list(numbers) and all(part("s", n)[0] == f"struct_extract_at(s, {n + 1})" for n in numbers):
        return value, source
    fields = tuple(part("s", n)[1] for n in numbers)
    names = distinct_names(f.name for f in fields)

    def packed(struct: str) -> str:
        items = (f"{identifier(name)} := {part(struct, n)[0]}" for n, name in enumerate(names))
        return f"CASE WHEN {struct} IS NOT NULL THEN struct_pack({', '.join(items)}) END"

    return let(value, packed), source._replace(children=fields)


def _place(source: DataType, name: str, column: str, span: Span | None) -> int:
    found = [i for i, f in enumerate(source.children) if f.name.casefold() == name.casefold()]
    if not found:
        names = ", ".join(f.name for f in source.children)
        message = f"The struct has no field '{name}', which column '{column}' needs: it has {names}."
        hint = f"named_struct('{name}', …) names fields; SET {column}.{name} = … changes one."
        raise BergError(ErrorCode.NOT_FOUND, message, span=span, hint=hint)
    if len(found) > 1:
        raise BergError(ErrorCode.INVALID, f"The struct has the field '{name}' twice.", span=span)
    return found[0]


def _array(value: str, source: DataType, target: DataType, column: str, span: Span | None) -> tuple[str, DataType]:
    (element,), (to,) = source.children, target.children
    sql, type_ = by_name("x", element.type, to.type, f"{column}.element", span)
    if sql == "x":
        return value, source
    changed = each(value, lambda x: by_name(x, element.type, to.type, f"{column}.element", span)[0])
    return changed, source._replace(children=(element._replace(type=type_),))


def _map(value: str, source: DataType, target: DataType, column: str, span: Span | None) -> tuple[str, DataType]:
    parts = [
        (s, *by_name("x", s.type, t.type, f"{column}.{what}", span), t, what)
        for s, t, what in zip(source.children, target.children, ("key", "value"), strict=True)
    ]
    if all(sql == "x" for _, sql, *_ in parts):
        return value, source

    def entry(e: str) -> str:
        items = (f"'{w}': {by_name(f'{e}.{w}', s.type, t.type, f'{column}.{w}', span)[0]}" for s, _, _, t, w in parts)
        return f"{{{', '.join(items)}}}"

    def changed(m: str) -> str:
        return f"CASE WHEN {m} IS NOT NULL THEN map_from_entries({each(f'map_entries({m})', entry)}) END"

    children = tuple(s._replace(type=type_) for s, _, type_, _, _ in parts)
    return let(value, changed), source._replace(children=children)
