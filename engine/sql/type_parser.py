"""The declaration of a type, as tokens, to a :class:`DataType`. Both flavours' names are always understood.

What depends on the flavour: TIMESTAMP (with a time zone in spark), BINARY without a length (one byte in flink, any
bytes in spark), CHAR without a length (one character in flink, not a type in spark).
"""

from __future__ import annotations

from collections.abc import Callable

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import TokenKind, tokenize
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.types import BYTES, DOUBLE, STRING, DataType, Field, Kind

MAX_LENGTH = 2_147_483_647
"""The length that in flink means "any"."""

_PLAIN = {
    "BOOLEAN": Kind.BOOLEAN,
    "BOOL": Kind.BOOLEAN,
    "TINYINT": Kind.TINYINT,
    "BYTE": Kind.TINYINT,
    "SMALLINT": Kind.SMALLINT,
    "SHORT": Kind.SMALLINT,
    "INT": Kind.INT,
    "INTEGER": Kind.INT,
    "BIGINT": Kind.BIGINT,
    "LONG": Kind.BIGINT,
    "FLOAT": Kind.FLOAT,
    "REAL": Kind.FLOAT,
    "STRING": Kind.STRING,
    "TEXT": Kind.STRING,
    "BYTES": Kind.BYTES,
    "DATE": Kind.DATE,
    "UUID": Kind.UUID,
    "VARIANT": Kind.VARIANT,
    "NULL": Kind.NULL,
    "VOID": Kind.NULL,
    "UNKNOWN": Kind.NULL,
}
_YEAR_MONTH = ("YEAR", "MONTH", "YEARS", "MONTHS", "QUARTER")
_DAY_TIME = ("DAY", "HOUR", "MINUTE", "SECOND", "DAYS", "HOURS", "MINUTES", "SECONDS", "WEEK")


MOST_NESTED = 100
"""Levels of ARRAY, MAP and ROW in a type; the plans of much deeper ones take minutes."""


def parse_type(text: str, flavour: Flavour) -> DataType:
    """The type that ``text`` declares. Raises SYNTAX or TYPE, with spans in ``text``.

    >>> parse_type("array<int>", Flavour.SPARK).children[0].type.kind.value
    'INT'
    """
    cursor = Cursor(text, tokenize(text, flavour), flavour)
    result = parse_type_tokens(cursor)
    cursor.expect_end()
    return result


def parse_type_tokens(cursor: Cursor) -> DataType:
    """The type declared at ``cursor``, which steps behind it (a NOT NULL behind it is left to the caller)."""
    token = cursor.token
    if token.kind is not TokenKind.WORD:
        raise cursor.expected((), "a type")
    cursor.advance()
    plain = _PLAIN.get(token.key)
    if plain is not None:
        result = DataType(plain)
    else:
        special = _SPECIAL.get(token.key)
        if special is None:
            raise BergError(
                ErrorCode.TYPE,
                f"Unknown type '{token.text}'.",
                span=token.span,
                hint=_hint(token.text),
            )
        result = special(cursor)
    while cursor.at("ARRAY") or cursor.at("MULTISET"):  # INT ARRAY, as standard SQL writes it
        kind = Kind(cursor.advance().key)
        result = DataType(kind, children=(Field("element", result),))
    if result.children and _nesting(result) > MOST_NESTED:
        span = Span(token.start, cursor.previous_end)
        raise BergError(
            ErrorCode.TYPE, f"This type is nested too deeply: {MOST_NESTED} levels are the most.", span=span
        )
    return result


def _nesting(type_: DataType) -> int:
    return 1 + max((_nesting(child.type) for child in type_.children), default=0)


def type_words() -> list[str]:
    """Every word that can begin a type."""
    return [*_PLAIN, *_SPECIAL]


def _hint(word: str) -> str | None:
    words = type_words()
    return did_you_mean(word, [w.lower() for w in words] if word.islower() else words)


def not_null(cursor: Cursor) -> bool:
    """Step over ``NULL`` or ``NOT NULL``; whether it was NOT NULL."""
    if cursor.accept("NOT"):
        cursor.expect("NULL")
        return True
    cursor.accept("NULL")
    return False


def _arguments(cursor: Cursor, most: int) -> list[int]:
    if not cursor.at("("):
        return []
    start = cursor.token.start
    numbers = cursor.list_of(cursor.integer)
    if len(numbers) > most:
        given = cursor.span_from(start)
        raise BergError(ErrorCode.TYPE, f"Expected at most {most} number{'s' if most > 1 else ''} here.", span=given)
    return numbers


def _checked(cursor: Cursor, start: int, what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise BergError(
            ErrorCode.TYPE, f"{what} must be from {low} to {high}, not {value}.", span=cursor.span_from(start)
        )
    return value


def _decimal(cursor: Cursor) -> DataType:
    start = cursor.token.start
    numbers = _arguments(cursor, 2)
    precision = _checked(cursor, start, "The precision of a DECIMAL", numbers[0] if numbers else 10, 1, 38)
    scale = _checked(cursor, start, "The scale of a DECIMAL", numbers[1] if len(numbers) > 1 else 0, 0, precision)
    return DataType(Kind.DECIMAL, precision, scale)


def _double(cursor: Cursor) -> DataType:
    cursor.accept("PRECISION")
    return DOUBLE


def _length(cursor: Cursor) -> int | None:
    start = cursor.token.start
    numbers = _arguments(cursor, 1)
    return _checked(cursor, start, "The length", numbers[0], 1, MAX_LENGTH) if numbers else None


def _char(cursor: Cursor) -> DataType:
    if cursor.accept("VARYING"):
        return _varchar(cursor)
    length = _length(cursor)
    if length is None and cursor.flavour is Flavour.SPARK:
        raise BergError(
            ErrorCode.TYPE, "CHAR needs a length.", span=cursor.span_from(cursor.previous_end - 4), hint="char(10)"
        )
    return DataType(Kind.CHAR, 1 if length is None else length)


def _varchar(cursor: Cursor) -> DataType:
    length = _length(cursor)
    return STRING if length in (None, MAX_LENGTH) else DataType(Kind.VARCHAR, length)


def _binary(cursor: Cursor) -> DataType:
    if cursor.accept("VARYING"):
        return _varbinary(cursor)
    length = _length(cursor)
    if length is None:
        return BYTES if cursor.flavour is Flavour.SPARK else DataType(Kind.BINARY, 1)
    return DataType(Kind.BINARY, length)


def _fixed(cursor: Cursor) -> DataType:
    """Iceberg's ``fixed[n]``, also as ``FIXED(n)``: the same as BINARY(n)."""
    start = cursor.previous.start
    if cursor.accept("["):
        length = cursor.integer()
        cursor.expect("]")
        _checked(cursor, start, "The length", length, 1, MAX_LENGTH)
        return DataType(Kind.BINARY, length)
    given = _length(cursor)
    if given is None:
        raise BergError(ErrorCode.TYPE, "FIXED needs a length.", span=cursor.span_from(start), hint="FIXED(16)")
    return DataType(Kind.BINARY, given)


def _varbinary(cursor: Cursor) -> DataType:
    length = _length(cursor)
    return DataType(Kind.BYTES, None if length == MAX_LENGTH else length)


def _fraction_digits(cursor: Cursor, default: int) -> int:
    start = cursor.token.start
    numbers = _arguments(cursor, 1)
    return _checked(cursor, start, "The precision", numbers[0], 0, 9) if numbers else default


def _time(cursor: Cursor) -> DataType:
    precision = _fraction_digits(cursor, 0)
    if cursor.accept("WITHOUT"):
        cursor.expect("TIME", "ZONE")
    return DataType(Kind.TIME, precision)


def _timestamp(cursor: Cursor) -> DataType:
    start = cursor.previous.start
    precision = _fraction_digits(cursor, 6)
    if cursor.accept("WITHOUT"):
        cursor.expect("TIME", "ZONE")
        return DataType(Kind.TIMESTAMP, precision)
    if cursor.at("WITH") and cursor.peek().key in ("LOCAL", "TIME"):
        cursor.advance()
        local = cursor.accept("LOCAL")
        cursor.expect("TIME", "ZONE")
        if not local and cursor.flavour is Flavour.FLINK:
            raise BergError(
                ErrorCode.TYPE,
                "TIMESTAMP WITH TIME ZONE is not a type of a table.",
                span=cursor.span_from(start),
                hint="TIMESTAMP_LTZ (WITH LOCAL TIME ZONE) holds an instant.",
            )
        return DataType(Kind.TIMESTAMP_LTZ, precision)
    return DataType(Kind.TIMESTAMP_LTZ if cursor.flavour is Flavour.SPARK else Kind.TIMESTAMP, precision)


def _timestamp_ltz(cursor: Cursor) -> DataType:
    return DataType(Kind.TIMESTAMP_LTZ, _fraction_digits(cursor, 6))


def _timestamp_ntz(cursor: Cursor) -> DataType:
    return DataType(Kind.TIMESTAMP, _fraction_digits(cursor, 6))


def _interval(cursor: Cursor) -> DataType:
    unit = cursor.accept_any(*_YEAR_MONTH, *_DAY_TIME)
    if not unit:
        if cursor.flavour is Flavour.SPARK:
            return DataType(Kind.INTERVAL_DAY_TIME)
        raise cursor.expected(("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"))
    _arguments(cursor, 2)
    if cursor.accept("TO"):
        cursor.expect_any(*(_YEAR_MONTH if unit in _YEAR_MONTH else _DAY_TIME))
        _arguments(cursor, 1)
    return DataType(Kind.INTERVAL_YEAR_MONTH if unit in _YEAR_MONTH else Kind.INTERVAL_DAY_TIME)


def _part(cursor: Cursor, name: str) -> Field:
    kind = parse_type_tokens(cursor)
    return Field(name, kind, nullable=not not_null(cursor))


def _array(cursor: Cursor) -> DataType:
    cursor.expect("<")
    element = _part(cursor, "element")
    cursor.expect(">")
    return DataType(Kind.ARRAY, children=(element,))


def _multiset(cursor: Cursor) -> DataType:
    cursor.expect("<")
    element = _part(cursor, "element")
    cursor.expect(">")
    return DataType(Kind.MULTISET, children=(element,))


def _map(cursor: Cursor) -> DataType:
    cursor.expect("<")
    key = _part(cursor, "key")
    cursor.expect(",")
    value = _part(cursor, "value")
    cursor.expect(">")
    return DataType(Kind.MAP, children=(key, value))


def _row(cursor: Cursor) -> DataType:
    """``ROW<a INT NOT NULL COMMENT 'x', …>``, ``ROW(a INT, …)``, ``STRUCT<a: INT, …>``."""
    start = cursor.token.start
    if cursor.accept("<>"):
        return DataType(Kind.ROW)
    close = ">" if cursor.expect_any("<", "(") == "<" else ")"
    fields = [_field(cursor)]
    while cursor.accept(","):
        fields.append(_field(cursor))
    if not cursor.accept(close):
        raise cursor.expected((",", close))
    names = [f.name for f in fields]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise BergError(ErrorCode.TYPE, f"The field '{twice}' is declared twice.", span=cursor.span_from(start))
    return DataType(Kind.ROW, children=tuple(fields))


def _field(cursor: Cursor) -> Field:
    name, _ = cursor.identifier("a field's name")
    cursor.accept(":")
    kind = parse_type_tokens(cursor)
    required = not_null(cursor)
    comment = None
    if cursor.accept("COMMENT") or cursor.token.kind is TokenKind.STRING:
        comment = cursor.string("a comment in quotes")
    return Field(name, kind, nullable=not required, comment=comment)


_ALGORITHMS = ("spherical", "vincenty", "thomas", "andoyer", "karney")


def _geometry(cursor: Cursor) -> DataType:
    return DataType(Kind.GEOMETRY, system=_system(cursor, 1))


def _geography(cursor: Cursor) -> DataType:
    return DataType(Kind.GEOGRAPHY, system=_system(cursor, 2))


def _system(cursor: Cursor, most: int) -> str | None:
    """A reference system and an algorithm: ``(srid:4326)``, ``(4326)``, ``(OGC:CRS84, karney)``."""
    if not cursor.accept("("):
        return None
    start = cursor.token.start
    while not cursor.at_end and not cursor.at(")"):
        cursor.advance()
    end = cursor.token.start
    cursor.expect(")")
    parts = [p.strip().strip("'") for p in cursor.text[start:end].split(",")]
    if parts[0].isdigit():
        parts[0] = f"srid:{parts[0]}"
    fits = len(parts) <= most and ":" in parts[0] and not any(c in parts[0] for c in " ()'\"`")
    if not fits or (len(parts) == 2 and parts[1] not in _ALGORITHMS):
        raise BergError(
            ErrorCode.TYPE,
            f"'{cursor.text[start:end]}' is no reference system.",
            span=Span(start, end),
            hint="Write srid:4326, say" + (f"; behind it {' or '.join(_ALGORITHMS)}." if most == 2 else "."),
        )
    return ", ".join(parts)


def _raw(cursor: Cursor) -> DataType:
    raw = cursor.previous
    raise BergError(ErrorCode.TYPE, f"The type {raw.key} has no place in a table.", span=raw.span)


_SPECIAL: dict[str, Callable[[Cursor], DataType]] = {
    "DECIMAL": _decimal,
    "DEC": _decimal,
    "NUMERIC": _decimal,
    "DOUBLE": _double,
    "CHAR": _char,
    "CHARACTER": _char,
    "VARCHAR": _varchar,
    "BINARY": _binary,
    "VARBINARY": _varbinary,
    "FIXED": _fixed,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_LTZ": _timestamp_ltz,
    "TIMESTAMP_NTZ": _timestamp_ntz,
    "INTERVAL": _interval,
    "ARRAY": _array,
    "MULTISET": _multiset,
    "MAP": _map,
    "ROW": _row,
    "STRUCT": _row,
    "GEOMETRY": _geometry,
    "GEOGRAPHY": _geography,
    "RAW": _raw,
    "ANY": _raw,
    "STRUCTURED": _raw,
}
