"""Text to tokens, with exact offsets, for both flavours.

The lexer is ours (and not sqlglot's tokenizer) for three reasons: tokens keep their exact place in the text, a hint is
tokens and not a comment, and one compiled pattern per flavour is several times faster.

What differs between the flavours: ``"x"`` is a quoted identifier in flink and a string in spark; backslash escapes,
``r'raw'`` strings and number suffixes (``1L``, ``2.5BD``) are spark's; ``U&'\\0041'`` is flink's; a block comment nests
in spark. In both, back quotes make an identifier, ``--`` and ``/* */`` are comments and ``/*+ … */`` is a hint.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.flavour import Flavour

QUERY_WORDS = frozenset(
    """
    ALL AND ANTI ANY AS ASC BETWEEN CASE COLLATE CROSS CUBE CURRENT_CATALOG CURRENT_DATE CURRENT_SCHEMA
    CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DESC DISTINCT DIV ELSE END ESCAPE EXCEPT EXISTS FALSE FETCH FILTER
    FOR FROM FULL HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT LOCALTIME
    LOCALTIMESTAMP MINUS NATURAL NOT NULL OFFSET ON OR ORDINALITY OUTER OVER PIVOT QUALIFY RANGE RECURSIVE REGEXP
    RIGHT RLIKE ROLLUP ROWS SELECT SEMI SESSION_USER SOME TABLE TABLESAMPLE THEN TRUE UNION UNNEST UNPIVOT USING
    VALUES VIEW WHEN WHERE WINDOW WITH
    """.split()
)
"""The words that mean something in a query; every other word is an identifier there."""


class TokenKind(IntEnum):
    """What a token is."""

    WORD = 1
    """A bare word: keyword or identifier."""
    QUOTED = 2
    """An identifier in quotes; its ``text`` is without them."""
    STRING = 3
    """A string literal; its ``text`` is the value."""
    HEX = 4
    """``X'0aff'``; its ``text`` is the digits."""
    NUMBER = 5
    """A number, without its suffix."""
    OPERATOR = 6
    """An operator or a punctuation mark. ``/*+`` and ``*/`` stand around a hint."""
    END = 7
    """Behind the last token: an empty place at the end of the last real one."""


class Token:
    """A token. ``key`` is what a grammar compares: an upper-case word, an operator, or "" for all else."""

    __slots__ = ("end", "key", "kind", "start", "suffix", "text")

    def __init__(self, kind: TokenKind, text: str, start: int, end: int, key: str = "", suffix: str = "") -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.key = key
        self.suffix = suffix

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def __repr__(self) -> str:
        return f"Token({self.kind.name}, {self.text!r}, {self.start}, {self.end})"


NESTED_COMMENTS = {Flavour.FLINK: False, Flavour.SPARK: True}

_COMMON = r"""
    |(?P<skip>(?:\s+|--[^\n]*)+)
    |(?P<comment>/\*(?!\+))
    |(?P<hex>[xX]'[^']*')
    |(?P<word>[^\W\d][\w$]*)
    |(?P<back>`[^`]*(?:``[^`]*)*`)
    |(?P<op>/\*\+|\*/|<=>|<>|<=|>=|!=|==|\|\||->|=>|::|&&)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<tail>[\w$]*)
    |(?P<other>.)
"""
_QUOTED = {
    Flavour.FLINK: r"""
    (?P<string>'[^']*(?:''[^']*)*')
    |(?P<double>"[^"]*(?:""[^"]*)*")
    |(?P<unicode>[uU]&'[^']*(?:''[^']*)*')""",
    Flavour.SPARK: r"""
    (?P<string>'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<raw>[rR]'[^']*'|[rR]"[^"]*")""",
}


@cache
def _pattern(flavour: Flavour) -> re.Pattern[str]:
    """The pattern of one token. Compiled when first needed: a session seldom needs both."""
    return re.compile(_QUOTED[flavour] + _COMMON, re.VERBOSE | re.DOTALL)


_SUFFIXES = frozenset({"L", "S", "Y", "D", "F", "BD"})


def tokenize(text: str, flavour: Flavour) -> list[Token]:
    """The tokens of ``text``, an END token last. Raises SYNTAX at the opening mark of what is never closed."""
    tokens: list[Token] = []
    add = tokens.append
    match = _pattern(flavour).match
    spark = flavour is Flavour.SPARK
    in_hint = False
    position, size = 0, len(text)
    while position < size:
        found = match(text, position)
        if found is None:  # pragma: no cover (the pattern ends in "any character")
            raise BergError(ErrorCode.SYNTAX, "Cannot read this.", span=Span(position, position + 1))
        kind = found.lastgroup
        end = found.end()
        if kind == "word":
            word = found.group()
            add(Token(TokenKind.WORD, word, position, end, word.upper()))
        elif kind == "op":
            mark = found.group()
            if mark == "/*+":
                in_hint = True
            elif mark == "*/":
                if not in_hint:
                    mark, end = "*", position + 1
                in_hint = False
            add(Token(TokenKind.OPERATOR, mark, position, end, mark))
        elif kind == "string":
            if spark:
                _add_spark_string(tokens, text, position, end)
            else:
                add(Token(TokenKind.STRING, text[position + 1 : end - 1].replace("''", "'"), position, end))
        elif kind == "tail":
            end = _add_number(tokens, text, found, spark=spark)
        elif kind == "comment":
            end = comment_end(text, position, flavour)
        elif kind == "other":
            mark = found.group()
            if mark in "'\"`":
                raise unclosed(position, "identifier" if mark == "`" or (mark == '"' and not spark) else "string")
            add(Token(TokenKind.OPERATOR, mark, position, end, mark))
        elif kind == "back":
            add(Token(TokenKind.QUOTED, text[position + 1 : end - 1].replace("``", "`"), position, end))
        elif kind == "double":
            add(Token(TokenKind.QUOTED, text[position + 1 : end - 1].replace('""', '"'), position, end))
        elif kind == "hex":
            add(Token(TokenKind.HEX, text[position + 2 : end - 1], position, end))
        elif kind == "unicode":
            body = text[position + 3 : end - 1].replace("''", "'")
            add(Token(TokenKind.STRING, _decode_unicode(body, position), position, end))
        elif kind == "raw":
            add(Token(TokenKind.STRING, text[position + 2 : end - 1], position, end))
        position = end
    last = tokens[-1].end if tokens else 0
    add(Token(TokenKind.END, "", last, last))
    return tokens


def comment_end(text: str, start: int, flavour: Flavour) -> int:
    """Where the block comment that opens at ``start`` ends. Raises SYNTAX when it is not closed."""
    if not NESTED_COMMENTS[flavour]:
        end = text.find("*/", start + 2)
        if end < 0:
            raise unclosed(start, "comment")
        return end + 2
    depth, position = 1, start + 2
    while depth:
        close = text.find("*/", position)
        if close < 0:
            raise unclosed(start, "comment")
        inner = text.find("/*", position, close)
        if inner < 0:
            depth, position = depth - 1, close + 2
        else:
            depth, position = depth + 1, inner + 2
    return position


def unclosed(start: int, what: str) -> BergError:
    """The error for a string, identifier or comment that opens at ``start`` and has no end."""
    return BergError(ErrorCode.SYNTAX, f"This {what} is not closed.", span=Span(start, start + 1))


def _add_number(tokens: list[Token], text: str, found: re.Match[str], *, spark: bool) -> int:
    """Add a number or a word that begins with a digit (``2020_sales``); give its end."""
    start, end = found.span()
    digits, tail = found.group("number"), found.group("tail")
    previous = tokens[-1] if tokens else None
    if previous is not None and previous.end == start and digits[0] == ".":
        if previous.kind in (TokenKind.WORD, TokenKind.QUOTED):  # db.2020_sales: a dot and a name
            tokens.append(Token(TokenKind.OPERATOR, ".", start, start + 1, "."))
            return start + 1
    elif previous is not None and previous.end == start and previous.key == "." and "." in digits:
        whole = digits.split(".", 1)[0]  # db.2020.t: a name, a dot, a name
        tokens.append(Token(TokenKind.WORD, whole, start, start + len(whole), whole))
        return start + len(whole)
    if not tail:
        tokens.append(Token(TokenKind.NUMBER, digits, start, end))
    elif spark and tail.upper() in _SUFFIXES:
        tokens.append(Token(TokenKind.NUMBER, digits, start, end, suffix=tail.upper()))
    elif "." not in digits and not digits[-1:].isspace() and "+" not in digits and "-" not in digits:
        word = text[start:end]
        tokens.append(Token(TokenKind.WORD, word, start, end, word.upper()))
    else:
        raise BergError(ErrorCode.SYNTAX, f"'{text[start:end]}' is not a number.", span=Span(start, end))
    return end


def _add_spark_string(tokens: list[Token], text: str, start: int, end: int) -> None:
    """Add a string; Spark joins strings that follow each other (``'it''s'`` is ``its``)."""
    body = text[start + 1 : end - 1]
    if "\\" in body:
        body = re.sub(_SPARK_ESCAPE, _unescape, body, flags=re.DOTALL)
    if tokens and tokens[-1].kind is TokenKind.STRING:
        previous = tokens.pop()
        tokens.append(Token(TokenKind.STRING, previous.text + body, previous.start, end))
    else:
        tokens.append(Token(TokenKind.STRING, body, start, end))


_SPARK_ESCAPE = r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))"
_SPARK_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _unescape(found: re.Match[str]) -> str:
    four, eight, octal, other = found.groups()
    if other is not None:
        return _SPARK_NAMED.get(other, other)
    code = int(octal, 8) if octal else int(four or eight, 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "?"


_UNICODE_ESCAPE = r"\\(\\|[0-9a-fA-F]{4}|\+[0-9a-fA-F]{6}|)"


def _decode_unicode(body: str, start: int) -> str:
    def decode(found: re.Match[str]) -> str:
        code = found.group(1)
        if code == "\\":
            return "\\"
        value = int(code.lstrip("+"), 16) if code else -1
        if not 0 <= value <= 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            at = start + 3 + found.start()
            raise BergError(ErrorCode.SYNTAX, "This is not a Unicode escape.", span=Span(at, at + 1))
        return chr(value)

    return re.sub(_UNICODE_ESCAPE, decode, body)


_BLANKS = re.compile(r"(?:\s+|--[^\n]*)*")


def skip_blanks(text: str, position: int, flavour: Flavour) -> int:
    """The first offset from ``position`` that is neither blank nor comment. Raises SYNTAX for an open comment."""
    while True:
        position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
        if not text.startswith("/*", position) or text.startswith("/*+", position):
            return position
        position = comment_end(text, position, flavour)
