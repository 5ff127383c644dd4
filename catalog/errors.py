"""The one root of all errors that a person may see.

An error carries what a shell needs to show it well: a stable code, one sentence, the place in the statement, and a
hint. Lower floors raise it without a place; the floor that knows the place adds it with :meth:`BergError.at`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class ErrorCode(StrEnum):
    """What kind of thing went wrong; the shell derives its exit code from it."""

    SYNTAX = "SYNTAX"
    UNSUPPORTED = "UNSUPPORTED"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    INVALID = "INVALID"
    TYPE = "TYPE"
    ARITY = "ARITY"
    CARDINALITY = "CARDINALITY"
    OPTION = "OPTION"
    CONFIG = "CONFIG"
    CONNECTION = "CONNECTION"
    IO = "IO"
    CORRUPT = "CORRUPT"
    CONFLICT = "CONFLICT"
    UNKNOWN_OUTCOME = "UNKNOWN_OUTCOME"
    EXECUTION = "EXECUTION"
    INTERRUPTED = "INTERRUPTED"
    INTERNAL = "INTERNAL"


class Span(NamedTuple):
    """A half-open range of character offsets in a statement's text."""

    start: int
    end: int

    def shift(self, by: int) -> Span:
        return Span(self.start + by, self.end + by)


class BergError(Exception):
    """One failure, told in one sentence.

    ``span`` is relative to the text of the statement that failed.
    """

    def __init__(self, code: ErrorCode, message: str, *, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint

    def at(self, span: Span | None) -> BergError:
        """This error, placed at ``span`` unless it already has a place."""
        if self.span is None:
            self.span = span
        return self


class CommitConflict(BergError):
    """Another writer was first: the commit certainly did not happen, and may be tried again on the new head."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(ErrorCode.CONFLICT, message, hint=hint)


class CommitStateUnknown(BergError):
    """It could not be found out whether the commit happened: no file of it may be deleted."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(ErrorCode.UNKNOWN_OUTCOME, message, hint=hint)


def not_supported(form: str, span: Span | None = None, hint: str | None = None) -> BergError:
    """The error for a form that is known but that bergsql does not execute yet."""
    return BergError(ErrorCode.UNSUPPORTED, f"{form} is not supported yet.", span=span, hint=hint)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the known word nearest to ``word``, or None when nothing is near.

    >>> did_you_mean("warehous", ["uri", "warehouse"])
    "Did you mean 'warehouse'?"
    """
    from difflib import get_close_matches

    folded = word.casefold()
    by_folded = {k.casefold(): k for k in known}
    for near in get_close_matches(folded, by_folded, n=3, cutoff=0.6):
        if _is_near(folded, near):
            return f"Did you mean '{by_folded[near]}'?"
    return None


def _is_near(word: str, known: str) -> bool:
    """Whether one may be a slip for the other, though they are short: few letters are easily alike."""
    shorter = min(len(word), len(known))
    if sorted(word) == sorted(known) or shorter > _SHORT:
        return True
    from difflib import SequenceMatcher

    apart = abs(len(word) - len(known))
    return apart <= (1 if shorter < _SHORT else 2) and SequenceMatcher(None, known, word).ratio() > _BAR


_SHORT = 5
"""Letters of a short word."""
_BAR = 0.7
"""How much alike short words must be; two of three letters are not enough."""
