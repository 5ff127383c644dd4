"""``${NAME}`` in a statement's text, filled in before it is parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import comment_end

_VARIABLE = r"(?P<variable>\$\{(?P<name>[^{}'\"`;\n]*)\})"
_OUTSIDE = {
    Flavour.FLINK: re.compile(rf"{_VARIABLE}|--[^\n]*|(?P<block>/\*(?!\+))|(?P<quote>['\"`])"),
    Flavour.SPARK: re.compile(rf"{_VARIABLE}|--[^\n]*|(?P<block>/\*(?!\+))|(?P<quote>(?<![\w$])[rR]['\"]|['\"`])"),
}
_PLAIN = {q: re.compile(rf"{_VARIABLE}|(?P<quote>{q})") for q in "'\"`"}
_ESCAPED = {q: re.compile(rf"{_VARIABLE}|(?P<quote>{q})|\\.", re.DOTALL) for q in "'\""}


def _inside(quote: str, flavour: Flavour) -> re.Pattern[str]:
    """What matters between quotes: Spark's strings have escapes, but its raw ones (``r'…'``) have none."""
    return _ESCAPED[quote] if flavour is Flavour.SPARK and quote in _ESCAPED else _PLAIN[quote[-1]]


_HIVE = ("hivevar:", "hiveconf:")


def plain_name(name: str) -> str:
    """A variable's name without Hive's word for where it is looked up: there is one place for both kinds here."""
    prefix = next((each for each in _HIVE if name.startswith(each)), "")
    return name[len(prefix) :].strip()


class Substituted:
    """A text with its variables filled in, and the way back to the offsets of the original."""

    __slots__ = ("_places", "_starts", "text")

    def __init__(self, text: str, places: list[tuple[int, int, int, int]]) -> None:
        self.text = text
        self._places = places  # start and end of each value in text; start and end of its variable in the original
        self._starts = [place[0] for place in places]

    def to_original(self, offset: int) -> int:
        """Where ``offset`` of :attr:`text` stands in the original; inside of a value, where its variable begins.

        Never decreasing in ``offset``.
        """
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return offset
        start, end, original_start, original_end = self._places[index]
        if offset >= end and offset > start:
            return offset - end + original_end
        return original_start


def substitute(
    text: str,
    lookup: Callable[[str], str | None] | Mapping[str, str],
    flavour: Flavour = Flavour.FLINK,
    known: Iterable[str] | None = None,
    *,
    env: bool = True,
) -> Substituted:
    """Fill in every ``${NAME}`` outside of comments, in strings and quoted identifiers too.

    ``${env:NAME}`` stays: it is resolved late, where its value is used. ``known`` are the names to hint at, by default
    the keys of a mapping. Raises OPTION, with a span in ``text``, for a name that ``lookup`` does not know, and INVALID
    for ``${env:NAME}`` unless ``env``; and what ``lookup`` raises.
    """
    if "${" not in text:
        return Substituted(text, [])
    get = lookup.get if isinstance(lookup, Mapping) else lookup
    pieces: list[str] = []
    places: list[tuple[int, int, int, int]] = []
    copied = position = length = 0
    outside = _OUTSIDE[flavour]
    pattern = outside
    while True:
        found = pattern.search(text, position)
        if found is None:
            break
        position = found.end()
        kind = found.lastgroup
        if kind == "quote":
            pattern = _inside(found.group(), flavour) if pattern is outside else outside
        elif kind == "block":
            position = comment_end(text, found.start(), flavour)
        elif kind in ("variable", "name"):
            name = found.group("name").strip()
            if name.startswith("env:"):
                if not env:
                    from bergsql.catalog.options import env_refused

                    raise env_refused(found.group(), Span(found.start(), position))
                continue
            try:
                value = get(name)
            except BergError as error:
                raise error.at(Span(found.start(), position)) from None
            if value is None:
                raise _unknown(name, Span(found.start(), position), known, lookup)
            pieces += (text[copied : found.start()], value)
            length += found.start() - copied
            places.append((length, length + len(value), found.start(), position))
            length += len(value)
            copied = position
    pieces.append(text[copied:])
    return Substituted("".join(pieces), places)


def _unknown(
    name: str,
    span: Span,
    known: Iterable[str] | None,
    lookup: Callable[[str], str | None] | Mapping[str, str],
) -> BergError:
    name = plain_name(name)
    if known is None:
        known = lookup if isinstance(lookup, Mapping) else ()
    hint = did_you_mean(name, known) or f"Define it with -D {name or 'NAME'}=value."
    return BergError(ErrorCode.OPTION, f"The variable '{name}' is not defined.", span=span, hint=hint)
