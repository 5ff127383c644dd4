"""Key-value pairs of a statement: WITH, TBLPROPERTIES, OPTIONS and hints."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql import statements as st


def options_of(options: Sequence[st.Option]) -> tuple[dict[str, str], dict[str, Span]]:
    """Key-value pairs and where each stands; a key that is given twice is refused."""
    values: dict[str, str] = {}
    spans: dict[str, Span] = {}
    for option in options:
        if option.key in values:
            raise BergError(ErrorCode.OPTION, f"'{option.key}' is given twice.", span=option.span)
        values[option.key] = option.value
        spans[option.key] = option.span
    return values, spans
