"""The arguments of a call as its parameters want them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.sql.parser.query import Place, span_of
from bergsql.engine.sql.types import (
    BIGINT,
    BINARIES,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    INTERVALS,
    NESTED,
    NULL,
    NUMBERS,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Field,
    Kind,
)

_TYPES = {"t": STRING, "i": INT, "l": BIGINT, "d": DOUBLE, "b": BOOLEAN, "x": BYTES, "D": DATE}
_WORDS = {
    "t": "text",
    "i": "a whole number",
    "l": "a whole number",
    "d": "a number",
    "n": "a number",
    "N": "a number",
    "I": "a whole number",
    "b": "a condition",
    "x": "bytes",
    "o": "text or bytes",
    "h": "a whole number, text or bytes",
    "D": "a date",
    "S": "a timestamp",
    "T": "a time or a timestamp",
    "A": "an array",
    "C": "an array",
    "M": "a map",
    "z": "an array or a map",
}
_KEPT: dict[str, frozenset[Kind]] = {
    "n": NUMBERS,
    "N": NUMBERS | INTERVALS,
    "I": frozenset(INTEGERS),
    "o": TEXTS | BINARIES,
    "h": TEXTS | BINARIES,
    "S": STAMPS,
    "T": STAMPS | {Kind.TIME},
    "A": frozenset({Kind.ARRAY}),
    "C": frozenset({Kind.ARRAY}),
    "M": frozenset({Kind.MAP}),
    "z": frozenset({Kind.ARRAY, Kind.MAP}),
}
"""The kinds that a code takes as they are, whatever their precision and parts."""

_OF_NULL = {
    "n": DOUBLE,
    "N": DOUBLE,
    "I": BIGINT,
    "o": STRING,
    "h": STRING,
    "A": DataType(Kind.ARRAY, children=(Field("element", NULL),)),
    "M": DataType(Kind.MAP, children=(Field("key", NULL, False), Field("value", NULL))),
}
_OF_NULL["C"] = _OF_NULL["z"] = _OF_NULL["A"]
"""What a bare NULL becomes where such a code is wanted."""


def _codes(parameters: str) -> list[tuple[str, str]]:
    codes: list[tuple[str, str]] = []
    for letter in parameters:
        if letter in "?*+":
            codes[-1] = (codes[-1][0], letter)
        else:
            codes.append((letter, ""))
    return codes


def fit_arguments(
    parameters: str,
    name: str,
    bound: list[Bound],
    context: Context,
    span: Span | None,
    places: Sequence[Place] = (),
) -> list[Bound]:
    """The arguments as the parameters want them.

    :raises BergError: ARITY or TYPE.
    """
    codes = _codes(parameters)
    least = sum(1 for _, many in codes if many in ("", "+"))
    open_end = bool(codes) and codes[-1][1] in ("*", "+")
    if len(bound) < least or (len(bound) > len(codes) and not open_end):
        raise _arity(name, len(bound), least, None if open_end else len(codes), span)
    letters = [codes[min(i, len(codes) - 1)][0] for i in range(len(bound))]
    ready = []
    for i, (value, letter) in enumerate(zip(bound, letters, strict=True)):
        where = _Where(places[i] if i < len(places) else None, span)
        ready.append(_fit(value, letter, name, context, i + 1 if len(codes) > 1 else None, where))
    for code in "cC":
        shared = [i for i, letter in enumerate(letters) if letter == code]
        if len(shared) > 1:
            for i, value in zip(shared, _common([ready[i] for i in shared], name, context, span), strict=True):
                ready[i] = value
    return ready


def _arity(name: str, given: int, least: int, most: int | None, span: Span | None) -> BergError:
    wanted = str(least) if most == least else f"{least} or more" if most is None else f"{least} to {most}"
    noun = "argument" if wanted == "1" else "arguments"
    return BergError(ErrorCode.ARITY, f"{name.upper()} takes {wanted} {noun}, not {given}.", span=span)


def _common(values: list[Bound], name: str, context: Context, span: Span | None) -> list[Bound]:
    shared, odd = shared_type((v.type for v in values), context.common_type)
    if odd is not None:
        a, b = type_text(shared, context.flavour), type_text(values[odd].type, context.flavour)
        raise type_error(f"The arguments of {name.upper()} mix {a} and {b}.", span)
    return [coerce(v, shared, context, span) for v in values]


class _Where(NamedTuple):
    """Where an argument stands: at a part of it that has a place, or else (``TRUE``, ``NULL``) at the call's name."""

    place: Place
    call: Span | None

    def span(self) -> Span | None:
        return span_of(self.place) or self.call


def _fit(bound: Bound, code: str, name: str, context: Context, position: int | None, where: _Where) -> Bound:
    kind = bound.type.kind
    if code in "ac" or kind in _KEPT.get(code, ()):
        return bound
    to = _target(code, kind, context)
    if to is not None:
        try:
            return coerce(bound, to, context)
        except BergError as error:
            raise error.at(where.span()) from None
    what = type_text(bound.type, context.flavour)
    which = "" if position is None else f" as argument {position}"
    message = f"{name.upper()} takes {_WORDS[code]}{which}, not {what}."
    raise type_error(message, where.span())


def _target(code: str, kind: Kind, context: Context) -> DataType | None:
    """The type that an argument is turned into, None where it cannot be what the code wants."""
    if code in "ST":
        if kind in (Kind.DATE, Kind.NULL) or kind in TEXTS:
            return DataType(Kind.TIMESTAMP_LTZ if context.spark else Kind.TIMESTAMP, 6)
        return None
    if code in _OF_NULL:
        if kind is Kind.NULL:
            return _OF_NULL[code]
        if code in "nN":
            return DOUBLE if kind in TEXTS and context.spark else None
        if code == "h" and kind in NUMBERS:
            return BIGINT if kind in INTEGERS or context.spark else None
        return STRING if code in "oh" and context.spark and kind not in (*NESTED, *INTERVALS) else None
    return _TYPES[code] if _takes(code, kind, context) else None


def _takes(code: str, kind: Kind, context: Context) -> bool:
    if kind is Kind.NULL or kind is _TYPES[code].kind:
        return True
    if code == "t":
        return kind in TEXTS or context.spark or kind in (*NUMBERS, *STAMPS, Kind.DATE, Kind.TIME, Kind.BOOLEAN)
    if code in "ild":
        return kind in NUMBERS or (kind in TEXTS and context.spark)
    if code == "D":
        return kind in STAMPS or kind in TEXTS
    if code == "x":
        return kind in BINARIES or (kind in TEXTS and context.spark)
    return False
