"""Our tokens to sqlglot's: where both flavours' syntax is brought into the one form that query.py documents.

Only tokens are changed, never text, so every sqlglot token keeps its offsets in the statement. Three devices:

- A call's name gets the mark CALL in front, so that sqlglot takes it for a function it does not know; query.py takes
  the mark off the tree again. Without it, sqlglot would translate the call while parsing.
- ``CAST(x AS T)`` becomes a call ``CAST(x, n)`` marked with CAST_MARK, n being the place of T in ``types``; so does a
  literal such as ``DATE '…'``. Behind ``::`` the type becomes ``DECIMAL(n)``. query.py makes casts of both.
- ``line`` and ``col`` of a token hold its start and end offsets, so that a ParseError tells them.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm, shown, token_span
from bergsql.engine.sql.parser.literal_types import LITERAL_TYPES, literal_type, number_type
from bergsql.engine.sql.parser.query_words import (
    AFTER_COMMA,
    ARGUMENT_STARTS,
    AS_OF_WORDS,
    BEFORE_COMMA,
    BEFORE_PARENTHESIS,
    CALL,
    CAST_MARK,
    CLAUSES,
    COMMA_WORDS,
    ENDS_OPERAND,
    ENDS_ROWS,
    KEYWORDS,
    NEVER_BARE,
    NOT_CALLS,
    NOTHING_BEHIND,
    OPERATORS,
    PAIR_STARTS,
    PAIRS,
)
from bergsql.engine.sql.statements.base import TableHint
from bergsql.engine.sql.types import DataType


class TypeUse(NamedTuple):
    """A type met in an expression."""

    type: DataType
    span: Span
    literal: bool = False
    """Whether it is the type of a literal such as DATE '…'."""


class Level:
    """What an open parenthesis or bracket belongs to."""

    __slots__ = ("call", "close", "opened", "values")

    def __init__(self, opened: Token, close: TokenType, call: str = "") -> None:
        self.opened = opened
        self.close = close
        self.call = call
        self.values = False


class Converter:
    """Turns the tokens of a cursor, from its place to ``stop``, into sqlglot's."""

    def __init__(self, cursor: Cursor, stop: int) -> None:
        self.cursor = cursor
        self.tokens = cursor.tokens
        self.stop = stop
        self.out: list[GlotToken] = []
        self.types: list[TypeUse] = []
        self.hints: list[TableHint] = []
        self.level = Level(cursor.token, TokenType.SENTINEL)
        self.levels: list[Level] = [self.level]
        self.closed = self.level
        self.rows_end = -1

    def run(self) -> list[GlotToken]:
        """All tokens; the cursor ends at ``stop``. Raises SYNTAX for what does not close."""
        cursor = self.cursor
        while cursor.index < self.stop:
            token = cursor.token
            kind = token.kind
            if cursor.index == self.rows_end:
                self.emit(TokenType.R_PAREN, token.start, token.start, ")")
            if kind is TokenKind.WORD:
                self._word(token)
            elif kind is TokenKind.OPERATOR:
                self._operator(token)
            elif kind is TokenKind.QUOTED:
                called = self._next(1).key == "(" and not self._defines_alias()
                self._add(TokenType.IDENTIFIER, token, CALL + token.text if called else token.text)
                if called:
                    self._open_call(cursor.token, token.text)
            elif kind is TokenKind.STRING:
                self._add(TokenType.STRING, token, token.text)
            elif kind is TokenKind.NUMBER:
                self._number(token)
            else:
                self._add(TokenType.HEX_STRING, token, token.text)
        self._check_end()
        if len(self.levels) > 1:
            opened = self.level.opened
            raise BergError(ErrorCode.SYNTAX, f"This '{opened.text}' is not closed.", span=opened.span)
        return self.out

    def _check_end(self) -> None:
        """Refuse a query or parenthesis that ends in a word or operator with nothing behind."""
        if self.out and self.out[-1].token_type in NOTHING_BEHIND:
            last = self.cursor.previous
            shown_text = shown(last, self.cursor.text)
            raise BergError(ErrorCode.SYNTAX, f"Something is missing behind '{shown_text}'.", span=last.span)

    # --- small parts -------------------------------------------------------------------------------------------------

    def _next(self, by: int) -> Token:
        return self.tokens[min(self.cursor.index + by, self.stop, len(self.tokens) - 1)]

    def emit(self, kind: TokenType, start: int, end: int, text: str) -> None:
        self.out.append(GlotToken(kind, text, start, end, start, end - 1))

    def _add(self, kind: TokenType, token: Token, text: str) -> None:
        """Emit ``token`` as that kind and step over it."""
        self.emit(kind, token.start, token.end, text)
        self.cursor.index += 1

    def _push(self, opened: Token, close: TokenType, call: str = "") -> None:
        self.level = Level(opened, close, call)
        self.levels.append(self.level)

    def _open_call(self, parenthesis: Token, name: str) -> None:
        """Emit the opening parenthesis of a call whose name was just emitted."""
        self._push(parenthesis, TokenType.R_PAREN, name.upper())
        self._add(TokenType.L_PAREN, parenthesis, "(")

    def _call(self, token: Token) -> None:
        self._add(TokenType.VAR, token, CALL + token.text)
        self._open_call(self.cursor.token, token.text)

    def _defines_alias(self) -> bool:
        """Whether a name with a parenthesis behind it is an alias with columns: ``AS t(a, b)``, ``) t(a, b)``."""
        previous = self.out[-1].token_type if self.out else TokenType.SENTINEL
        return previous in (TokenType.ALIAS, TokenType.R_PAREN, TokenType.WITH)

    # --- words -------------------------------------------------------------------------------------------------------

    def _word(self, token: Token) -> None:
        key, following = token.key, self._next(1)
        previous = self.out[-1].token_type if self.out else TokenType.SENTINEL
        if previous is TokenType.DOT:
            if key in KEYWORDS and token.start > self.out[-1].end + 1:  # "a. FROM t": not a column called FROM
                self._check_end()
            if following.key == "(":
                self._call(token)
            else:
                self._add(TokenType.VAR, token, token.text)
            return
        call = self.level.call
        if call and key in COMMA_WORDS.get(call, ()):
            self._add(TokenType.COMMA, token, ",")
            return
        if call.startswith("JSON_") and self._json_clause():
            return
        if call in ("JSON_OBJECT", "JSON_OBJECTAGG") and key == "KEY" and following.key not in (",", ")", ".", "VALUE"):
            self.cursor.index += 1
            return
        if key == "TO" and call in ("CEIL", "FLOOR", "CEILING"):
            self._add(TokenType.COMMA, token, ",")
            unit = self.cursor.token
            self._add(TokenType.STRING, unit, unit.text.upper())
            return
        if following.kind is TokenKind.STRING and key in LITERAL_TYPES:
            self._literal(token, following)
        elif following.key == "[" and key in ("ARRAY", "MAP"):
            self._add(TokenType.VAR, token, CALL + token.text)
            self._push(following, TokenType.R_PAREN, key)
            self._add(TokenType.L_PAREN, following, "(")
        elif key in ("CAST", "TRY_CAST") and following.key == "(":
            self._add(TokenType.VAR, token, CAST_MARK + key)
            self._open_call(following, key)
        elif key == "TABLE" and (call or previous is TokenType.FARROW) and previous in ARGUMENT_STARTS:
            self._table_argument(token)
        elif key == "OVERLAPS" and following.key == "(" and self._behind_pair(previous):
            self._add(TokenType.OVERLAPS, token, token.text)
        elif following.key == "(" and key not in NOT_CALLS and not self._plain_before_parenthesis(key):
            self._called_word(token, previous)
        elif following.key == "(" and key == "WINDOW":  # Spark's function: the clause has a name there
            self._call(token)
        else:
            self._keyword(token, following, previous)

    def _json_clause(self) -> bool:
        from bergsql.engine.sql.parser.json_clauses import json_clause

        return json_clause(self)

    def _behind_pair(self, previous: TokenType) -> bool:
        """Whether ``(a, b)`` or ``ROW(a, b)`` has just ended, and not a subquery, whose alias would follow."""
        if previous is not TokenType.R_PAREN or self.closed.call not in ("", "ROW"):
            return False
        inside = next((t for t in self.tokens if t.start >= self.closed.opened.end), self.closed.opened)
        return inside.key not in ("SELECT", "VALUES", "WITH", "TABLE", "FROM")

    def _plain_before_parenthesis(self, key: str) -> bool:
        """``WITHIN GROUP (``, ``FILTER (WHERE``, ``t PARTITION (`` and the like."""
        index = self.cursor.index
        if key == "GROUP":
            return index > 0 and self.tokens[index - 1].key == "WITHIN"
        if key == "FILTER":
            return bool(self.out) and self._next(2).key == "WHERE"
        if key == "TRIM":
            return self._next(2).key in ("BOTH", "LEADING", "TRAILING") or self._has_from(index + 2)
        before = self.tokens[index - 1].key if index else ""
        if key == "OF":  # VERSION AS OF (
            return before == "AS" and index > 1 and self.tokens[index - 2].key in AS_OF_WORDS
        return before in BEFORE_PARENTHESIS.get(key, ()) or (key == "REPEATABLE" and before == ")")

    def _has_from(self, index: int) -> bool:
        depth = 0
        while index < self.stop:
            key = self.tokens[index].key
            if key == "(":
                depth += 1
            elif key == ")":
                if not depth:
                    return False
                depth -= 1
            elif key == "FROM" and not depth:
                return True
            index += 1
        return False

    def _called_word(self, token: Token, previous: TokenType) -> None:
        if token.key == "MATCH_RECOGNIZE":
            raise UnsupportedForm("MATCH_RECOGNIZE", token.span)
        if token.key == "ROW" and self.level.values and previous in (TokenType.VALUES, TokenType.COMMA):
            self.cursor.index += 1  # VALUES ROW(1, 2) is VALUES (1, 2)
            return
        self._call(token)

    def _keyword(self, token: Token, following: Token, previous: TokenType) -> None:
        key = token.key
        if key in PAIR_STARTS and following.kind is TokenKind.WORD:
            pair = PAIRS.get((key, following.key))
            if pair is not None:
                self.cursor.index += 1
                self.emit(pair, token.start, following.end, f"{token.text} {following.text}")
                self.cursor.index += 1
                return
        if key in ("ORDER", "GROUP") and previous in ENDS_OPERAND and self.cursor.previous.key != "WITHIN":
            self.cursor.index += 1
            raise self.cursor.expected(("BY",))
        if previous is TokenType.SELECT and key in CLAUSES:
            raise BergError(
                ErrorCode.SYNTAX, "Something is missing behind 'SELECT'.", span=Span(self.out[-1].start, token.end)
            )
        kind = KEYWORDS.get(key)
        text = token.text
        if kind is None:
            kind = self._by_neighbours(token, following, previous)
            if key in AS_OF_WORDS and (
                previous is TokenType.FOR or (previous in ENDS_OPERAND and self._next(2).key == "OF")
            ):
                text = AS_OF_WORDS[key]
            elif key in NEVER_BARE:
                text = CALL + text
        elif previous is TokenType.ALIAS and kind not in (TokenType.SELECT, TokenType.WITH, TokenType.VALUES):
            kind = TokenType.VAR  # an alias may be any word
        elif key == "AS" and self.level.call in ("CAST", "TRY_CAST"):
            self._add(TokenType.COMMA, token, ",")
            self._cast_type()
            return
        if key == "VALUES" and previous is TokenType.L_PAREN and not self.level.call:
            self._joined_rows(token)
        if key in ("PIVOT", "UNPIVOT") and following.key in ("(", "INCLUDE", "EXCLUDE"):
            self._joined_table(token)
        self._add(kind, token, text)
        if key in ENDS_ROWS:
            self.level.values = False
        elif key == "VALUES":
            self.level.values = True

    def _joined_rows(self, token: Token) -> None:
        """``(VALUES … AS t JOIN …)``: a parenthesis around the rows, without which sqlglot reads a query there."""
        depth, end, index = 0, -1, self.cursor.index + 1
        while index < self.stop:
            key = self.tokens[index].key
            if key == "(":
                depth += 1
            elif key == ")":
                if not depth:
                    return
                depth -= 1
            elif not depth and key not in (",", "ROW") and end < 0:
                end = index
            if not depth and key == "JOIN":
                self.emit(TokenType.L_PAREN, token.start, token.start, "(")
                self.rows_end = end
                return
            if not depth and key in ENDS_ROWS:
                return
            index += 1

    def _joined_table(self, pivot: Token) -> None:
        """``t VERSION AS OF 1 PIVOT (…)``: a parenthesis around the table, without which sqlglot takes PIVOT for its
        alias; behind TABLESAMPLE too."""
        depth, start, needed = 0, len(self.out), False
        while start:
            before = self.out[start - 1]
            kind = before.token_type
            if kind is TokenType.R_PAREN:
                depth += 1
            elif kind is TokenType.L_PAREN and depth:
                depth -= 1
            elif not depth:
                if kind in (TokenType.L_PAREN, TokenType.FROM, TokenType.JOIN, TokenType.COMMA):
                    break
                as_of = before.text.upper() == "OF" and self.out[start - 2].token_type is TokenType.ALIAS
                needed = needed or as_of or kind is TokenType.TABLE_SAMPLE
            start -= 1
        if needed:
            at = self.out[start].start
            self.out.insert(start, GlotToken(TokenType.L_PAREN, "(", at, at, at, at - 1))
            self.emit(TokenType.R_PAREN, pivot.start, pivot.start, ")")

    def _by_neighbours(self, token: Token, following: Token, previous: TokenType) -> TokenType:
        """The kind of a word that is a keyword only in its place."""
        key = token.key
        if key in ("FIRST", "NEXT") and previous is TokenType.FETCH:
            return TokenType.FIRST if key == "FIRST" else TokenType.NEXT
        if key == "PERCENT" and following.key in (")", "ROW", "ROWS"):
            return TokenType.PERCENT
        if key == "ASOF" and previous in ENDS_OPERAND and following.key in ("JOIN", "LEFT", "INNER"):
            return TokenType.ASOF
        if key == "JSON" and self.cursor.index and self.tokens[self.cursor.index - 1].key in ("IS", "NOT"):
            return TokenType.JSON
        if key == "INTO" and previous in ENDS_OPERAND and following.kind in (TokenKind.WORD, TokenKind.QUOTED):
            return TokenType.INTO
        if (key, following.key) in (("CONNECT", "BY"), ("START", "WITH")) and previous in ENDS_OPERAND:
            raise UnsupportedForm("CONNECT BY", Span(token.start, following.end), "WITH RECURSIVE does it.")
        return TokenType.VAR

    # --- operators ---------------------------------------------------------------------------------------------------

    def _operator(self, token: Token) -> None:
        key = token.key
        if key == "/*+":
            self._hint()
            return
        if key == "::":
            self._add(TokenType.DCOLON, token, "::")
            self._colon_type()
            return
        kind = OPERATORS.get(key)
        if kind is None:
            raise BergError(ErrorCode.SYNTAX, f"Unexpected '{shown(token, self.cursor.text)}'.", span=token_span(token))
        if kind is TokenType.L_BRACKET and not (self.out and self.out[-1].token_type in ENDS_OPERAND):
            raise BergError(ErrorCode.SYNTAX, "Unexpected '['.", span=token.span, hint="ARRAY[…] makes an array.")
        if kind is TokenType.L_PAREN or kind is TokenType.L_BRACKET:
            self._push(token, TokenType.R_PAREN if kind is TokenType.L_PAREN else TokenType.R_BRACKET)
        elif kind is TokenType.R_PAREN or kind is TokenType.R_BRACKET:
            opened = self.level.opened.text
            if len(self.levels) == 1 or (opened == "(") is not (kind is TokenType.R_PAREN):
                raise BergError(ErrorCode.SYNTAX, f"Unexpected '{key}'.", span=token.span)
            self._check_end()
            if self.level.call in ("CAST", "TRY_CAST") and self.cursor.previous.key == "(":
                raise self.cursor.expected((), "an expression")
            kind = self.level.close
            self.closed = self.levels.pop()
            self.level = self.levels[-1]
        elif kind is TokenType.COMMA:
            if (
                self.out
                and self.cursor.previous.key in BEFORE_COMMA
                and self.cursor.previous.kind is not TokenKind.QUOTED
            ):
                raise BergError(ErrorCode.SYNTAX, "Nothing stands before this ','.", span=token.span)
            following = self._next(1)
            if following.key in AFTER_COMMA or self.cursor.index + 1 >= self.stop:
                raise BergError(ErrorCode.SYNTAX, "Nothing follows this ','.", span=token.span)
        self._add(kind, token, ")" if kind is TokenType.R_PAREN else token.text)

    def _hint(self) -> None:
        from bergsql.engine.sql.hints import parse_query_hint, parse_table_hint

        if self.out and self.out[-1].token_type is TokenType.SELECT:
            parse_query_hint(self.cursor)
        else:
            self.hints.append(parse_table_hint(self.cursor))

    # --- literals and types ------------------------------------------------------------------------------------------

    def _number(self, token: Token) -> None:
        if not token.suffix:
            self._add(TokenType.NUMBER, token, token.text)
            return
        use = TypeUse(number_type(token.text, token.suffix), token.span, literal=True)
        self._cast(token, token, TokenType.NUMBER, use)
        self.cursor.index += 1

    def _literal(self, token: Token, value: Token) -> None:
        """``DATE '2020-01-01'``."""
        declared = literal_type(token.key, value.text, self.cursor.flavour)
        self._cast(token, value, TokenType.STRING, TypeUse(declared, token.span, literal=True))
        self.cursor.index += 2

    def _cast(self, token: Token, value: Token, kind: TokenType, use: TypeUse) -> None:
        start, end = token.start, value.end
        self.emit(TokenType.VAR, start, end, CAST_MARK + "CAST")
        self.emit(TokenType.L_PAREN, start, end, "(")
        self.emit(kind, value.start, value.end, value.text)
        self.emit(TokenType.COMMA, start, end, ",")
        self.emit(TokenType.STRING, start, end, CAST_MARK + str(len(self.types)))
        self.emit(TokenType.R_PAREN, start, end, ")")
        self.types.append(use)

    def _cast_type(self) -> None:
        """The type behind AS, and the end of the CAST."""
        use = self.type_use()
        self.emit(TokenType.STRING, use.span.start, use.span.end, CAST_MARK + str(len(self.types)))
        self.types.append(use)
        if not self.cursor.at(")"):
            raise self.cursor.expected((")",))

    def type_use(self) -> TypeUse:
        from bergsql.engine.sql.type_parser import parse_type_tokens

        start = self.cursor.token.start
        declared = parse_type_tokens(self.cursor)
        return TypeUse(declared, self.cursor.span_from(start))

    def _colon_type(self) -> None:
        """The type behind ``::``."""
        use = self.type_use()
        start, end = use.span.start, use.span.end
        self.emit(TokenType.DECIMAL, start, end, "DECIMAL")
        self.emit(TokenType.L_PAREN, start, end, "(")
        self.emit(TokenType.NUMBER, start, end, str(len(self.types)))
        self.emit(TokenType.R_PAREN, start, end, ")")
        self.types.append(use)

    def _table_argument(self, token: Token) -> None:
        """``TABLE t [PARTITION BY k]`` as an argument of a table function becomes the call ``TABLE(t, k)``."""
        self._add(TokenType.VAR, token, CALL + token.text)
        self.emit(TokenType.L_PAREN, token.start, token.end, "(")
        self._dotted()
        if self.cursor.accept("PARTITION"):
            self.cursor.expect("BY")
            close = self.cursor.accept("(")
            while True:
                self.emit(TokenType.COMMA, self.cursor.token.start, self.cursor.token.start, ",")
                self._dotted()
                if not (close and self.cursor.accept(",")):
                    break
            if close:
                self.cursor.expect(")")
        end = self.cursor.previous_end
        self.emit(TokenType.R_PAREN, end - 1, end, ")")

    def _dotted(self) -> None:
        if self.cursor.token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
            raise self.cursor.expected((), "a table's name")
        while True:
            token = self.cursor.token
            kind = TokenType.IDENTIFIER if token.kind is TokenKind.QUOTED else TokenType.VAR
            self._add(kind, token, token.text)
            if not self.cursor.at("."):
                return
            self._add(TokenType.DOT, self.cursor.token, ".")
