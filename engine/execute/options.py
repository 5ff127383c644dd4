"""Key-value pairs of a statement: WITH, TBLPROPERTIES, OPTIONS and hints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bergsql.catalog.errors import BergError, Span
from bergsql.catalog.secrets import mask_value
from bergsql.engine.sql import statements as st


def options_of(options: Sequence[st.Option]) -> tuple[dict[str, str], dict[str, Span]]:
    """Key-value pairs, and where each stands."""
    return {o.key: o.value for o in options}, {o.key: o.span for o in options}


def at_option(error: BergError, spans: Mapping[str, Span], span: Span) -> BergError:
    """``error`` at the option that it names, at ``span`` if it names none."""
    return error.at(next((s for key, s in spans.items() if f"'{key}'" in error.message), span))


def option_text(options: Mapping[str, str], text: Callable[[str], str], *, secrets: bool = False) -> str:
    """Options as SHOW CREATE writes them, one a line, in their order by key, secrets masked.

    :param text: writes a string of the flavour.
    :param secrets: they are not masked, as what is written is not shown.
    """
    return ",\n".join(f"  {text(k)} = {text(v if secrets else mask_value(k, v))}" for k, v in sorted(options.items()))
