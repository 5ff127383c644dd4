"""A view as text: its query with full names, and the statement that would make it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.definitions import Found, View, temporary_named
from bergsql.engine.execute.options import option_text
from bergsql.engine.plan.from_clause import table_parts
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import table_name_span
from bergsql.engine.sql.quoting import flink_identifier, flink_text, spark_identifier, spark_text

if TYPE_CHECKING:
    from bergsql.engine.relations import SessionRelations
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Query


def full_text(session: Session, query: Query, relations: SessionRelations, *, lasting: bool) -> str:
    """The query's text with the full name of each table, so that it means the same from everywhere.

    :raises BergError: NOT_FOUND; INVALID where a ``lasting`` view of Spark's would read a temporary one.
    """
    quote = spark_identifier if session.flavour is Flavour.SPARK else flink_identifier
    named = {c.alias.casefold() for c in query.ast.find_all(exp.CTE)}
    places = []
    for table in query.ast.find_all(exp.Table):
        span = table_name_span(table)
        if span is None or not isinstance(table.this, exp.Identifier | exp.Dot):
            continue
        parts = tuple(table_parts(table))
        if len(parts) == 1 and parts[0].casefold() in named:
            continue
        temporary = temporary_named(session, parts, span)
        if temporary is not None and lasting and session.flavour is Flavour.SPARK:
            raise BergError(
                ErrorCode.INVALID,
                f"The view would read the temporary view {temporary}, and outlast it.",
                span=span,
                hint="CREATE TEMPORARY VIEW may read temporary views.",
            )
        relation = relations.resolve(parts, span)
        suffix = getattr(relation, "suffix", None) or getattr(relation, "reference", None)
        full = (*relation.parts, suffix) if suffix else relation.parts
        places.append((span, ".".join(map(quote, full))))
    text = query.text
    for span, name in sorted(places, key=lambda place: place[0].start, reverse=True):
        start, end = span.start - query.span.start, span.end - query.span.start
        text = text[:start] + name + text[end:]
    return text


def create_view(found: Found, flavour: Flavour) -> str:
    """The statement that would make the view again, as the flavour's client prints it; secrets masked."""
    view = found.definition
    if not isinstance(view, View):
        raise TypeError(found)
    spark = flavour is Flavour.SPARK
    quote, text = (spark_identifier, spark_text) if spark else (flink_identifier, flink_text)
    words = "CREATE "
    if found.temporary:
        words += "GLOBAL TEMPORARY " if len(found.parts) == 2 else "TEMPORARY "
    lines = [
        f"  {quote(name)}" + (f" COMMENT {text(comment)}" if comment else "")
        for name, comment in zip(view.names, view.comments, strict=True)
    ]
    out = f"{words}VIEW {'.'.join(map(quote, found.parts))} (\n" + ",\n".join(lines) + (")\n" if spark else "\n)\n")
    if view.comment is not None:
        out += f"COMMENT {text(view.comment)}\n"
    if view.properties:
        out += f"TBLPROPERTIES (\n{option_text(view.properties, text)}" + (")\n" if spark else "\n)\n")
    return f"{out}AS {view.text}\n"
