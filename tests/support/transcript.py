"""What the real Flink SQL client was asked and what it printed: ``oracle/flink/*.txt``, cut into statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wcwidth import wcswidth

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.splitter import Splitter

PROMPT = "Flink SQL> "
_SECONDS = re.compile(r" \(\d+\.\d+ seconds\)$")
_FOOTER = re.compile(r"^(?:\d+ rows? in set|Empty set|Received a total of \d+ rows?)")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A tableau: names and rows of cells without the blanks around them."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def is_changelog(self) -> bool:
        return self.names[:1] == ("op",)

    def settled(self) -> Drawn:
        """The rows that a changelog leaves when its changes are made: what a batch draws."""
        if not self.is_changelog:
            return self
        left: list[tuple[str, ...]] = []
        for op, *row in self.rows:
            if op in ("+I", "+U"):
                left.append(tuple(row))
            else:
                left.remove(tuple(row))
        return Drawn(self.names[1:], tuple(left))

    @property
    def only_inserts(self) -> bool:
        return all(row[0] == "+I" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Told:
    """One statement of a transcript. ``number`` counts within it, from 0."""

    transcript: str
    number: int
    sql: str
    lines: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return any(line.startswith("[ERROR]") for line in self.lines)

    @property
    def table(self) -> Drawn | None:
        """The tableau, if one was drawn; an empty set is one without names."""
        return drawn(self.lines)

    def __str__(self) -> str:
        return f"{self.transcript} {self.number}: {self.sql[:60]}"


def read_transcript(path: Path) -> list[Told]:
    """The statements of a transcript, each with the lines that came behind it, up to QUIT."""
    told: list[Told] = []
    typed, lines = "", list[str]()
    for line in [*path.read_text(encoding="utf-8").splitlines(), PROMPT]:
        if not line.startswith(PROMPT.rstrip()):
            if typed and not lines and not Splitter.is_complete(typed, Flavour.FLINK):
                typed += "\n" + line  # the client reads on, and the transcript shows what it read
            else:
                lines.append(line)
            continue
        if typed and typed.rstrip(";").upper() not in ("QUIT", "EXIT"):
            told.append(Told(path.stem, len(told), typed, tuple(_trimmed(lines))))
        typed, lines = line.removeprefix(PROMPT.rstrip()).strip(), []
    return told


def _trimmed(lines: Sequence[str]) -> list[str]:
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def timeless(lines: Sequence[str]) -> list[str]:
    """The lines of an answer without how long it took and without notes."""
    return [_SECONDS.sub("", line.rstrip()) for line in lines if not line.startswith("[INFO]")]


def drawn(lines: Sequence[str]) -> Drawn | None:
    """The tableau in an answer's lines, read by its borders, so that a cell may hold bars and line ends.

    None when there is none.
    """
    borders = [number for number, line in enumerate(lines) if re.fullmatch(r"\+(-+\+)+", line)]
    if not borders:
        return Drawn((), ()) if any(_FOOTER.match(line) for line in lines) else None
    widths = [len(part) for part in lines[borders[0]].strip("+").split("+")]
    names = _cells(lines[borders[0] + 1], widths)
    last = borders[2] if len(borders) > 2 else len(lines)
    body = "\n".join(lines[borders[1] + 1 : last])
    if len(widths) == 1:
        # SHOW CREATE and EXPLAIN: one cell of many lines.
        texts = re.findall(r"^\| *(.*?) *\|$", body, re.DOTALL | re.MULTILINE)
        return Drawn(names, tuple((text.strip(),) for text in texts))
    return Drawn(names, tuple(_cells(line, widths) for line in body.splitlines() if line.startswith("|")))


def _cells(line: str, widths: Sequence[int]) -> tuple[str, ...]:
    """The cells of a line, cut by display columns."""
    cells, rest = [], line[1:]
    for width in widths:
        taken = 0
        while taken < len(rest) and wcswidth(rest[:taken]) < width:
            taken += 1
        cells.append(rest[:taken].strip())
        rest = rest[taken + 1 :]
    return tuple(cells)
