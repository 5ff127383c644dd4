"""What is said of statements that are nested deeper than a recursive reader can follow."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span

HINT = "Take a part of it out, for example into a table of its own by CREATE TABLE … AS."


def too_deep(what: str, span: Span | None, code: ErrorCode = ErrorCode.INVALID) -> BergError:
    """``what`` ("The query") is nested too deeply."""
    return BergError(code, f"{what} is nested too deeply.", span=span, hint=HINT)
