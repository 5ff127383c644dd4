"""Patterns of Java's DateTimeFormatter, which both engines' functions take, as DuckDB writes them."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, not_supported

_JAVA = {
    "yyyy": "%Y", "uuuu": "%Y", "y": "%Y", "u": "%Y", "yy": "%y",
    "MM": "%m", "M": "%-m", "MMM": "%b", "MMMM": "%B", "L": "%-m", "LL": "%m",
    "dd": "%d", "d": "%-d", "DDD": "%j", "D": "%-j",
    "HH": "%H", "H": "%-H", "hh": "%I", "h": "%-I",
    "mm": "%M", "m": "%-M", "ss": "%S", "s": "%-S",
    "SSS": "%g", "SSSSSS": "%f", "SSSSSSSSS": "%n",
    "a": "%p", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A",
}  # fmt: skip


def java_format(pattern: str) -> str:
    """A pattern of Java's DateTimeFormatter as DuckDB's strftime writes it.

    >>> java_format("yyyy-MM-dd'T'HH:mm")
    '%Y-%m-%dT%H:%M'

    :raises BergError: UNSUPPORTED for a letter that strftime has no form for.
    """
    out: list[str] = []
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "'":
            end = pattern.find("'", i + 1)
            if end < 0:
                raise BergError(ErrorCode.INVALID, f"The quote in the pattern '{pattern}' is not closed.")
            out.append(pattern[i + 1 : end].replace("%", "%%") or "'")
            i = end + 1
        elif c.isascii() and c.isalpha():
            end = i
            while end < len(pattern) and pattern[end] == c:
                end += 1
            run = pattern[i:end]
            if run not in _JAVA:
                raise not_supported(f"'{run}' in the pattern '{pattern}'")
            out.append(_JAVA[run])
            i = end
        else:
            out.append("%%" if c == "%" else c)
            i += 1
    return "".join(out)
