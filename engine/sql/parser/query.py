"""Queries and expressions: a slice of the statement's tokens becomes a sqlglot tree.

One grammar for both flavours: sqlglot's Spark *parser* class (not its dialect, nor its tokenizer) is fed with tokens of
our lexer. Neither the Spark dialect nor any generator is imported. **The tree says what was written**: nothing in it
has been translated, renamed, case-folded or optimised. What it looks like (plan/ relies on this):

Calls
    Every call is ``exp.Anonymous(this=<name as written, str>, expressions=[…])``: aggregates, ``COUNT(*)`` (an
    ``exp.Star`` argument), ``IF(…)``, ``LEFT(…)``, ``DATE(x)`` and the constructors ``ROW(…)``, ``STRUCT(…)``,
    ``NAMED_STRUCT(…)`` (in STRUCT alone an argument may be an ``exp.Alias``). No call ever is a typed node such as
    ``exp.Sum``; ``exp.func(name, *args, dialect="spark")`` builds one where that is wanted. ``ARRAY[a, b]`` is
    ``Anonymous ARRAY(a, b)`` and ``MAP['k', v]`` is ``Anonymous MAP('k', v)``, just as Spark's ``array(…)`` and
    ``map(…)``. A dotted call ``c.system.bucket(4, x)`` is ``exp.Dot(…, Anonymous)``. Around a call: ``exp.Distinct``
    as the only argument (``COUNT(DISTINCT a, b)``), ``exp.Order`` around the last argument (``LISTAGG(a ORDER BY
    b)``), ``exp.IgnoreNulls``/``exp.RespectNulls``, ``exp.Filter``, ``exp.WithinGroup``, ``exp.Window``. Calls with
    words inside are calls with commas: ``SUBSTRING(x FROM 1 FOR 2)`` is ``SUBSTRING(x, 1, 2)``, ``POSITION(a IN b)``
    is ``POSITION(a, b)``, ``OVERLAY(a PLACING b FROM 1 FOR 2)`` is ``OVERLAY(a, b, 1, 2)``, ``CEIL(x TO DAY)`` is
    ``CEIL(x, 'DAY')`` (a string literal), ``JSON_OBJECT(KEY 'k' VALUE v)`` is ``JSON_OBJECT('k', v)``. ``TRIM(BOTH c
    FROM x)`` is ``exp.Trim`` (``TRIM(x)`` and ``TRIM(a, b)`` are calls), ``EXTRACT(DAY FROM x)`` is ``exp.Extract``.
    Without parentheses, ``CURRENT_DATE``, ``CURRENT_TIMESTAMP``, ``LOCALTIMESTAMP`` and the like are sqlglot's nodes
    (``exp.CurrentDate`` …). Units such as the DAY of ``TIMESTAMPADD(DAY, 1, x)`` are columns.
Types
    ``CAST(x AS T)``, ``TRY_CAST(x AS T)`` and ``x::T`` are ``exp.Cast``/``exp.TryCast`` whose ``to`` is an opaque
    ``exp.DataType``: :func:`declared_type` gives our :class:`DataType` of it (parsed by type_parser, so both flavours'
    names and ``ROW<…>``, ``TIMESTAMP_LTZ(3)``, ``BYTES``, ``INTERVAL DAY`` work; TIMESTAMP is by flavour).
Literals
    ``DATE '…'``, ``TIME '…'``, ``TIMESTAMP '…'``, ``TIMESTAMP_NTZ '…'``, ``TIMESTAMP_LTZ '…'`` are ``exp.Cast`` of a
    string with ``meta["literal"] is True``; in flink the type's precision is the number of fraction digits written.
    Spark's ``1L``, ``1S``, ``1Y``, ``1.0D``, ``1.0F``, ``1.5BD`` are ``exp.Cast`` of a number, ``meta["literal"]``
    too. ``X'0aff'`` is ``exp.HexString(this="0aff")``. Intervals are ``exp.Interval``, ``this`` always a string if it
    was a literal: ``INTERVAL '3' DAY``, ``interval 1 month``, ``INTERVAL '1-2' YEAR TO MONTH`` (its unit an
    ``exp.IntervalSpan``), spark ``interval '1 day 2 hours'`` (no unit). Strings are unescaped values. ``?`` is
    refused.
Operators
    ``a || b`` ``exp.DPipe``; ``<=>`` ``exp.NullSafeEQ``; ``a DIV b`` ``exp.IntDiv``; ``/`` ``exp.Div``; ``%``
    ``exp.Mod``; RLIKE ``exp.RegexpLike``; ``a[i]`` ``exp.Bracket`` with the index as written; ``x -> f(x)``
    ``exp.Lambda``, whose own variables are bare identifiers. ``a = b IS NULL`` is ``(a = b) IS NULL`` in both flavours
    (with the ``exp.Paren``); INTERSECT binds tighter than UNION (and is an ``exp.Subquery`` there).
Tables
    ``exp.Table(this, db, catalog)`` of ``exp.Identifier`` parts as written (more than three parts: ``this`` is an
    ``exp.Dot``). ``t$snapshots`` in or out of back quotes is one identifier. ``VERSION AS OF v``, ``FOR
    [SYSTEM_]VERSION AS OF v``, ``TIMESTAMP AS OF x``, ``FOR SYSTEM_TIME AS OF x`` are ``table.args["version"]``:
    ``exp.Version(this="VERSION"|"TIMESTAMP", kind="AS OF", expression)``. ``FROM TABLE(TUMBLE(TABLE t,
    DESCRIPTOR(ts), INTERVAL '1' HOUR))`` is an ``exp.Table`` whose ``this`` is ``Anonymous TABLE(Anonymous
    TUMBLE(…))``; its table argument is ``Anonymous TABLE(<column t>, <columns of PARTITION BY …>)``, its descriptor
    ``Anonymous DESCRIPTOR(<columns>)``; named arguments are ``exp.Kwarg``. ``LATERAL TABLE(f(x)) AS t(y)`` is
    ``exp.Lateral`` of the same, ``UNNEST(…)`` is ``exp.Unnest``, ``LATERAL VIEW`` is sqlglot's. ``VALUES (…), (…)``
    is ``exp.Values`` of ``exp.Tuple`` (``VALUES ROW(1, 2)`` and ``VALUES 1, 2`` too); ``TABLE t`` is ``SELECT * FROM
    t``. In spark, a comma between tables is a CROSS join, as Spark reads it.
Hints
    are not in the tree. ``/*+ OPTIONS(…) */`` behind a table is in ``Query.hints``: ``hint.after`` equals
    ``table_name_span(table).end`` of the ``exp.Table`` it belongs to. Hints behind SELECT that only say how to run
    (BROADCAST …) are checked by name and dropped.
Places
    Identifiers, calls, literals, stars and types carry offsets into the *statement's* text (not the query's):
    :func:`span_of` gives a node's span, or that of its first part that has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, shown, token_span
from bergsql.engine.sql.parser.query_words import CALL, CAST_MARK, KEYWORDS
from bergsql.engine.sql.parser.sqlglot_tokens import Converter, TypeUse
from bergsql.engine.sql.statements.base import Expression, Query, TableHint
from bergsql.engine.sql.types import DataType

TYPE_META = "bergsql_type"


class _BothFlavours(Dialect):
    """What the parser asks its dialect; tokens, functions and types never reach it."""

    ALIAS_POST_TABLESAMPLE = True
    SUPPORTS_ORDER_BY_ALL = True
    SUPPORTS_LIMIT_ALL = True


# --- for those who read the tree -------------------------------------------------------------------------------------


Place: TypeAlias = exp.Expr | Span | None
"""Where something is written: its span, or a node. To find a node's span takes a walk through all that is below it, so
what may fail is given the node, and looks for its span only when it does fail."""


def span_of(place: Place) -> Span | None:
    """Where a node stands in the statement's text: from its first part that has a place to its last."""
    if place is None or isinstance(place, Span):
        return place
    low: int | None = None
    high = 0
    for part in place.walk():
        meta = part._meta
        if meta and "start" in meta:
            start, end = meta["start"], meta["end"] + 1
            low = start if low is None else min(low, start)
            high = max(high, end)
    return None if low is None else Span(low, high)


def declared_type(node: exp.Expr) -> DataType:
    """The type that an ``exp.Cast``, or the ``exp.DataType`` in it, was written with."""
    target = node.args["to"] if isinstance(node, exp.Cast) else node
    declared = target.meta.get(TYPE_META)
    if not isinstance(declared, DataType):
        raise BergError(ErrorCode.INTERNAL, "The type of a CAST was lost on the way.", span=span_of(node))
    return declared


# --- for the statement grammars --------------------------------------------------------------------------------------


def at_query(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether a query begins here (``ahead`` tokens from here)."""
    token = cursor.peek(ahead)
    while token.key == "(":
        ahead += 1
        token = cursor.peek(ahead)
    if token.key in ("WITH", "TABLE"):  # not the WITH (options) of a CREATE TABLE
        return cursor.peek(ahead + 1).kind in (TokenKind.WORD, TokenKind.QUOTED)
    return token.key in ("SELECT", "VALUES", "FROM")


def parse_query(cursor: Cursor) -> Query:
    """The query from here to the end of the statement, or to a ``)`` or ``;`` that is not the query's own."""
    first = cursor.token
    if not at_query(cursor):
        raise cursor.expected(("SELECT", "VALUES", "WITH", "TABLE"), "a query")
    start_index = cursor.index
    stop = _end_of_query(cursor)
    tree, converter = _parse(cursor, stop, into=None)
    span = Span(first.start, cursor.tokens[stop - 1].end)
    if not isinstance(tree, (exp.Query, exp.Values)):
        raise BergError(ErrorCode.SYNTAX, "This is not a query.", span=span)
    _check_query(tree, cursor.tokens[start_index:stop])
    return Query(cursor.text[span.start : span.end], span, tree, _place_hints(tree, converter.hints))


def parse_expression(cursor: Cursor, stops: Iterable[str] = (), *, queries: bool = False) -> Expression:
    """The expression from here to a ``,`` or ``)`` that is not its own, or to one of the keywords ``stops``.

    ``queries``: it may hold queries, and they hints behind their tables.
    """
    start_index = cursor.index
    stop = _end_of_expression(cursor, frozenset(stops))
    first = cursor.token
    if stop == cursor.index:
        raise cursor.expected((), "an expression")
    tree, converter = _parse(cursor, stop, into=exp.Expr)
    if converter.hints and not queries:
        raise BergError(ErrorCode.SYNTAX, "A hint has no place in an expression.", span=converter.hints[0].span)
    span = Span(first.start, cursor.tokens[stop - 1].end)
    if isinstance(tree, (exp.Alias, exp.Star)):
        raise BergError(ErrorCode.SYNTAX, "This is not an expression.", span=span)
    if queries:
        _check_query(tree, cursor.tokens[start_index:stop])
    return Expression(cursor.text[span.start : span.end], span, tree, _place_hints(tree, converter.hints))


def _end_of_query(cursor: Cursor) -> int:
    depth, index = 0, cursor.index
    while True:
        token = cursor.tokens[index]
        if token.kind is TokenKind.END or (token.key == ";" and not depth):
            return index
        if token.key == "(":
            depth += 1
        elif token.key == ")":
            if not depth:
                return index
            depth -= 1
        index += 1


def _end_of_expression(cursor: Cursor, stops: frozenset[str]) -> int:
    depth = cases = 0
    index = cursor.index
    while True:
        token = cursor.tokens[index]
        key = token.key
        if token.kind is TokenKind.END or (key == ";" and not depth):
            return index
        if key in ("(", "["):
            depth += 1
        elif key in (")", "]"):
            if not depth:
                return index
            depth -= 1
        elif not depth:
            if key == "," or (key in stops and not cases):
                return index
            cases += (key == "CASE") - (key == "END" and cases > 0)
        index += 1


# --- parsing ---------------------------------------------------------------------------------------------------------


def _parse(cursor: Cursor, stop: int, into: type[exp.Expr] | None) -> tuple[exp.Expr, Converter]:
    tokens = cursor.tokens[cursor.index : stop]
    converter = Converter(cursor, stop)
    tokens_out = converter.run()
    if tokens and tokens[0].key == "TABLE" and into is None:
        tokens_out = _select_all(tokens_out)
    parser = SparkParser(dialect=_BothFlavours())
    whole = Span(tokens[0].start, tokens[-1].end)
    try:
        if into is None:
            trees = parser.parse(tokens_out, cursor.text)
        else:
            trees = parser.parse_into(into, tokens_out, cursor.text)
        if len(trees) != 1 or trees[0] is None:
            raise BergError(ErrorCode.SYNTAX, "This cannot be read.", span=whole)
        if any(t.key == "EXTRACT" for t in tokens):
            _place_units(trees[0], tokens)
        tree = _restored(trees[0], converter.types)
        if any(t.key == "OF" for t in tokens):
            _place_versions(tree, tokens)
        return tree, converter
    except ParseError as error:
        raise _syntax_error(error, tokens, cursor.text) from None
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("This", whole, ErrorCode.SYNTAX) from None


def _place_versions(tree: exp.Expr, tokens: list[Token]) -> None:
    """Give what is behind AS OF the place of its sign, and NULL and TRUE theirs, which sqlglot leaves out."""
    for table in tree.find_all(exp.Table):
        version, name = table.args.get("version"), table_name_span(table)
        if version is None or name is None:
            continue
        value, at = version.expression, next((i for i, t in enumerate(tokens) if t.start >= name.end), 0)
        first = next((b for a, b in zip(tokens[at:], tokens[at + 1 :], strict=False) if a.key == "OF"), None)
        place = span_of(value)
        if first is not None and (place is None or (first.key in ("-", "+") and first.start < place.start)):
            end = place.end if place is not None else first.end
            value.update_positions(line=0, col=0, start=first.start, end=end - 1)


def _select_all(tokens: list[GlotToken]) -> list[GlotToken]:
    """``TABLE t`` as ``SELECT * FROM t``."""
    first = tokens[0]
    place = (first.line, first.col, first.start, first.end)
    return [
        GlotToken(TokenType.SELECT, "SELECT", *place),
        GlotToken(TokenType.STAR, "*", *place),
        GlotToken(TokenType.FROM, "FROM", *place),
        *tokens[1:],
    ]


def _place_units(tree: exp.Expr, tokens: list[Token]) -> None:
    """Give every EXTRACT the place of its unit, for which the parser keeps none."""
    units: dict[str, Token] = {}
    for i, token in enumerate(tokens[:-2]):
        if token.key == "EXTRACT" and tokens[i + 1].key == "(":
            units.setdefault(tokens[i + 2].key, tokens[i + 2])
    for node in tree.find_all(exp.Extract):
        unit = units.get(str(node.name).upper())
        if unit is not None:
            node.update_positions(line=0, col=0, start=unit.start, end=unit.end - 1)
            node.meta["unit"] = unit.text


def _restored(tree: exp.Expr, types: list[TypeUse]) -> exp.Expr:
    """Take the marks of sqlglot_tokens off the tree."""
    for node in list(tree.walk()):
        if isinstance(node, exp.Identifier | exp.Var):
            name = node.args["this"]
            if name[:1] == CALL:
                node.set("this", name[1:])
        elif isinstance(node, exp.Anonymous):
            name = node.args["this"]
            if name.__class__ is not str:
                name = name.args["this"]
            if name[:1] == CAST_MARK:
                cast = _made_cast(node, name[1:], types)
                if node is tree:
                    tree = cast
                else:
                    node.replace(cast)
            else:
                node.set("this", name[1:] if name[:1] == CALL else name)
        elif isinstance(node, exp.Concat) and all(isinstance(p, exp.Literal) for p in node.expressions):
            # Strings behind one another are one, as in standard SQL.
            joined = exp.Literal.string("".join(p.name for p in node.expressions))
            joined.update_positions(node.expressions[0])
            if node is tree:
                tree = joined
            else:
                node.replace(joined)
        elif isinstance(node, exp.Cast):  # x::T, of which Spark's parser makes a TRY_CAST
            cast = exp.Cast(this=node.this, to=_opaque(_numbered(node.args["to"], types)))
            if node is tree:
                tree = cast
            else:
                node.replace(cast)
    return tree


def _made_cast(call: exp.Anonymous, name: str, types: list[TypeUse]) -> exp.Cast:
    """The cast that the marked ``call`` stands for."""
    arguments = call.expressions
    number = arguments[-1].name if arguments and isinstance(arguments[-1], exp.Literal) else ""
    if (
        len(arguments) != 2
        or isinstance(arguments[0], (exp.Alias, exp.Star))
        or number[:1] != CAST_MARK
        or not number[1:].isdigit()
        or int(number[1:]) >= len(types)
    ):
        span = span_of(call)
        raise BergError(ErrorCode.SYNTAX, f"{name} needs one expression, AS and a type.", span=span)
    use = types[int(number[1:])]
    made = (exp.TryCast if name == "TRY_CAST" else exp.Cast)(this=arguments[0], to=_opaque(use))
    made.update_positions(call)
    if use.literal:
        made.meta["literal"] = True
    return made


def _numbered(target: exp.Expr, types: list[TypeUse]) -> TypeUse:
    """The type that stands behind ``::``; sqlglot makes casts of some odd literals too, which are refused."""
    number = target.expressions[0].name if target.expressions else ""
    if not number.isdigit() or int(number) >= len(types):
        raise BergError(ErrorCode.SYNTAX, "This literal cannot be read.", span=span_of(target.parent or target))
    return types[int(number)]


def _opaque(use: TypeUse) -> exp.DataType:
    opaque = exp.DataType(this=exp.DType.USERDEFINED, kind=use.type.kind.value)
    opaque.meta[TYPE_META] = use.type
    start, end = use.span.start, use.span.end
    return opaque.update_positions(line=start, col=end, start=start, end=end - 1)


def _check_query(tree: exp.Expr, tokens: list[Token]) -> None:
    """Refuse what sqlglot lets pass."""
    whole = Span(tokens[0].start, tokens[-1].end)
    for node in tree.walk():
        if isinstance(node, exp.Select):
            if not node.expressions:
                raise BergError(ErrorCode.SYNTAX, "SELECT needs at least one expression.", span=span_of(node) or whole)
        elif isinstance(node, exp.Values):
            _give_alias(node)
        elif isinstance(node, exp.Table) and (
            isinstance(node.args.get("db"), str) or isinstance(node.args.get("catalog"), str)
        ):
            message = "A part of the table's name is missing between its dots."
            raise BergError(ErrorCode.SYNTAX, message, span=span_of(node) or whole)
        elif isinstance(node, exp.Alias):
            call = node.parent
            if isinstance(call, exp.Anonymous) and call.name.upper() not in ("STRUCT", "NAMED_STRUCT"):
                span = span_of(node) or whole
                raise BergError(ErrorCode.SYNTAX, f"An alias has no place in a call of {call.name}.", span=span)
        elif isinstance(node, (exp.Command, exp.Placeholder, exp.Parameter, exp.DDL, exp.DML)) and not isinstance(
            node, exp.Query
        ):
            raise BergError(ErrorCode.SYNTAX, "This cannot be read as a query.", span=span_of(node) or whole)


def _give_alias(values: exp.Values) -> None:
    """``VALUES 1, 2 AS t(a)``: the alias behind the last row is that of the relation."""
    last = values.expressions[-1].expressions[-1:] if isinstance(values.expressions[-1], exp.Tuple) else []
    if len(values.expressions[-1].expressions) != 1 or not isinstance(last[0], exp.Alias):
        return
    columns = values.args.get("alias")
    alias = exp.TableAlias(this=last[0].args["alias"], columns=columns.args.get("columns") if columns else None)
    values.expressions[-1].set("expressions", [last[0].this])
    values.set("alias", alias)


def table_name_span(table: exp.Table) -> Span | None:
    """Where the dotted name of ``table`` stands, without its alias and its time travel."""
    spans = [span_of(part) for part in (table.args.get(k) for k in ("catalog", "db", "this")) if part is not None]
    known = [s for s in spans if s is not None]
    return Span(min(s.start for s in known), max(s.end for s in known)) if known else None


def _place_hints(tree: exp.Expr, hints: list[TableHint]) -> tuple[TableHint, ...]:
    """Tie each hint to the table it stands behind, be it behind the table's alias."""
    if not hints:
        return ()
    ends: dict[int, int] = {}
    for table in tree.find_all(exp.Table):
        name = table_name_span(table)
        if name is None or isinstance(table.this, exp.Anonymous):
            continue
        ends[name.end] = name.end
        alias = table.args.get("alias")
        behind = span_of(alias) if alias is not None else None
        if behind is not None:
            ends[behind.end] = name.end
    for call in tree.find_all(exp.Anonymous):
        if str(call.this).upper() == "TABLE" and call.expressions and isinstance(call.expressions[0], exp.Column):
            behind = span_of(call.expressions[0])  # TABLE t, the argument of a window
            if behind is not None:
                ends[behind.end] = behind.end
    placed = []
    for hint in hints:
        if hint.after not in ends:
            raise BergError(ErrorCode.SYNTAX, "A hint belongs behind the name of a table.", span=hint.span)
        placed.append(TableHint(ends[hint.after], hint.options, hint.span))
    return tuple(placed)


# --- errors ----------------------------------------------------------------------------------------------------------

_EXPECTING = re.compile(r"^Expect(?:ed|ing) (.+)$")
_TABLE_NAME = re.compile(r"^Expected table name but got .*", re.DOTALL)
_MISSING = re.compile(r"missing for <class")


def _syntax_error(error: ParseError, tokens: list[Token], text: str) -> BergError:
    """sqlglot's complaint as ours: one sentence, the exact word, and a near keyword as hint."""
    first = error.errors[0] if error.errors else {}
    start = first.get("line")
    start = tokens[0].start if start is None else int(start)
    description = _TABLE_NAME.sub("Expecting the name of a table", str(first.get("description") or ""))
    index = next((i for i, t in enumerate(tokens) if t.start <= start < max(t.end, t.start + 1)), len(tokens) - 1)
    token = tokens[index]
    quoted = shown(token, text)
    at_end = index == len(tokens) - 1
    expecting = _EXPECTING.match(description)
    hint = _near_keyword(tokens, index)
    if expecting:
        wanted = expecting.group(1).rstrip(".")
        wanted = f"'{wanted}'" if len(wanted) <= 2 else wanted
        if at_end:
            end = Span(token.end, token.end + 1)
            return BergError(ErrorCode.SYNTAX, f"Expected {wanted}, but the statement ends here.", span=end, hint=hint)
        return BergError(ErrorCode.SYNTAX, f"Expected {wanted}, found '{quoted}'.", span=token_span(token), hint=hint)
    if _MISSING.search(description) or "No expression was parsed" in description:
        message = f"Something is missing {'behind' if at_end else 'near'} '{quoted}'."
    else:
        message = f"Unexpected '{quoted}'."
    return BergError(ErrorCode.SYNTAX, message, span=token_span(token), hint=hint)


def _near_keyword(tokens: list[Token], index: int) -> str | None:
    """A keyword near to the word at ``index`` or to the one before it, when that is not a keyword already."""
    for place in (index, index - 1):
        if place < 0:
            continue
        token = tokens[place]
        if token.kind is TokenKind.WORD and token.key not in _QUERY_WORDS and len(token.key) > 2:
            hint = did_you_mean(token.text, _LONG_WORDS)
            if hint:
                return hint
    return None


_QUERY_WORDS = frozenset(KEYWORDS) | {"BY", "GROUP", "ORDER", "PARTITION", "CLUSTER", "SORT", "DISTRIBUTE", "CAST"}
_LONG_WORDS = sorted(word for word in _QUERY_WORDS if len(word) > 3)
