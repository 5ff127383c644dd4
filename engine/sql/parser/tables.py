"""CREATE TABLE, REPLACE TABLE and the parts that ALTER TABLE shares with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import END_OF_STATEMENT, Cursor, distinct
from bergsql.engine.sql.parser.partitioning import transform
from bergsql.engine.sql.parser.query import at_query, parse_expression, parse_query
from bergsql.engine.sql.statements.base import Expression, Option
from bergsql.engine.sql.statements.tables import (
    ColumnDef,
    CreateTable,
    Like,
    PartitionColumn,
    PrimaryKey,
    Transform,
    Watermark,
)
from bergsql.engine.sql.type_parser import not_null, parse_type_tokens
from bergsql.engine.sql.types import INTERVALS, NULL, DataType

_LIKE_WHAT = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")
_LIKE_HOW = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_CLAUSES = ("USING", "COMMENT", "PARTITIONED", "WITH", "TBLPROPERTIES", "LOCATION", "LIKE", "AS")


@dataclass
class _Elements:
    """What stands between the parentheses of a CREATE TABLE."""

    columns: list[ColumnDef] = field(default_factory=list)
    column_keys: list[PrimaryKey] = field(default_factory=list)
    primary_key: PrimaryKey | None = None
    watermark: Watermark | None = None


@dataclass
class _Clauses:
    """What stands behind them."""

    partitioning: list[PartitionColumn] = field(default_factory=list)
    comment: str | None = None
    provider: str | None = None
    location: str | None = None
    location_span: Span | None = None
    properties: tuple[Option, ...] = ()
    like: Like | None = None
    external: bool = False
    seen: set[str] = field(default_factory=set)


def create_table(cursor: Cursor, mode: str, *, temporary: bool, external: bool = False) -> CreateTable:
    """The rest of ``CREATE [OR REPLACE] [TEMPORARY] TABLE`` or ``REPLACE TABLE``, behind TABLE."""
    if_not_exists = cursor.if_not_exists()
    name = cursor.name("the name of the table")
    cursor.flavour = _told_flavour(cursor)
    elements = _Elements()
    opened = cursor.index
    order: tuple[tuple[str, Span], ...] = ()
    if cursor.at("(") and not at_query(cursor):
        if _names_only(cursor):
            order = tuple(cursor.list_of(lambda: cursor.identifier("a column's name")))
        else:
            _elements(cursor, elements)
    clauses = _Clauses(external=external)
    query = None
    while not cursor.ends():
        if cursor.accept("AS") or at_query(cursor):
            query = parse_query(cursor)
            break
        _clause(cursor, clauses, has_elements=bool(elements.columns))
    if query is not None and not cursor.ends():
        cursor.expect_end()
    if order and query is None:
        cursor.index = opened
        _elements(cursor, elements)  # says that a column has no type
    located = clauses.external and clauses.location is not None
    if not (elements.columns or clauses.like or query or clauses.partitioning or located):
        raise cursor.expected(("(", *_CLAUSES), "the table's columns, LIKE or AS")
    return CreateTable(
        name,
        cursor.flavour,
        mode,
        if_not_exists,
        temporary,
        tuple(elements.columns),
        _key(elements),
        elements.watermark,
        tuple(clauses.partitioning),
        clauses.comment,
        clauses.provider,
        clauses.location,
        clauses.properties,
        clauses.like,
        query,
        clauses.external,
        order,
        clauses.location_span,
    )


def _names_only(cursor: Cursor) -> bool:
    """Whether what stands in the parentheses here are names and nothing else."""
    ahead = 1
    while cursor.peek(ahead).kind in (TokenKind.WORD, TokenKind.QUOTED):
        following = cursor.peek(ahead + 1).key
        if following != ",":
            return following == ")"
        ahead += 2
    return False


def _told_flavour(cursor: Cursor) -> Flavour:
    """The flavour that the clauses behind the columns tell, which decides what TIMESTAMP means in the columns."""
    flavour, depth = cursor.flavour, 0
    for ahead, token in enumerate(cursor.tokens[cursor.index :]):
        key = token.key
        if key in ("(", ")"):
            depth += 1 if key == "(" else -1
        elif depth == 0:
            if key in ("USING", "TBLPROPERTIES"):
                return Flavour.SPARK
            if key == "WITH" and cursor.peek(ahead + 1).key == "(":
                flavour = Flavour.FLINK
            elif key in ("AS", "SELECT", ";"):
                break
    return flavour


def _clause(cursor: Cursor, clauses: _Clauses, *, has_elements: bool) -> None:
    start = cursor.token
    key = cursor.accept_any("USING", "COMMENT", "PARTITIONED", "WITH", "TBLPROPERTIES", "OPTIONS", "LOCATION", "LIKE")
    if key and key in clauses.seen and key not in ("WITH", "TBLPROPERTIES"):
        raise BergError(ErrorCode.SYNTAX, f"{key} is given twice.", span=start.span)
    clauses.seen.add(key)
    if key == "USING":
        clauses.provider = ".".join(cursor.name("the name of a format").parts).lower()
    elif key == "COMMENT":
        clauses.comment = cursor.string("a comment in quotes")
    elif key == "PARTITIONED":
        cursor.expect("BY")
        cursor.accept("SPEC")  # Hive's word for transforms
        clauses.partitioning.extend(cursor.list_of(lambda: _partition_column(cursor)))
    elif key in ("WITH", "TBLPROPERTIES", "OPTIONS"):
        clauses.properties = distinct((*clauses.properties, *cursor.options()))
    elif key == "LOCATION":
        clauses.location_span = cursor.token.span
        clauses.location = cursor.string("a path in quotes")
    elif key == "LIKE":
        clauses.like = _like(cursor)
    else:
        _other_clause(cursor, clauses, has_elements=has_elements)


def _other_clause(cursor: Cursor, clauses: _Clauses, *, has_elements: bool) -> None:
    from bergsql.engine.sql.parser.hive_clauses import refuse_clause, stored_as, stored_by

    if cursor.accept("STORED", "BY"):
        stored_by(cursor)
        clauses.external = True
    elif cursor.accept("STORED", "AS"):
        clauses.properties = distinct((*clauses.properties, stored_as(cursor, iceberg=clauses.external)))
    else:
        refuse_clause(cursor)
        raise cursor.expected((*_CLAUSES, *(() if has_elements else ("(",)), END_OF_STATEMENT))


def _like(cursor: Cursor) -> Like:
    source = cursor.name("the name of a table")
    options: list[tuple[str, str]] = []
    spans: list[Span] = []

    def option() -> None:
        start = cursor.token.start
        how = cursor.expect_any(*_LIKE_HOW)
        options.append((how, cursor.expect_any(*_LIKE_WHAT)))
        spans.append(cursor.span_from(start))

    if cursor.accept("("):
        while not cursor.accept(")"):
            option()
            cursor.accept(",")
    while cursor.key in _LIKE_HOW:
        option()
    return Like(source, tuple(options), tuple(spans))


# --- columns and constraints -----------------------------------------------------------------------------------------


def _elements(cursor: Cursor, elements: _Elements) -> None:
    cursor.expect("(")
    while True:
        element(cursor, elements)
        if cursor.accept(","):
            continue
        if not cursor.accept(")"):
            raise cursor.expected((",", ")", "NOT NULL", "COMMENT", "PRIMARY KEY"))
        return


def element(cursor: Cursor, elements: _Elements) -> None:
    """One column, primary key or watermark."""
    if at_constraint(cursor):
        key = primary_key(cursor)
        if elements.primary_key is not None:
            raise BergError(ErrorCode.SYNTAX, "The primary key is declared twice.", span=key.span)
        elements.primary_key = key
    elif cursor.at("WATERMARK", "FOR"):
        mark = watermark(cursor)
        if elements.watermark is not None:
            raise BergError(ErrorCode.SYNTAX, "The watermark is declared twice.", span=mark.span)
        elements.watermark = mark
    else:
        declared = column(cursor, keys=elements.column_keys)
        elements.columns.append(declared)


def at_constraint(cursor: Cursor) -> bool:
    """Whether PRIMARY KEY, UNIQUE, CONSTRAINT … begin here (and not a column of that name)."""
    if cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY"):
        return True
    if cursor.key in ("UNIQUE", "CHECK") and cursor.peek().key == "(":
        return True
    return cursor.at("CONSTRAINT") and cursor.peek(2).key in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")


def primary_key(cursor: Cursor) -> PrimaryKey:
    """``[CONSTRAINT name] PRIMARY KEY (columns) [NOT] ENFORCED``."""
    start = cursor.token.start
    called = cursor.identifier("the name of the constraint")[0] if cursor.accept("CONSTRAINT") else None
    kind = cursor.token
    if kind.key != "PRIMARY":
        what = "FOREIGN KEY" if kind.key == "FOREIGN" else kind.key
        raise _no_constraint(what, kind.span)
    cursor.expect("PRIMARY", "KEY")
    named = cursor.list_of(lambda: cursor.identifier("a column's name"))
    names = Span(named[0][1].start, named[-1][1].end)
    return _enforced(cursor, tuple(name for name, _ in named), names, cursor.span_from(start), called)


def _no_constraint(what: str, span: Span) -> BergError:
    return BergError(
        ErrorCode.INVALID,
        f"A table has no {what} constraint: nobody would check it.",
        span=span,
        hint="PRIMARY KEY (…) NOT ENFORCED declares a key.",
    )


def _enforced(cursor: Cursor, columns: tuple[str, ...], names: Span, whole: Span, called: str | None) -> PrimaryKey:
    """The key with the span that an error about it would point at: ENFORCED, or where that is only implied, the key."""
    if cursor.accept("NOT"):
        cursor.expect("ENFORCED")
        return PrimaryKey(columns, names, constraint=called)
    if cursor.at("ENFORCED"):
        whole = cursor.advance().span
    return PrimaryKey(columns, whole, enforced=True, constraint=called)


def watermark(cursor: Cursor) -> Watermark:
    """``WATERMARK FOR column AS expression``."""
    start = cursor.token.start
    cursor.expect("WATERMARK", "FOR")
    name = ".".join(cursor.name("a column's name").parts)
    cursor.expect("AS")
    expression = parse_expression(cursor)
    return Watermark(name, expression, cursor.span_from(start))


_COLUMN_STOPS = ("COMMENT", "FIRST", "AFTER")


def column(
    cursor: Cursor, name: str | None = None, span: Span | None = None, keys: list[PrimaryKey] | None = None
) -> ColumnDef:
    """``name type [NOT NULL] [COMMENT …]``, ``name AS expression``, ``name type METADATA [FROM k] [VIRTUAL]``.

    ``name`` and ``span`` are given when the caller has read the name already; ``keys`` takes a primary key that is
    declared behind the column, and without it none may be.
    """
    if name is None or span is None:
        name, span = cursor.identifier("a column's name")
    if cursor.accept("AS"):
        return _computed(cursor, name, span)
    if cursor.at(",") or cursor.at(")") or cursor.at_end:
        raise cursor.expected((), f"the type of the column '{name}'")
    cursor.accept(":")
    at = cursor.token.start
    kind = parse_type_tokens(cursor)
    if kind.kind in INTERVALS:
        span = cursor.span_from(at)
        raise BergError(ErrorCode.TYPE, f"A column cannot be of type {cursor.text[span.start : span.end]}.", span=span)
    return column_options(cursor, name, span, kind, keys)


def column_options(
    cursor: Cursor, name: str, span: Span, kind: DataType, keys: list[PrimaryKey] | None = None
) -> ColumnDef:
    """What stands behind a column's type, if anything: ``[NOT] NULL``, COMMENT, DEFAULT, METADATA, a key."""
    nullable, comment, metadata = True, None, None
    default: Expression | None = None
    virtual = False
    while True:
        if cursor.at("NOT", "NULL") or cursor.at("NULL"):
            nullable = not not_null(cursor)
        elif cursor.accept("COMMENT"):
            comment = cursor.string("a comment in quotes")
        elif cursor.at("PRIMARY") or (cursor.at("CONSTRAINT") and cursor.peek(2).key == "PRIMARY"):
            _inline_key(cursor, name, span, keys)
        elif cursor.at("UNIQUE") or cursor.at("CHECK"):
            raise _no_constraint(cursor.key, cursor.token.span)
        elif cursor.accept("DEFAULT"):
            default = parse_expression(cursor, (*_COLUMN_STOPS, "NOT"))
        elif cursor.accept("METADATA"):
            metadata = cursor.string("the key in quotes") if cursor.accept("FROM") else name
            virtual = cursor.accept("VIRTUAL")
        elif cursor.at("GENERATED"):
            raise BergError(
                ErrorCode.INVALID,
                "An Iceberg table has no GENERATED columns.",
                span=cursor.token.span,
                hint="Compute it in the query or in a view.",
            )
        elif cursor.at("COLLATE"):
            raise BergError(
                ErrorCode.INVALID,
                "An Iceberg table has no collations: text is compared by its bytes.",
                span=cursor.token.span,
            )
        else:
            return ColumnDef(name, kind, span, nullable, comment, default, None, metadata, virtual)


def _inline_key(cursor: Cursor, name: str, span: Span, keys: list[PrimaryKey] | None) -> None:
    """``[CONSTRAINT c] PRIMARY KEY [NOT] ENFORCED`` behind a column."""
    start = cursor.token.start
    called = cursor.identifier("the name of the constraint")[0] if cursor.accept("CONSTRAINT") else None
    cursor.expect("PRIMARY", "KEY")
    key = _enforced(cursor, (name,), span, cursor.span_from(start), called)
    if keys is None:
        raise cursor.error(
            "A primary key has no place here.", key.span, "PRIMARY KEY (…) NOT ENFORCED names its columns."
        )
    keys.append(key)


def _computed(cursor: Cursor, name: str, span: Span) -> ColumnDef:
    expression = parse_expression(cursor, _COLUMN_STOPS)
    comment = cursor.string("a comment in quotes") if cursor.accept("COMMENT") else None
    return ColumnDef(name, NULL, span, True, comment, computed=expression)


def _key(elements: _Elements) -> PrimaryKey | None:
    """The primary key, be it declared by itself or behind a column."""
    keys = [*elements.column_keys, *((elements.primary_key,) if elements.primary_key else ())]
    if len(keys) > 1:
        raise BergError(ErrorCode.SYNTAX, "The primary key is declared twice.", span=keys[1].span)
    return keys[0] if keys else None


def _partition_column(cursor: Cursor) -> PartitionColumn:
    """A transform, or in Hive's form a column with a type."""
    following = cursor.peek()
    if cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and following.kind is TokenKind.WORD:
        declared = column(cursor)
        return PartitionColumn(Transform("identity", declared.name, declared.span), declared)
    return PartitionColumn(transform(cursor))
