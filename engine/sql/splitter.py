"""A script to its statements: the only place that knows where a statement ends.

It looks only at what can hide or open something (quotes, comments, a few words): a ``;`` in a string, an identifier or
a comment ends nothing. A statement set (``EXECUTE STATEMENT SET BEGIN …; …; END;``, ``BEGIN STATEMENT SET; …; END;``)
and a ``BEGIN … END`` block are one statement. A line that begins with ``!`` where a statement may begin is a command of
the client, to its end. Text may come in pieces, such as a prompt's lines: what has been read is
not read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import NESTED_COMMENTS


class SourceStatement:
    """A statement as written, from its first token to its last, without the ``;``.

    ``start`` is its offset in all text that was fed, ``line`` and ``column`` (in characters) count from 1 and are
    those of its first token.
    """

    __slots__ = ("column", "line", "start", "text")

    def __init__(self, text: str, start: int = 0, line: int = 1, column: int = 1) -> None:
        self.text = text
        self.start = start
        self.line = line
        self.column = column

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SourceStatement):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.text, self.start))

    def __repr__(self) -> str:
        return f"SourceStatement({self.text!r}, line={self.line}, column={self.column})"


_MARK = re.compile(r"""['"`;]|--|/\*(?!\+)""")
_QUOTE_ENDS = {"'": "'", '"': '"', "`": "`", "\\'": r"'|\\.", '\\"': r'"|\\.'}
_COMMENT_EDGE = {False: r"\*/", True: r"\*/|/\*"}

_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)+"
_SET_HEAD = (
    rf"(?:(?:EXECUTE|EXPLAIN\b[\w,\s]*?|COMPILE\b.*?)(?:{_GAP})?STATEMENT{_GAP}SET{_GAP}BEGIN\b"
    rf"|BEGIN{_GAP}STATEMENT{_GAP}SET\b|BEGIN{_GAP}(?!TRANSACTION\b|WORK\b)(?=\w))"
)
_ENDS_BLOCK = rf"(?:{_GAP})?END(?:{_GAP})?$"
_OPENS_BLOCK = rf"(?:{_GAP})?BEGIN{_GAP}\w"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when a script first needs it: most scripts need few, and start-up waits for each."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


class Splitter:
    """Splits text that is fed to it. ``flavour`` is asked anew before each statement, as a SET may change it."""

    def __init__(self, flavour: Callable[[], Flavour]) -> None:
        self._ask = flavour
        self._flavour: Flavour | None = None
        self._buffer = ""
        self._base = 0  # offset of the buffer in all text
        self._at = 0  # where in the buffer reading goes on
        self._counted = 0  # lines are counted up to here in the buffer
        self._line = 1
        self._line_start = 0  # offset of that line in all text
        self._open = ""  # the quote, "--" or "/*" that is open
        self._opened = 0  # where it opened in the buffer
        self._depth = 0
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of the next statement."""
        self._start = -1  # its first token in the buffer
        self._last = -1  # the end of its last one
        self._segment = -1  # the first token behind the last ";" in a block
        self._blocks = 0  # how many BEGINs are open
        self._flavour = None

    # --- for callers -------------------------------------------------------------------------------------------------

    def feed(self, text: str) -> Iterator[SourceStatement]:
        """The statements that end in ``text``; read them all before feeding more."""
        if self._buffer:
            self._forget()
        # One name only holds it while it grows: Python then grows it in place, and a long statement stays linear.
        buffer, self._buffer = self._buffer, ""
        buffer += text
        self._buffer = buffer
        return self._scan(final=False)

    def finish(self) -> Iterator[SourceStatement]:
        """What is left when no more text comes: a statement without a ``;``, or nothing.

        A string or comment that is still open is part of it, for the lexer to complain about at its opening mark.
        """
        yield from self._scan(final=True)
        end = self._last
        if self._open and self._open != "--":
            end = len(self._buffer.rstrip())
            self._start = self._opened if self._start < 0 else self._start
        if self._start >= 0:
            yield self._statement(end)
        self._open = ""
        self._base += len(self._buffer)
        self._buffer, self._at, self._counted = "", 0, 0
        self._begin()

    @staticmethod
    def is_complete(text: str, flavour: Flavour) -> bool:
        """Whether ``text`` is whole statements, so that a prompt may run it: nothing is left open at its end."""
        splitter = Splitter(lambda: flavour)
        some = False
        for _ in splitter.feed(text):
            some = True
        left = splitter._open not in ("", "--") or splitter._start >= 0 or splitter._held()
        return some and not left

    # --- reading -----------------------------------------------------------------------------------------------------

    def _scan(self, *, final: bool) -> Iterator[SourceStatement]:
        buffer = self._buffer
        while True:
            if self._flavour is None:
                self._flavour = self._ask()
            if self._is_command:
                command = self._command(final=final)
                if command is None:
                    return
                yield command
                continue
            if self._open and not self._close(final=final):
                return
            found = _MARK.search(buffer, self._at)
            if found is None or (found.group() == "/*" and found.end() == len(buffer) and not final):
                stop = found.start() if found else max(self._at, self._safe_end(final=final))
                self._plain(self._at, stop)
                self._at = stop
                if self._is_command:
                    continue
                return
            start, mark = found.start(), found.group()
            self._plain(self._at, start)
            if self._is_command:
                continue
            self._at = found.end()
            if mark == ";":
                statement = self._semicolon(start)
                if statement is not None:
                    yield statement
            else:
                self._opened = start
                self._open = mark
                if mark == "/*":
                    self._depth = 1
                elif mark != "--":
                    self._token(start, start + 1)
                    if self._flavour is Flavour.SPARK and mark != "`" and not self._raw_prefix(start):
                        self._open = "\\" + mark

    @property
    def _is_command(self) -> bool:
        """Whether what has begun is a command of the client."""
        return self._start >= 0 and self._buffer[self._start] == "!"

    def _command(self, *, final: bool) -> SourceStatement | None:
        """The command that has begun; None when the end of its line has not come yet."""
        end = self._buffer.find("\n", self._start)
        if end < 0:
            self._at = self._last = len(self._buffer)
            if not final:
                return None
            end = len(self._buffer)
        self._at = end
        statement = self._statement(self._start + len(self._buffer[self._start : end].rstrip()))
        self._begin()
        return statement

    def _held(self) -> bool:
        """Whether unread text at the end is more than blanks."""
        return bool(self._buffer[self._at :].strip())

    def _safe_end(self, *, final: bool) -> int:
        """The end of the buffer, before a character that may be half of a mark."""
        end = len(self._buffer)
        return end - 1 if not final and self._buffer[end - 1 : end] in ("-", "/") else end

    def _close(self, *, final: bool) -> bool:
        """Step behind what is open; False when its end has not come yet."""
        buffer, kind = self._buffer, self._open
        if kind == "--":
            end = buffer.find("\n", self._at)
            self._at = len(buffer) if end < 0 else end
            if end < 0:
                return False
            self._open = ""
            return True
        if kind == "/*":
            return self._close_comment(final=final)
        pattern = _compiled(_QUOTE_ENDS[kind])
        while True:
            found = pattern.search(buffer, self._at)
            if found is None:
                waits = not final and kind[0] == "\\" and buffer.endswith("\\") and len(buffer) > self._at
                self._at = len(buffer) - 1 if waits else len(buffer)
                return False
            self._at = found.end()
            if found.group()[0] != "\\":
                self._open = ""
                self._last = self._at
                return True

    def _close_comment(self, *, final: bool) -> bool:
        edge = _compiled(_COMMENT_EDGE[NESTED_COMMENTS[self._flavour or Flavour.FLINK]])
        while True:
            found = edge.search(self._buffer, self._at)
            if found is None:
                end = len(self._buffer)
                waits = not final and end > self._at and self._buffer[end - 1] in "*/"
                self._at = end - 1 if waits else end
                return False
            self._at = found.end()
            self._depth += 1 if found.group() == "/*" else -1
            if not self._depth:
                self._open = ""
                return True

    def _raw_prefix(self, start: int) -> bool:
        """Whether the quote at ``start`` opens Spark's raw string, ``r'…'``."""
        before = self._buffer[max(0, start - 2) : start]
        return before[-1:] in ("r", "R") and not (before[:-1].isalnum() or before[:-1] in ("_", "$"))

    def _plain(self, start: int, end: int) -> None:
        """Note text outside of quotes and comments."""
        text = self._buffer[start:end]
        right = text.rstrip()
        if right:
            self._token(start + len(right) - len(right.lstrip()), start + len(right))

    def _token(self, start: int, end: int) -> None:
        if self._start < 0:
            self._start = start
        if self._segment < 0:
            self._segment = start
        self._last = end

    # --- ends --------------------------------------------------------------------------------------------------------

    def _semicolon(self, at: int) -> SourceStatement | None:
        """The statement that the ``;`` at ``at`` ends; None for a lone one and for one inside a block."""
        if self._start < 0:
            return None
        segment = self._buffer[self._segment : self._last] if self._segment >= 0 else ""
        if self._blocks:
            if _compiled(_ENDS_BLOCK).match(segment):
                self._blocks -= 1
            elif _compiled(_OPENS_BLOCK).match(segment):
                self._blocks += 1
        elif self._segment == self._start and segment[:1] in "EeBbCc":
            head = _compiled(_SET_HEAD).match(segment)
            if head is not None and not _compiled(_ENDS_BLOCK).match(segment, head.end()):
                self._blocks = 1
        if self._blocks:
            self._segment = -1
            self._last = at + 1
            return None
        statement = self._statement(self._last)
        self._begin()
        return statement

    def _statement(self, end: int) -> SourceStatement:
        start = self._start
        self._count_lines(start)
        offset = self._base + start
        return SourceStatement(self._buffer[start:end], offset, self._line, offset - self._line_start + 1)

    def _count_lines(self, to: int) -> None:
        lines = self._buffer.count("\n", self._counted, to)
        if lines:
            self._line += lines
            self._line_start = self._base + self._buffer.rfind("\n", self._counted, to) + 1
        self._counted = to

    def _forget(self) -> None:
        """Drop the part of the buffer that no statement needs any more."""
        keep = self._start if self._start >= 0 else self._opened if self._open else self._at
        keep = min(keep, self._at)
        if keep <= 0:
            return
        self._count_lines(max(keep, self._counted))
        self._buffer = self._buffer[keep:]
        self._base += keep
        self._at -= keep
        self._counted = max(0, self._counted - keep)
        self._opened -= keep
        for name in ("_start", "_last", "_segment"):
            value = getattr(self, name)
            if value >= 0:
                setattr(self, name, value - keep)
