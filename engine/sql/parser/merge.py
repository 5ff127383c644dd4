"""MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.query import parse_expression, parse_query
from bergsql.engine.sql.parser.rowlevel import assignments, changed_table, column_name, value_or_default
from bergsql.engine.sql.statements.base import Expression, Query
from bergsql.engine.sql.statements.merge import Match, Merge, MergeAction, MergeClause
from bergsql.engine.sql.statements.rowlevel import Assignment


def merge(cursor: Cursor, ctes: Sequence[Token] = ()) -> Merge:
    """``MERGE [WITH SCHEMA EVOLUTION] INTO t [AS a] USING s [AS b] ON condition WHEN … THEN …``.

    ``ctes`` are the tokens of a WITH that stood before it: the source reads its queries.
    """
    cursor.expect("MERGE")
    evolves = cursor.accept("WITH")
    if evolves:
        cursor.expect("SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    target, alias, hints = changed_table(cursor, "USING")
    cursor.expect("USING")
    source = _source(cursor, ctes)
    cursor.expect("ON")
    on = parse_expression(cursor, ("WHEN",), queries=True)
    clauses = []
    while cursor.at("WHEN"):
        clauses.append(_clause(cursor))
    if not clauses or not cursor.ends():
        raise cursor.expected(("WHEN",))
    _refuse_unreached(clauses)
    return Merge(target, alias, source, on, tuple(clauses), hints, evolves)


def _source(cursor: Cursor, ctes: Sequence[Token]) -> Query:
    """What stands between USING and ON, as ``SELECT * FROM`` it."""
    first, stop = cursor.index, _end_of_source(cursor)
    if stop == first:
        raise cursor.expected((), "a table or a query in parentheses")
    tokens = cursor.tokens[first:stop]
    start, end = tokens[0].start, tokens[-1].end
    select = [
        Token(TokenKind.WORD, "SELECT", start, start, "SELECT"),
        Token(TokenKind.OPERATOR, "*", start, start, "*"),
    ]
    select.append(Token(TokenKind.WORD, "FROM", start, start, "FROM"))
    inner = Cursor(cursor.text, [*ctes, *select, *tokens, Token(TokenKind.END, "", end, end)], cursor.flavour)
    if cursor.key in ("SELECT", "WITH", "FROM"):
        raise cursor.error("A query stands in parentheses behind USING.", tokens[0].span)
    query = parse_query(inner)
    inner.expect_end()
    for part in ("where", "group", "having", "qualify", "order", "sort", "cluster", "distribute", "limit", "offset"):
        if query.ast.args.get(part) is not None:
            raise _not_a_relation(tokens, part)
    cursor.index = stop
    return query._replace(text=cursor.text[start:end], span=Span(start, end))


def _not_a_relation(tokens: Sequence[Token], part: str) -> BergError:
    """The error of a clause of a query behind the source's name."""
    word = next((t for t in tokens if t.key == part.upper()), tokens[-1])
    hint = f"Put it in parentheses: USING (SELECT * FROM … {word.text.upper()} …) AS s ON …"
    return BergError(ErrorCode.SYNTAX, f"Expected 'ON', found '{word.text}'.", span=word.span, hint=hint)


def _end_of_source(cursor: Cursor) -> int:
    """Where the ON of the MERGE is."""
    depth, in_rows = 0, cursor.at("VALUES")
    for index in range(cursor.index, len(cursor.tokens)):
        token = cursor.tokens[index]
        depth += (token.key == "(") - (token.key == ")")
        if depth:
            continue
        if token.key in ("ON", "WHEN", ";") or token.kind is TokenKind.END:
            return index
        in_rows = in_rows and token.key != "AS"
        if token.key == "JOIN" or (token.key == "," and not in_rows):
            raise BergError(
                ErrorCode.SYNTAX,
                "MERGE reads one source.",
                span=token.span,
                hint="Put the join in parentheses: USING (SELECT … FROM a JOIN b ON …) AS s ON …",
            )
    return cursor.index


def _clause(cursor: Cursor) -> MergeClause:
    start = cursor.token.start
    cursor.expect("WHEN")
    match = _match(cursor)
    span = cursor.span_from(start)
    condition = parse_expression(cursor, ("THEN",), queries=True) if cursor.accept("AND") else None
    if not cursor.accept("THEN"):
        by = ("BY",) if match is Match.NOT_MATCHED and cursor.previous.key == "MATCHED" else ()
        raise cursor.expected(("THEN",) if condition is not None else ("AND", "THEN", *by))
    if match is Match.NOT_MATCHED:
        return _insert(cursor, condition, span)
    if cursor.expect_any("UPDATE", "DELETE") == "DELETE":
        return MergeClause(match, condition, MergeAction.DELETE, (), span)
    cursor.expect("SET")
    if cursor.at("*"):
        if match is Match.BY_SOURCE:
            raise cursor.error(
                "UPDATE SET * needs a row of the source, and WHEN NOT MATCHED BY SOURCE has none.",
                hint="Name the columns: UPDATE SET column = value, …",
            )
        return MergeClause(match, condition, MergeAction.UPDATE, (), span, cursor.advance().span)
    return MergeClause(match, condition, MergeAction.UPDATE, assignments(cursor, ("WHEN",)), span)


def _match(cursor: Cursor) -> Match:
    if cursor.accept("MATCHED"):
        return Match.MATCHED
    if not cursor.accept("NOT"):
        raise cursor.expected(("MATCHED", "NOT"))
    cursor.expect("MATCHED")
    if cursor.accept("BY") and cursor.expect_any("SOURCE", "TARGET") == "SOURCE":
        return Match.BY_SOURCE
    return Match.NOT_MATCHED


def _insert(cursor: Cursor, condition: Expression | None, span: Span) -> MergeClause:
    """``INSERT *``, ``INSERT (columns) VALUES (…)`` and ``INSERT VALUES (…)``."""
    match, action = Match.NOT_MATCHED, MergeAction.INSERT
    cursor.expect("INSERT")
    if cursor.at("*"):
        return MergeClause(match, condition, action, (), span, cursor.advance().span)
    columns: list[tuple[tuple[str, ...], tuple[Span, ...]]] | None = None
    if cursor.at("("):
        columns = cursor.list_of(lambda: column_name(cursor))
    elif not cursor.at("VALUES"):
        raise cursor.expected(("*", "(", "VALUES"))
    cursor.expect("VALUES")
    start = cursor.token.start
    values = cursor.list_of(lambda: _value(cursor))
    if columns is None:
        columns = [((), ())] * len(values)
    elif len(columns) != len(values):
        raise BergError(
            ErrorCode.ARITY,
            f"INSERT names {len(columns)} {'column' if len(columns) == 1 else 'columns'} and gives {len(values)} "
            f"{'value' if len(values) == 1 else 'values'}.",
            span=cursor.span_from(start),
        )
    pairs = zip(columns, values, strict=True)
    return MergeClause(match, condition, action, tuple(Assignment(*c, *v) for c, v in pairs), span)


def _value(cursor: Cursor) -> tuple[Expression | None, Span]:
    start = cursor.token.start
    value = value_or_default(cursor)
    return value, cursor.span_from(start)


def _refuse_unreached(clauses: Sequence[MergeClause]) -> None:
    """Refuse a clause without a condition that is not the last of its kind (Spark's rule)."""
    for number, clause in enumerate(clauses):
        if clause.condition is None and any(later.match is clause.match for later in clauses[number + 1 :]):
            raise BergError(
                ErrorCode.SYNTAX,
                f"Only the last WHEN {clause.match} can do without AND: no row would come to the ones behind it.",
                span=clause.span,
                hint=f"WHEN {clause.match} AND condition THEN …, or put this one last.",
            )
