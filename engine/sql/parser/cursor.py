"""A place in a statement's tokens, with what every grammar rule needs: look, accept, expect, fail well."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TypeVar

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.statements.base import Name, Option

T = TypeVar("T")

DATABASE_WORDS = ("DATABASE", "SCHEMA", "NAMESPACE")
"""What a database may be called."""

_PASSED_OVER = frozenset("AND EXECUTE EXISTS FULL IF LAZY LOCALLY NOT OR REPLACE SYSTEM TEMP TEMPORARY".split())
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)


class UnsupportedForm(Exception):
    """A known form met deep inside a statement; the parser turns the statement into Unsupported."""

    def __init__(self, form: str, span: Span, hint: str | None = None) -> None:
        super().__init__(form)
        self.form = form
        self.span = span
        self.hint = hint


class Cursor:
    """The tokens of one statement and where the parser is in them."""

    __slots__ = ("flavour", "index", "text", "tokens")

    def __init__(self, text: str, tokens: list[Token], flavour: Flavour) -> None:
        self.text = text
        self.tokens = tokens
        self.flavour = flavour
        self.index = 0

    # --- looking -----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def key(self) -> str:
        """The key of the token here: an upper-case bare word or an operator."""
        return self.tokens[self.index].key

    @property
    def previous(self) -> Token:
        """The token before this one; there must be one."""
        return self.tokens[self.index - 1]

    @property
    def previous_end(self) -> int:
        return self.previous.end if self.index else 0

    @property
    def at_end(self) -> bool:
        return self.tokens[self.index].kind is TokenKind.END

    def ends(self, ahead: int = 0) -> bool:
        """Whether the statement ends here, or that many tokens ahead: at its last token or at a ``;``."""
        token = self.peek(ahead)
        return token.kind is TokenKind.END or token.key == ";"

    def peek(self, by: int = 1) -> Token:
        return self.tokens[min(self.index + by, len(self.tokens) - 1)]

    def at(self, *keys: str) -> bool:
        """Whether the tokens from here are these keywords or operators, in this order."""
        tokens, index = self.tokens, self.index
        if index + len(keys) >= len(tokens) + (1 if keys else 0):
            return False
        return all(tokens[index + i].key == key for i, key in enumerate(keys))

    def span_from(self, start: int) -> Span:
        return Span(start, max(start, self.previous_end))

    # --- moving ------------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        token = self.tokens[self.index]
        if token.kind is not TokenKind.END:
            self.index += 1
        return token

    def accept(self, *keys: str) -> bool:
        """Step over these tokens if they are here."""
        if not self.at(*keys):
            return False
        self.index += len(keys)
        return True

    def accept_any(self, *keys: str) -> str:
        """Step over one of these and give it, or ""."""
        key = self.tokens[self.index].key
        if key and key in keys:
            self.index += 1
            return key
        return ""

    def expect(self, *keys: str) -> None:
        for key in keys:
            if self.tokens[self.index].key != key:
                raise self.expected((key,))
            self.index += 1

    def expect_any(self, *keys: str) -> str:
        found = self.accept_any(*keys)
        if not found:
            raise self.expected(keys)
        return found

    def expect_end(self, *also: str) -> None:
        """The statement must end here; ``also`` are the keywords that could have followed."""
        if not self.ends():
            raise self.expected((*also, END_OF_STATEMENT))

    # --- failing -----------------------------------------------------------------------------------------------------

    def expected(self, known: Iterable[str], what: str | None = None) -> BergError:
        """The syntax error "expected …, found …", with the nearest of the known keywords as hint."""
        known = list(dict.fromkeys(known))
        token = self.token
        wanted = what or _listing(known)
        words = [k for k in known if k and k[0].isalpha()]
        hint = did_you_mean(token.text, words) if token.kind is TokenKind.WORD else None
        if token.key == "/*+":
            hint = "A hint stands behind a table, as t /*+ OPTIONS('key'='value') */, or behind SELECT."
        if token.kind is TokenKind.END:
            found = "the statement ends here"
        else:
            found = f"found '{shown(token, self.text)}'"
        message = f"Expected {wanted}, but {found}." if token.kind is TokenKind.END else f"Expected {wanted}, {found}."
        return BergError(ErrorCode.SYNTAX, message, span=token_span(token), hint=hint)

    def spelled(self, form: str, start: int) -> Span:
        """Where the words of ``form`` stand that begin at ``start``, with what may stand among them.

        A form that is not called as it is spelled is where its first word is.
        """
        tokens = self.tokens[bisect_left(self.tokens, start, key=lambda t: t.start) :]
        end, at = tokens[0].end, 0
        for word in form.split():
            found = at
            while found < len(tokens) and tokens[found].key in _PASSED_OVER and tokens[found].key != word:
                found += 1
            if found < len(tokens) and tokens[found].key == word:
                end, at = tokens[found].end, found + 1
            elif not at:
                break
        return Span(start, end)

    def later(self, form: str, start: int, hint: str | None = None) -> UnsupportedForm:
        """The refusal of a form whose words begin at ``start``."""
        return UnsupportedForm(form, self.spelled(form, start), hint)

    def refused(self, form: str, start: int) -> BergError | UnsupportedForm:
        """The refusal of a form that was read whole from ``start``; a syntax error if more follows."""
        refusal = self.later(form, start)
        while self.accept(";"):
            pass
        return refusal if self.at_end else self.expected((END_OF_STATEMENT,))

    def error(self, message: str, span: Span | None = None, hint: str | None = None) -> BergError:
        return BergError(ErrorCode.SYNTAX, message, span=span or token_span(self.token), hint=hint)

    # --- parts that many statements share ----------------------------------------------------------------------------

    def identifier(self, what: str = "a name") -> tuple[str, Span]:
        """One identifier, bare or in quotes."""
        token = self.token
        if token.kind not in _NAMES or (token.kind is TokenKind.QUOTED and not token.text):
            raise self.expected((), what)
        self.index += 1
        return token.text, token.span

    def name(self, what: str = "a name") -> Name:
        """A dotted name."""
        first, span = self.identifier(what)
        parts, start, end = [first], span.start, span.end
        while self.at("."):
            self.index += 1
            if self.token.kind is TokenKind.NUMBER and self.token.text.isdigit():
                part, span = self.token.text, self.token.span
                self.index += 1
            else:
                part, span = self.identifier("a name after the dot")
            parts.append(part)
            end = span.end
        return Name(tuple(parts), Span(start, end))

    def string(self, what: str = "a string in quotes") -> str:
        token = self.token
        if token.kind is not TokenKind.STRING:
            raise self.expected((), what)
        self.index += 1
        return token.text

    def integer(self, what: str = "a whole number") -> int:
        token = self.token
        if token.kind is not TokenKind.NUMBER or not token.text.isdigit():
            raise self.expected((), what)
        self.index += 1
        return int(token.text)

    def if_exists(self) -> bool:
        if self.accept("IF"):
            self.expect("EXISTS")
            return True
        return False

    def if_not_exists(self) -> bool:
        if self.accept("IF"):
            self.expect("NOT", "EXISTS")
            return True
        return False

    def list_of(self, item: Callable[[], T], *, may_be_empty: bool = False) -> list[T]:
        """``( item, item … )``."""
        self.expect("(")
        if may_be_empty and self.accept(")"):
            return []
        items = [item()]
        while self.accept(","):
            items.append(item())
        if not self.accept(")"):
            raise self.expected((",", ")"))
        return items

    def options(self) -> tuple[Option, ...]:
        """``('key' = 'value', …)``; spark's keys may be bare and its values numbers or booleans."""
        return distinct(self.list_of(self._option, may_be_empty=True))

    def some_options(self) -> tuple[Option, ...]:
        """:meth:`options`, at least one."""
        if self.at("(", ")"):
            raise self.error("SET needs at least one 'key' = 'value'.")
        return self.options()

    def option_keys(self) -> tuple[str, ...]:
        """``('key', …)``, at least one."""
        if self.at("(", ")"):
            raise self.error("At least one key must be named.")
        return tuple(self.list_of(self.option_key))

    def option_key(self) -> str:
        """The key of a property: a string, or bare dotted words."""
        token = self.token
        if token.kind is TokenKind.STRING:
            self.index += 1
            return token.text
        if token.kind in _NAMES:
            return ".".join(self._key_parts())
        raise self.expected((), "a key in quotes")

    def _key_parts(self) -> list[str]:
        parts = [self.identifier()[0]]
        while True:
            if self.accept("."):
                parts.append(self.identifier("a key in quotes")[0])
            elif self.at("-") and self.token.start == self.previous_end:
                self.index += 1
                parts[-1] += "-" + self.identifier("a key in quotes")[0]
            else:
                return parts

    def _option(self) -> Option:
        start = self.token.start
        key = self.option_key()
        if not self.accept_any("=", "=="):
            raise self._expected_for(key, ("=",), None)
        token = self.token
        sign = "-" if self.at("-") else ""
        if sign:
            self.index += 1
            token = self.token
        if token.kind in (TokenKind.STRING, TokenKind.NUMBER) or token.key in ("TRUE", "FALSE"):
            self.index += 1
        elif not (token.kind is TokenKind.QUOTED and self.text[token.start] == '"'):
            raise self._expected_for(key, (), "a value in quotes")
        else:
            self.index += 1
        value = token.text.lower() if token.key in ("TRUE", "FALSE") else sign + token.text
        return Option(key, value, Span(start, token.end))

    def _expected_for(self, key: str, known: Iterable[str], what: str | None) -> BergError:
        """:meth:`expected`, which does not say what was found where that may be a secret."""
        from bergsql.catalog.secrets import is_secret_key

        error = self.expected(known, what)
        if is_secret_key(key):
            error.message = error.message.partition(", found ")[0].removesuffix(".") + "."
            error.hint = None
        return error


def distinct(options: Iterable[Option]) -> tuple[Option, ...]:
    """The options of one or of several clauses; a key that is given twice is refused."""
    found: dict[str, Option] = {}
    for option in options:
        if found.setdefault(option.key, option) is not option:
            raise BergError(ErrorCode.OPTION, f"'{option.key}' is given twice.", span=option.span)
    return tuple(found.values())


def refuse_twice(what: str, named: Iterable[tuple[str, Span]], *, fold: bool = False) -> None:
    """Refuse a list that names one thing two times; ``fold``: whether case makes no difference."""
    seen: set[str] = set()
    for name, span in named:
        key = name.casefold() if fold else name
        if key in seen:
            raise BergError(ErrorCode.SYNTAX, f"The {what} '{name}' is named twice.", span=span)
        seen.add(key)


END_OF_STATEMENT = "the end of the statement"


def token_span(token: Token) -> Span:
    """The token's span; for the end of the statement, the character behind its last one."""
    return Span(token.start, max(token.end, token.start + 1))


def shown(token: Token, text: str) -> str:
    """A token as an error message quotes it."""
    source = text[token.start : token.end]
    return source if len(source) <= 40 else source[:37] + "..."


def _listing(known: list[str]) -> str:
    marked = [k if k == END_OF_STATEMENT else f"'{k}'" for k in known]
    if len(marked) > 12:
        marked = [*marked[:12], "…"]
    if len(marked) == 1:
        return marked[0]
    return "one of " + ", ".join(marked[:-1]) + " or " + marked[-1] if marked else "something else"
