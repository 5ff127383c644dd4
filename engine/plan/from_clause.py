"""FROM: tables, subqueries, joins and what is lateral."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.plan.bound import Origin, images_of
from bergsql.engine.plan.context import BoundQuery, Cte, OutputColumn, Planner
from bergsql.engine.plan.node_parts import form_of, refuse_unknown_parts
from bergsql.engine.plan.relations import ConnectorRelation, ViewRelation
from bergsql.engine.plan.scope import Scope, Source, SourceColumn, derived_columns
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import span_of, table_name_span
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.type_names import from_iceberg

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import IcebergRelation


def bind_from(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> tuple[Scope, str]:
    """The scope of a SELECT, and what stands behind its FROM ("" when it has none)."""
    scope = Scope(planner.flavour, parent)
    from_ = node.args.get("from_")
    if from_ is None:
        return scope, ""
    sample = node.args.get("sample")
    if sample is not None:  # written behind an alias, it is of the last relation
        last = ([from_, *(from_.this.args.get("joins") or []), *(node.args.get("joins") or [])])[-1].this
        last.set("sample", sample)
    sql = bind_relation(from_.this, scope, planner, ctes)
    sql = bind_joins(sql, from_.this.args.get("joins") or [], scope, planner, ctes)
    sql = bind_joins(sql, node.args.get("joins") or [], scope, planner, ctes)
    for lateral in node.args.get("laterals") or []:
        refuse_unknown_parts(lateral)
        sql = f"{sql} {_bind_lateral_view(lateral, scope, planner, ctes)}"
    return scope, sql


# --- relations --------------------------------------------------------------------------------------------------------


def bind_relation(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """One relation of FROM; its columns join ``scope``."""
    refuse_unknown_parts(node)
    pivots = node.args.get("pivots")
    inner = Scope(scope.flavour, scope.parent) if pivots else scope
    sample = node.args.get("sample")
    if sample is not None:
        from bergsql.engine.plan.sample import sampled

        sql = sampled(sample, lambda: _bind_plain(node, inner, planner, ctes), planner)
    else:
        sql = _bind_plain(node, inner, planner, ctes)
    if not pivots:
        return sql
    from bergsql.engine.plan.pivot import bind_pivots

    return bind_pivots(sql, pivots, inner, scope, planner, ctes)


def _bind_plain(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """The relation without its TABLESAMPLE and PIVOT."""
    if isinstance(node, exp.Table):
        return _bind_table(node, scope, planner, ctes)
    if isinstance(node, exp.Subquery):
        if isinstance(node.this, exp.Table | exp.Subquery) and not _is_query(node.this):
            return _bind_parenthesised(node, scope, planner, ctes)
        return _bind_subquery(node, node.this, scope, planner, ctes, lateral=False)
    if isinstance(node, exp.Paren):
        return _bind_parenthesised(node, scope, planner, ctes)
    if isinstance(node, exp.Values | exp.Select | exp.SetOperation):
        return _bind_subquery(node, node, scope, planner, ctes, lateral=False)
    if isinstance(node, exp.Unnest | exp.Lateral):
        return _bind_lateral(node, scope, planner, ctes)
    raise not_supported(f"{form_of(node)} in FROM", span_of(node))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query | exp.Values)


def _bind_parenthesised(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``(a JOIN b ON …)``, or ``(a)``, which is ``a``."""
    relation, alias = node.this, node.args.get("alias")
    joins = relation.args.get("joins") or []
    if alias is None and not joins:
        return bind_relation(relation, scope, planner, ctes)
    inner = Scope(scope.flavour, scope.parent)
    sql = bind_joins(bind_relation(relation, inner, planner, ctes), joins, inner, planner, ctes)
    if alias is not None:
        return _under_one_name(sql, inner, node, scope, planner)
    scope.adopt(inner)
    return f"({sql})"


def _under_one_name(sql: str, inner: Scope, node: exp.Expr, scope: Scope, planner: Planner) -> str:
    """``(a JOIN b ON …) AS j``: the columns of all its relations are columns of ``j``."""
    from bergsql.engine.plan.resolve import column_of

    alias, names = alias_of(node)
    columns = inner.all_columns()
    for column in columns:
        planner.note_read(column_of(column, column.name))
    items = ", ".join(c.sql for c in columns)
    output = [OutputColumn(c.name, c.type, c.nullable, images=images_of(c)) for c in columns]
    answers_to = (alias,) if alias else ()
    return derive(
        f"(SELECT {items} FROM {sql})", output, alias or "j", answers_to, names, scope, planner, span_of(node)
    )


def alias_of(node: exp.Expr) -> tuple[str | None, list[exp.Expr]]:
    """The alias of a relation and the names that it gives the columns."""
    alias = node.args.get("alias")
    if alias is None:
        return None, []
    name = alias.this
    return (str(name.this) if name is not None else None), list(alias.args.get("columns") or [])


def _bind_table(node: exp.Table, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    if not isinstance(node.this, exp.Identifier | exp.Dot):
        _refuse_version(node)
    if isinstance(node.this, exp.Anonymous):
        from bergsql.engine.plan.table_functions import bind_table_function

        return bind_table_function(node, scope, planner, ctes)
    if isinstance(node.this, exp.Values | exp.Query):
        return _bind_subquery(node, node.this, scope, planner, ctes, lateral=False)
    parts = table_parts(node)
    alias, names = alias_of(node)
    span = table_name_span(node)
    if len(parts) == 1 and scope.fold(parts[0]) in ctes:
        cte = ctes[scope.fold(parts[0])]
        for hint in planner.take_hints(span):
            raise BergError(ErrorCode.OPTION, f"'{parts[0]}' is a query of WITH: it has no options.", span=hint.span)
        if node.args.get("version") is not None:
            message = f"'{parts[0]}' is a query of WITH: it has no versions."
            raise BergError(ErrorCode.INVALID, message, span=span, hint="Write AS OF behind the table inside of WITH.")
        return derive(
            identifier(cte.sql_name), cte.columns, alias or parts[0], (alias or cte.name,), names, scope, planner, span
        )
    relation = planner.relations.resolve(tuple(parts), span)
    if isinstance(relation, ViewRelation):
        return _bind_view(node, relation, scope, planner)
    hints, version = planner.take_hints(span), node.args.get("version")
    if isinstance(relation, ConnectorRelation):
        from bergsql.engine.plan.hints import check_enabled

        options = [option for hint in hints for option in hint.options]
        check_enabled(options, planner.relations)
        if version is not None:
            raise _no_version(relation, version, span)
        from bergsql.engine.plan.connectors import read_connector

        sql, columns = read_connector(relation, options, planner, span)
        answers_to = (alias,) if alias else relation.parts
        return derive(sql, columns, alias or relation.parts[-1], answers_to, names, scope, planner, span)
    limit = None
    if hints or relation.options or version is not None or _is_set(planner):
        from bergsql.engine.plan.read_options import read_options
        from bergsql.engine.plan.time_travel import travelled

        asked = read_options(hints, planner.relations, span, relation.options)
        relation, limit = travelled(relation, version, asked, planner, span), asked.limit
        if asked.stream is not None and relation.suffix is None:
            from bergsql.engine.plan.streaming_options import no_stream_here

            planner.unreadable.append(no_stream_here(relation, asked.stream, span))
    return _bind_relation_of(relation, alias, names, scope, planner, span, limit, parts[-1])


def _no_version(relation: ConnectorRelation, version: exp.Expr, span: Span | None) -> BergError:
    """The error for AS OF behind a table of a connector, which is read as it is."""
    form, hint = f"AS OF behind {'.'.join(relation.parts)}, a table of a connector,", None
    if version.expression.find(exp.Column) is not None:
        form = f"FOR SYSTEM_TIME AS OF a column, in a batch, behind {'.'.join(relation.parts)}"
        hint = (
            "Leave it out: a batch joins with the table as it is now. Lookup joins are of streams: "
            "SET 'execution.runtime-mode' = 'streaming';"
        )
    return not_supported(form, span_of(version) or span, hint)


def _refuse_version(node: exp.Table) -> None:
    """Refuse time travel behind what is no table."""
    version = node.args.get("version")
    if version is not None:
        what = "A table function" if isinstance(node.this, exp.Anonymous) else "A query"
        place = span_of(version) or span_of(node)
        message = f"{what} has no versions: {version.name} AS OF stands behind the name of a table."
        raise BergError(ErrorCode.INVALID, message, span=place)


def _is_set(planner: Planner) -> bool:
    """Whether a read option is set for every read."""
    setting = planner.relations.setting
    return setting("connector.iceberg.limit") is not None or setting("connector.iceberg.streaming") == "true"


def _bind_view(node: exp.Table, view: ViewRelation, scope: Scope, planner: Planner) -> str:
    from bergsql.engine.plan.views import bind_view

    alias, names = alias_of(node)
    span = table_name_span(node)
    for hint in planner.take_hints(span):
        raise BergError(ErrorCode.OPTION, f"'{view.parts[-1]}' is a view: it has no options.", span=hint.span)
    if node.args.get("version") is not None:
        raise BergError(ErrorCode.INVALID, f"View {'.'.join(view.parts)} has no versions.", span=span)
    bound = bind_view(view, planner, span)
    answers_to = (alias,) if alias else view.parts
    return derive(f"({bound.sql})", bound.columns, alias or view.parts[-1], answers_to, names, scope, planner, span)


def table_parts(node: exp.Expr) -> list[str]:
    """The parts of a table's name, first to last."""
    parts = [node.args.get("catalog"), node.args.get("db")]
    found = [str(p.this) for p in parts if p is not None]
    last = node.this
    if isinstance(last, exp.Dot):
        found.extend(str(i.this) for i in _dotted(last))
    else:
        found.append(str(last.this))
    return found


def _dotted(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Dot):
        return [*_dotted(node.this), *_dotted(node.expression)]
    return [node]


def _bind_relation_of(
    relation: IcebergRelation,
    alias: str | None,
    names: list[exp.Expr],
    scope: Scope,
    planner: Planner,
    span: Span | None,
    limit: int | None,
    written: str,
) -> str:
    if relation.suffix is not None:
        return _bind_metadata_table(relation, alias, names, scope, planner, span, limit, written)
    number = planner.slot(relation)
    columns = [
        OutputColumn(f.name, from_iceberg(f.type), not f.required, Origin(number, (f.name,)))
        for f in relation.schema.fields
    ]
    scope.slots.add(number)
    sql = _limited(planner, number, limit)
    answers_to = (alias,) if alias else relation.parts
    if relation.reference is not None and alias is None:
        answers_to = (*relation.parts, relation.reference)
    return derive(sql, columns, alias or relation.parts[-1], answers_to, names, scope, planner, span, slot=number)


def bind_iceberg(
    relation: IcebergRelation, alias: str | None, scope: Scope, planner: Planner, span: Span | None
) -> str:
    """An Iceberg table that a statement names outside of FROM; its columns join ``scope``."""
    return _bind_relation_of(relation, alias, [], scope, planner, span, None, relation.parts[-1])


def _bind_metadata_table(
    relation: IcebergRelation,
    alias: str | None,
    names: list[exp.Expr],
    scope: Scope,
    planner: Planner,
    span: Span | None,
    limit: int | None,
    written: str,
) -> str:
    from bergsql.engine.plan.metadata_tables import names_of, output_columns

    number = planner.slot(relation)
    columns = output_columns(relation, number, span)
    answers_to = (alias,) if alias else names_of(relation, written)
    sql = _limited(planner, number, limit)
    return derive(sql, columns, alias or written, answers_to, names, scope, planner, span, slot=number)


def _limited(planner: Planner, number: int, limit: int | None) -> str:
    """The scan ``number``, of at most ``limit`` rows."""
    slot = planner.slots[number]
    if limit is None:
        return slot.mark
    slot.sampled, slot.limit = True, limit
    return f"(SELECT * FROM {slot.mark} LIMIT {limit})"


def derive(
    sql: str,
    columns: list[OutputColumn],
    wanted: str,
    answers_to: tuple[str, ...],
    names: list[exp.Expr],
    scope: Scope,
    planner: Planner,
    span: Span | None,
    *,
    slot: int | None = None,
) -> str:
    """A relation with an alias; its columns join the scope. ``slot``: the scan that it is."""
    from bergsql.engine.plan.ctes import rename

    columns = rename(columns, names, wanted, span)
    alias = planner.alias(wanted)
    found, inner = derived_columns(columns, alias)
    if slot is not None:
        # The scan gives only the columns that the query reads, under the table's own names.
        called = _scanned_names(planner.slots[slot].relation)
        for column, origin in zip(found, (c.origin for c in columns), strict=True):
            name = origin.column if origin else column.name
            column.sql = f"{identifier(alias)}.{identifier(called.get(name, name))}"
    _refuse_same_name(scope, answers_to, span)
    hidden = None
    of_metadata = slot is not None and planner.slots[slot].relation.suffix is not None
    if slot is not None and not of_metadata:
        hidden = _metadata_columns(planner, slot, alias, scope)
    scope.add(Source(answers_to, found, hidden, of_metadata))
    scope.slots.update(i.origin.slot for c in columns for i in images_of(c))
    if slot is not None:
        return f"{sql} AS {identifier(alias)}"
    return f"{sql} AS {identifier(alias)}({', '.join(inner)})"


def _scanned_names(relation: IcebergRelation) -> Mapping[str, str]:
    """What the scan of a relation calls its columns; a metadata table's have their own names."""
    if relation.suffix is not None:
        return {}
    from bergsql.engine.table.column_names import scanned_names

    return scanned_names(relation.schema)


def _metadata_columns(planner: Planner, slot: int, alias: str, scope: Scope) -> Callable[[], Sequence[SourceColumn]]:
    """The metadata columns that the scan ``slot`` gives for names; those that the table's own columns hide are left
    out."""
    made: list[SourceColumn] = []
    relation = planner.slots[slot].relation

    def columns() -> Sequence[SourceColumn]:
        if not made:
            called = _scanned_names(relation)
            from bergsql.engine.table.metadata_columns import metadata_fields

            own = {scope.fold(field.name) for field in relation.schema.fields}
            made.extend(
                SourceColumn(
                    name,
                    f"{identifier(alias)}.{identifier(called[name])}",
                    from_iceberg(field.type),
                    not field.required,
                    Origin(slot, (name,)),
                )
                for name, field in metadata_fields(relation.table.metadata).items()
                if scope.fold(name) not in own
            )
        if planner.slots[slot].padded:  # by an outer join that came since
            for column in made:
                column.nullable = True
        return made

    return columns


def _refuse_same_name(scope: Scope, names: tuple[str, ...], span: Span | None) -> None:
    if not names or scope.flavour is Flavour.SPARK:  # Spark only minds when a name is ambiguous
        return
    if any(len(source.names) == len(names) for source in scope.source(names)):
        raise BergError(
            ErrorCode.INVALID,
            f"FROM names '{'.'.join(names)}' twice.",
            span=span,
            hint="Give each its own alias.",
        )


def _bind_subquery(
    node: exp.Expr, query: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte], *, lateral: bool
) -> str:
    from bergsql.engine.plan.select import bind_query

    alias, names = alias_of(node)
    bare = node if isinstance(node, exp.Subquery) else query
    bound: BoundQuery
    if bare is not query and any(bare.args.get(k) for k in ("order", "limit", "offset", "with_")):
        bound = bind_query(bare, planner, scope if lateral else scope.parent, ctes)
    else:
        bound = bind_query(query, planner, scope if lateral else scope.parent, ctes)
    word = "LATERAL " if lateral else ""
    return derive(
        f"{word}({bound.sql})",
        bound.columns,
        alias or "q",
        (alias,) if alias else (),
        names,
        scope,
        planner,
        span_of(node),
    )


# --- joins ------------------------------------------------------------------------------------------------------------


def bind_joins(sql: str, joins: list[exp.Expr], scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``sql`` joined to each of ``joins``."""
    if not joins:
        return sql
    from bergsql.engine.plan.join_clause import bind_join, commas_last

    for join in joins if planner.spark else commas_last(joins):
        sql = bind_join(sql, join, scope, planner, ctes)
    return sql


# --- lateral ----------------------------------------------------------------------------------------------------------


def _bind_lateral(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``UNNEST(array)``, ``LATERAL (SELECT …)``, ``LATERAL TABLE(f(x))``."""
    if isinstance(node, exp.Unnest):
        from bergsql.engine.plan.table_functions import bind_unnest

        return bind_unnest(node, scope, planner, ctes)
    inner = node.this
    if isinstance(inner, exp.Unnest):  # LATERAL changes nothing for it
        inner = inner.copy()
        inner.set("alias", inner.args.get("alias") or node.args.get("alias"))
        inner.set("offset", inner.args.get("offset") or node.args.get("ordinality"))
        return bind_relation(inner, scope, planner, ctes)
    if isinstance(inner, exp.Subquery):
        inner = inner.this
    if isinstance(inner, exp.Query | exp.Values):
        return _bind_subquery(node, inner, scope, planner, ctes, lateral=True)
    from bergsql.engine.plan.table_functions import bind_lateral_function

    return bind_lateral_function(node, inner, scope, planner, ctes)


def _bind_lateral_view(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    from bergsql.engine.plan.table_functions import bind_lateral_view

    return bind_lateral_view(node, scope, planner, ctes)
