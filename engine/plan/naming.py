"""How Spark writes a call: the name of a column that is one."""

from __future__ import annotations

from collections.abc import Sequence

_UPPER = frozenset(
    "regexp_like ceil floor rank dense_rank percent_rank sqrt cbrt exp expm1 log log10 log2 power signum degrees "
    "radians sin cos tan cot asin acos atan atan2 sinh cosh tanh pi e asinh acosh atanh hypot log1p csc sec".split()
)
_PATTERN = "yyyy-MM-dd HH:mm:ss"
_DEFAULTS = {
    "regexp_replace": ("", "", "", "1"),
    "substring": ("", "", "2147483647"),
    "substr": ("", "", "2147483647"),
    "locate": ("", "", "1"),
    "split": ("", "", "-1"),
    "unix_timestamp": ("", _PATTERN),
    "from_unixtime": ("", _PATTERN),
    "to_unix_timestamp": ("", _PATTERN),
    "sort_array": ("", "true"),
    "percentile": ("", "", "1"),
    "percentile_approx": ("", "", "10000"),
    "approx_percentile": ("", "", "10000"),
    "lag": ("", "1", "NULL"),
    "lead": ("", "1", "NULL"),
    "months_between": ("", "", "true"),
    "lpad": ("", "", " "),
    "rpad": ("", "", " "),
}
"""Arguments that Spark writes out when they are left out."""


_SHOWN = {"curdate": "current_date", "array_agg": "collect_list", "random": "rand"}
"""Names that Spark writes as others."""


def call_text(name: str, arguments: Sequence[str], distinct: bool = False) -> str:
    """Spark's text of a call."""
    key = name.lower()
    key = _SHOWN.get(key, key)
    written = ["E()", *arguments] if key == "log" and len(arguments) == 1 else list(arguments)
    if written:
        written += _DEFAULTS.get(key, ())[len(written) :]
    if key == "datepart":
        return f"datepart({' FROM '.join(written)})"
    shown = key.upper() if key in _UPPER else key
    return f"{shown}({'DISTINCT ' if distinct else ''}{', '.join(written)})"
