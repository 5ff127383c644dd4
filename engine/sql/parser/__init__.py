"""Text to typed statements: a recursive descent over our own tokens; queries and expressions go on to sqlglot.

One file a family of statements. :func:`parse` looks at the first words and loads only the family that they name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import TokenKind, skip_blanks, tokenize
from bergsql.engine.sql.parser.cursor import END_OF_STATEMENT, Cursor, UnsupportedForm, shown, token_span
from bergsql.engine.sql.statements.base import Statement

_FAMILIES: dict[str, tuple[str, str]] = {
    "SELECT": ("queries", "select"),
    "WITH": ("queries", "select"),
    "VALUES": ("queries", "select"),
    "TABLE": ("queries", "select"),
    "(": ("queries", "select"),
    "FROM": ("queries", "select"),
    "EXPLAIN": ("explain", "explain"),
    "INSERT": ("insert", "insert"),
    "CREATE": ("create", "create"),
    "REPLACE": ("create", "create"),
    "DROP": ("drop", "drop"),
    "ALTER": ("alter", "alter"),
    "USE": ("use", "use"),
    "SHOW": ("show", "show"),
    "DESCRIBE": ("describe", "describe"),
    "DESC": ("describe", "describe"),
    "RESET": ("session", "reset"),
    "MERGE": ("merge", "merge"),
    "UPDATE": ("rowlevel", "update"),
    "DELETE": ("rowlevel", "delete"),
    "UPSERT": ("rowlevel", "upsert"),
    "TRUNCATE": ("truncate", "truncate"),
    "CALL": ("refused", "call"),
    "BEGIN": ("sets", "begin"),
    "EXECUTE": ("sets", "execute"),
    "COMPILE": ("sets", "compile_plan"),
    "END": ("sets", "end"),
    "ADD": ("modules", "add"),
    "REMOVE": ("modules", "remove"),
    "LIST": ("modules", "listing"),
    "LOAD": ("modules", "load"),
    "UNLOAD": ("modules", "unload"),
    "STOP": ("jobs", "stop"),
    "ANALYZE": ("upkeep", "analyze"),
    "CACHE": ("upkeep", "cache"),
    "UNCACHE": ("upkeep", "cache"),
    "CLEAR": ("upkeep", "cache"),
    "REFRESH": ("upkeep", "refresh"),
    "REPAIR": ("upkeep", "refresh"),
    "MSCK": ("upkeep", "refresh"),
    "COMMENT": ("alter_names", "comment_on"),
    "DECLARE": ("refused", "refused"),
    "GRANT": ("refused", "refused"),
    "REVOKE": ("refused", "refused"),
    "START": ("refused", "refused"),
    "COMMIT": ("refused", "refused"),
    "ROLLBACK": ("refused", "refused"),
    "LOCK": ("refused", "refused"),
    "EXPORT": ("refused", "refused"),
    "IMPORT": ("refused", "refused"),
}


def parse(text: str, flavour: Flavour) -> Statement:
    """The statement that ``text`` is; a ``;`` at its end is ignored.

    A form that bergsql knows but does not run gives :class:`Unsupported`. Raises BergError (SYNTAX, TYPE, OPTION) with
    a span in ``text``, and nothing else.
    """
    start = skip_blanks(text, 0, flavour)
    if text[start : start + 3].upper() == "SET":
        from bergsql.engine.sql.parser.session import parse_set

        statement = parse_set(text, start, flavour)
        if statement is not None:
            return statement
    cursor = Cursor(text, tokenize(text, flavour), flavour)
    try:
        return statement_at(cursor)
    except UnsupportedForm as form:
        from bergsql.engine.sql.statements.unsupported import Unsupported

        return Unsupported(form.form, form.span, form.hint)
    except BergError as error:
        raise _at_returning(_with_hint_at_dollar(error, text), cursor) from None
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("This", Span(start, len(text)), ErrorCode.SYNTAX) from None


def _with_hint_at_dollar(error: BergError, text: str) -> BergError:
    """``error``, with a hint if it is at a ``${…}``, which only stays where no variable is meant or none is ended."""
    if error.span is not None and error.hint is None and text.startswith("${", error.span.start):
        end = text.find("}", error.span.start) + 1
        if not end:
            error.hint = "A variable ${NAME} ends with a brace."
        elif text.startswith("${env:", error.span.start):
            error.span = Span(error.span.start, end)
            error.hint = "${env:NAME} stands inside the quotes of an option's value."
    return error


def _at_returning(error: BergError, cursor: Cursor) -> BergError:
    """``error``, saying so if it comes of a RETURNING behind what changes rows, which is taken for an alias."""
    changes = any(t.key in ("INSERT", "UPDATE", "DELETE", "MERGE") for t in cursor.tokens)
    if error.code is not ErrorCode.SYNTAX or error.span is None or not changes:
        return error
    depth = 0
    for word, behind in pairwise(cursor.tokens):
        depth += (word.key == "(") - (word.key == ")")
        if word.key != "RETURNING" or word.kind is not TokenKind.WORD or depth:
            continue
        if error.span.start in (word.start, behind.start) or error.span.end == word.end:
            message = "RETURNING is not there: a statement that changes rows tells how many, and gives none back."
            hint = "SELECT shows them: before a DELETE, behind an INSERT, UPDATE or MERGE."
            return BergError(ErrorCode.SYNTAX, message, span=word.span, hint=hint)
    return error


def statement_at(cursor: Cursor, *, whole: bool = True) -> Statement:
    """The statement at ``cursor``; ``whole``: nothing but ``;`` may follow."""
    token = cursor.token
    if token.kind is TokenKind.END:
        raise BergError(ErrorCode.SYNTAX, "There is no statement.", span=Span(0, max(1, len(cursor.text))))
    family = _FAMILIES.get(token.key)
    if family is None:
        hint = did_you_mean(token.text, statement_words()) if token.kind is TokenKind.WORD else None
        raise BergError(
            ErrorCode.SYNTAX,
            f"No statement begins with '{shown(token, cursor.text)}'.",
            span=token_span(token),
            hint=hint,
        )
    module, function = family
    grammar: Callable[[Cursor], Statement] = getattr(import_module(f"bergsql.engine.sql.parser.{module}"), function)
    statement = grammar(cursor)
    if whole:
        while cursor.accept(";"):
            pass
        if not cursor.at_end:
            raise cursor.expected((END_OF_STATEMENT,))
    return statement


def statement_words() -> list[str]:
    """Every word that can begin a statement."""
    return ["SET", *(word for word in _FAMILIES if word.isalpha())]
