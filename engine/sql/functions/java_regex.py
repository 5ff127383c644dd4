"""Java's regular expressions, which both engines' functions take, as RE2 (DuckDB's) writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.quoting import string_literal

if TYPE_CHECKING:
    from bergsql.engine.plan.bound import Bound

_CLASSES = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": r"\x00-\x7F", "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~", "Graph": "!-~", "Print": " -~", "Blank": r" \t", "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F", "Space": r" \t\n\x0B\f\r", "IsAlphabetic": r"\pL\p{Nl}", "IsLetter": r"\pL",
    "IsDigit": r"\p{Nd}", "IsUppercase": r"\p{Lu}", "IsLowercase": r"\p{Ll}", "IsPunctuation": r"\pP",
    "javaLowerCase": r"\p{Ll}", "javaUpperCase": r"\p{Lu}", "javaLetter": r"\pL", "javaDigit": r"\p{Nd}",
}  # fmt: skip
"""Java's names of classes, as what stands between RE2's brackets."""
_HORIZONTAL = r" \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}"
_VERTICAL = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}"


def java_regex(pattern: str) -> str:
    """A pattern of Java's as RE2 takes it.

    :raises BergError: UNSUPPORTED for what RE2 cannot do: to look around, to look back at a group, to never give back.
    """
    out: list[str] = []
    i, in_class = 0, 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            text, i = _escape(pattern, i, in_class > 0)
        elif in_class:
            text, i, in_class = _in_class(pattern, i, in_class)
        elif c == "[":
            text, i, in_class = c, i + 1, 1
            if pattern[i : i + 1] == "^":
                text, i = text + "^", i + 1
        elif c == "(" and pattern.startswith("(?", i):
            text, i = _group(pattern, i)
        elif c == "+" and i and pattern[i - 1] in "?*+}" and not pattern.endswith("\\", 0, i - 1):
            raise _cannot("a possessive quantifier", pattern)
        else:
            text, i = c, i + 1
        out.append(text)
    return "".join(out)


def _cannot(what: str, pattern: str) -> BergError:
    message = f"Not supported: {what} in the pattern '{pattern}'."
    return BergError(ErrorCode.UNSUPPORTED, message, hint="Patterns run in time that grows with the text only.")


def _in_class(pattern: str, i: int, depth: int) -> tuple[str, int, int]:
    c = pattern[i]
    if c == "[" and pattern.startswith("[:", i):
        end = pattern.find(":]", i)
        return (pattern[i : end + 2], end + 2, depth) if end > 0 else ("\\[", i + 1, depth)
    if c == "[" or pattern.startswith("&&", i):
        raise _cannot("a class within a class", pattern)
    return c, i + 1, depth - 1 if c == "]" else depth


def _group(pattern: str, i: int) -> tuple[str, int]:
    if pattern.startswith(("(?=", "(?!", "(?<=", "(?<!"), i):
        raise _cannot("a look ahead or behind", pattern)
    if pattern.startswith("(?>", i):
        raise _cannot("an atomic group", pattern)
    if pattern.startswith("(?<", i):
        return "(?P<", i + 3
    return "(?", i + 2


def _escape(pattern: str, i: int, in_class: bool) -> tuple[str, int]:
    """What a backslash begins, and where the rest goes on."""
    c = pattern[i + 1]
    if c == "Q":
        end = pattern.find("\\E", i)
        quoted = pattern[i + 2 : end if end >= 0 else len(pattern)]
        return re.sub(r"([^\w\s])", r"\\\1", quoted, flags=re.ASCII), end + 2 if end >= 0 else len(pattern)
    if c in "pP":
        return _property(pattern, i, in_class)
    if c == "u" and re.match(r"[0-9a-fA-F]{4}", pattern[i + 2 :]):
        return f"\\x{{{pattern[i + 2 : i + 6]}}}", i + 6
    if c == "k" or (c in "123456789" and not in_class):
        raise _cannot("a look back at a group", pattern)
    if c in "hHvV":
        inner = _HORIZONTAL if c in "hH" else _VERTICAL
        return (inner if in_class else f"[{'^' if c in 'HV' else ''}{inner}]"), i + 2
    plain = {"R": r"(?:\r\n|[\n\x0B\f\r\x{85}\x{2028}\x{2029}])", "Z": r"\n?\z", "e": r"\x1B", "s": r"\s"}
    if c == "s" and in_class:
        return r" \t\n\x0B\f\r", i + 2
    return plain.get(c, pattern[i : i + 2]), i + 2


def _property(pattern: str, i: int, in_class: bool) -> tuple[str, int]:
    match = re.match(r"\{(\w+)\}", pattern[i + 2 :])
    if match is None:
        return pattern[i : i + 3], i + 3
    name, end = match.group(1), i + 2 + match.end()
    inner = _CLASSES.get(name)
    if inner is None:
        return f"\\{pattern[i + 1]}{{{name.removeprefix('Is')}}}", end
    if pattern[i + 1] == "P":
        if in_class:
            raise _cannot(f"\\P{{{name}}} within a class", pattern)
        return f"[^{inner}]", end
    return (inner if in_class else f"[{inner}]"), end


def pattern_sql(pattern: Bound) -> str:
    """The pattern's SQL: a literal is translated, what is only known at run time is taken for RE2's."""
    return string_literal(java_regex(pattern.constant)) if isinstance(pattern.constant, str) else pattern.sql


def group_names(pattern: str) -> dict[str, int]:
    """The numbers of the named groups."""
    return {name: number for number, name in enumerate(_groups(pattern), start=1) if name}


def group_count(pattern: str) -> int:
    """How many groups a pattern has."""
    return len(_groups(pattern))


def _groups(pattern: str) -> list[str]:
    """The names of the groups, in the order in which they are opened; empty for one without a name."""
    bare = re.sub(r"\\Q.*?\\E|\\.|\[[^\]]*\]", "__", pattern)
    return re.findall(r"\((?!\?)|\(\?<([a-zA-Z]\w*)>", bare)


def java_replacement(text: str, pattern: str | None = None) -> str:
    """A replacement with ``$1`` and ``${name}`` as RE2 writes it: ``\\1``."""
    names = group_names(pattern) if pattern is not None else {}
    escaped = text.replace("\\\\", "\0").replace("\\$", "\1").replace("\\", "")
    escaped = re.sub(r"\$\{(\w+)\}", lambda m: f"${names[m.group(1)]}" if m.group(1) in names else m.group(0), escaped)
    return re.sub(r"\$(\d)", r"\\\1", escaped).replace("\1", "$").replace("\0", "\\\\")
