"""EXPLAIN of any statement."""

from __future__ import annotations

from bergsql.engine.sql.parser import statement_at
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.explain import Explain

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_MODES = ("EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL", "ANALYZE")


def explain(cursor: Cursor) -> Statement:
    """``EXPLAIN [PLAN FOR | detail, … | EXTENDED …] statement``."""
    cursor.expect("EXPLAIN")
    mode = ""
    if cursor.accept("PLAN", "FOR"):
        mode = "PLAN FOR"
    elif cursor.key in _MODES:
        mode = cursor.advance().key
    elif cursor.key in _DETAILS:
        details = [cursor.expect_any(*_DETAILS)]
        while cursor.accept(","):
            details.append(cursor.expect_any(*_DETAILS))
        mode = ", ".join(details)
    if cursor.at("STATEMENT", "SET"):
        from bergsql.engine.sql.parser.sets import statement_set

        return Explain(statement_set(cursor), mode)
    if cursor.at_end:
        raise cursor.expected((*_MODES, *_DETAILS), "a statement")
    begin = cursor.token.start
    return Explain(statement_at(cursor, whole=False), mode, cursor.span_from(begin))
