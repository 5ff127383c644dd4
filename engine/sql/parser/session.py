"""SET and RESET, whose values are raw text up to the end of the statement."""

from __future__ import annotations

import re

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import comment_end
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.session import Reset, Set
from bergsql.engine.sql.statements.unsupported import Unsupported

_HEAD = re.compile(r"SET\b(?![\w$.])", re.IGNORECASE)
_KEY = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^\s='"`;][^\s=;]*)""")
_TIME_ZONE = re.compile(r"TIME\s+ZONE\s+(.+)$", re.IGNORECASE | re.DOTALL)
TIME_ZONE_KEYS = {Flavour.FLINK: "table.local-time-zone", Flavour.SPARK: "spark.sql.session.timeZone"}


def parse_set(text: str, begin: int, flavour: Flavour) -> Statement | None:
    """``SET``, ``SET k``, ``SET k = v``, ``SET TIME ZONE z``, ``SET CATALOG c``; None if there is no SET at ``begin``.

    Keys and values may be in quotes. A bare value goes to the end of the statement: ``SET a = /tmp/x y``.
    """
    head = _HEAD.match(text, begin)
    if head is None:
        return None
    clean = without_comments(text, flavour).rstrip().rstrip(";").rstrip()
    start = head.end()
    rest = clean[start:]
    start += len(rest) - len(rest.lstrip())
    rest = rest.strip()
    whole = Span(head.end() - 3, max(len(clean), head.end()))
    if rest in ("", "-v", "-V"):
        return Set(span=whole)
    zone = _TIME_ZONE.match(rest)
    if zone:
        named = zone.group(1).strip()
        return Set(TIME_ZONE_KEYS[flavour], "default" if named.upper() == "LOCAL" else _unquoted(named), whole)
    catalog = re.match(r"CATALOG\s+([^=\s].*)$", rest, re.IGNORECASE | re.DOTALL)
    if catalog:
        from bergsql.engine.sql.statements.catalogs import UseCatalog

        at = start + catalog.start(1)
        return UseCatalog(_unquoted(catalog.group(1)), Span(at, at + len(catalog.group(1))))
    other = re.match(r"(ROLE|VAR|VARIABLE|SESSION)\s+[^=\s]", rest, re.IGNORECASE)
    if other:
        return Unsupported(f"SET {other.group(1).upper()}", whole)
    found = _KEY.match(rest)
    if found is None:
        raise BergError(ErrorCode.SYNTAX, "SET needs a key.", span=Span(start, start + 1))
    key = _unquoted(found.group())
    behind = rest[found.end() :].lstrip()
    if not behind:
        return Set(key, None, whole)
    at = start + len(rest) - len(behind)
    if not behind.startswith("="):
        raise BergError(
            ErrorCode.SYNTAX, "Expected '=' behind the key.", span=Span(at, at + 1), hint="SET 'key' = 'value';"
        )
    value = behind[1:].strip()
    if not key:
        raise BergError(ErrorCode.SYNTAX, "SET needs a key.", span=Span(start, start + 1))
    _refuse_open_quote(value, at)
    return Set(key, _unquoted(value), whole, Span(start, start + found.end()))


def reset(cursor: Cursor) -> Statement:
    """``RESET``, ``RESET k``; a bare key goes to the end of the statement."""
    start = cursor.token.start
    cursor.expect("RESET")
    if cursor.ends():
        return Reset(None, Span(start, cursor.previous_end))
    first = cursor.token
    last = first
    while not cursor.ends():
        last = cursor.advance()
        if not cursor.at_end and cursor.token.start != last.end and not cursor.at(";"):
            raise cursor.expected(())
    key = _unquoted(cursor.text[first.start : last.end])
    return Reset(key, Span(start, last.end))


def without_comments(text: str, flavour: Flavour) -> str:
    """``text`` with its comments blanked out, offsets unchanged; quotes protect."""
    out, position, pieces = 0, 0, []
    for found in re.finditer(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(?:(?<=\s)|^)--[^\n]*|(?:(?<=\s)|^)/\*", text):
        start = found.start()
        if start < position or found.group()[0] in "'\"":
            continue
        end = comment_end(text, start, flavour) if found.group().endswith("/*") else found.end()
        pieces.append(text[out:start])
        pieces.append(" " * (end - start))
        out = position = end
    pieces.append(text[out:])
    return "".join(pieces)


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"`":
        quote = text[0]
        body = text[1:-1]
        if quote not in body.replace(quote * 2, ""):
            return body.replace(quote * 2, quote)
    return text


def _refuse_open_quote(value: str, at: int) -> None:
    if value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0]):
        raise BergError(ErrorCode.SYNTAX, "The value's quote is not closed.", span=Span(at, at + 1))
