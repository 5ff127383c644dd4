"""An error as a person reads it: what, where, the line with a caret, and a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, Span
from bergsql.catalog.secrets import MASK, mask_text
from bergsql.shell.render.display import escape, width

if TYPE_CHECKING:
    from bergsql.engine.sql.splitter import SourceStatement
    from bergsql.shell.sources import Source

_INDENT = "  "
_WINDOW = 100
"""Characters of a long line that are shown around the caret."""
_NEAR = 20_000
"""Characters around the caret in which secrets are looked for; further off they are not shown."""


def error_text(error: BergError, statement: SourceStatement | None = None, source: Source | None = None) -> str:
    """``error`` in lines, without an end of line; where it happened as far as that is known. Secrets are masked."""
    lines = [f"[ERROR] {escape(mask_text(error.message), keep_newlines=True)}"]
    if statement is not None and source is not None:
        if error.span is not None:
            lines += _place(error.span, statement, source)
        elif source.name or source.script:
            lines.append(_INDENT + source.place(statement.line, statement.column))
    if error.hint:
        lines.append(f"Hint: {escape(mask_text(error.hint), keep_newlines=True)}")
    return "\n".join(lines)


def _place(span: Span, statement: SourceStatement, source: Source) -> list[str]:
    text = statement.text
    start = min(span.start, len(text))
    before = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1) + (statement.column if not before else 1)
    lines = [_INDENT + source.place(statement.line + before, column)]
    far = max(0, start - _NEAR)
    text, start, span = text[far : start + _NEAR], start - far, span.shift(-far)
    before = text.count("\n", 0, start)
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    last = len(text) if last < 0 else last
    line = text[first:last].rstrip()
    if line.strip():
        lines += [
            _INDENT + shown for shown in _marked(line, _masked_line(text, before), start - first, span.end - first)
        ]
    return lines


def _masked_line(text: str, number: int) -> str | None:
    """The line of that number with secrets masked, None when nothing had to be."""
    masked = mask_text(text)
    if masked == text:
        return None
    lines = masked.split("\n")
    if len(lines) != text.count("\n") + 1:
        return MASK  # a secret goes over several lines, and this may be one of them
    return lines[number].rstrip()


def _marked(line: str, masked: str | None, start: int, end: int) -> tuple[str, str]:
    """The line and the carets below the characters from ``start`` to ``end``."""
    end = min(max(end, start + 1), max(len(line), start + 1))
    if masked is not None and masked != line:
        start, end = _moved(line, masked, start, end)
        line = masked
    left, right = "", ""
    if len(line) > 2 * _WINDOW:
        cut = max(0, start - _WINDOW)
        left, right = "..." if cut else "", "..." if cut + 2 * _WINDOW < len(line) else ""
        line, start, end = line[cut : cut + 2 * _WINDOW], start - cut, min(end - cut, 2 * _WINDOW)
    line = line.replace("\t", " ")
    columns = len(left) + width(escape(line[:start]))
    carets = max(1, width(escape(line[start:end])))
    return f"{left}{escape(line)}{right}", " " * columns + "^" * carets


def _moved(line: str, masked: str, start: int, end: int) -> tuple[int, int]:
    """Where the marked characters of ``line`` are in ``masked``: those of a secret are the whole mask."""
    kept = _kept(line, masked)
    first, last = _in_masked(kept, start), _in_masked(kept, end - 1)
    return first[0], max(last[1], first[1])


def _in_masked(kept: list[tuple[int, int, int]], at: int) -> tuple[int, int]:
    """Where a character of the line is in the masked one."""
    for begin, stop, shown in kept:
        if at < begin:
            return shown - len(MASK), shown
        if at < stop:
            return at - begin + shown, at - begin + shown + 1
    begin, _, shown = kept[-1]
    return at - begin + shown, at - begin + shown + 1


def _kept(line: str, masked: str) -> list[tuple[int, int, int]]:
    """What masking left as it was: from where to where in ``line``, and from where in ``masked``."""
    pieces = masked.split(MASK)
    kept: list[tuple[int, int, int]] = []
    at = shown = 0
    for number, piece in enumerate(pieces):
        begin = max(at, len(line) - len(piece)) if number == len(pieces) - 1 else max(at, line.find(piece, at))
        kept.append((begin, begin + len(piece), shown))
        at = begin + len(piece)
        shown += len(piece) + len(MASK)
    return kept
