"""Key-value pairs of a statement: WITH, TBLPROPERTIES, OPTIONS and hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.secrets import mask_value
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


def option_text(options: Mapping[str, str], text: Callable[[str], str]) -> str:
    """Options as SHOW CREATE writes them, one a line, in their order by key, secrets masked.

    :param text: writes a string of the flavour.
    """
    return ",\n".join(f"  {text(k)} = {text(mask_value(k, v))}" for k, v in sorted(options.items()))
