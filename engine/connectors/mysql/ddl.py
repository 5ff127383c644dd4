"""Which tables a statement of the binlog changes, and how, as far as that can be told from its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from bergsql.engine.connectors.mysql.statements import bare

What = Literal["alter", "create", "drop", "empty", "move", "rename"]

_NAME: Final = r"(?:`(?:[^`]|``)+`|[\w$\u0080-\uffff]+)"
_TABLE: Final = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
_ALTER: Final = re.compile(rf"ALTER\s+(?:ONLINE\s+|(IGNORE)\s+)*TABLE\s+(?:IF\s+EXISTS\s+)?({_TABLE})(.*)", re.I | re.S)
_CREATE: Final = re.compile(rf"CREATE\s+(OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_TABLE})", re.I)
_TRUNCATE: Final = re.compile(rf"TRUNCATE\s+(?:TABLE\s+)?({_TABLE})", re.I)
_DROP: Final = re.compile(rf"DROP\s+TABLES?\s+(?:IF\s+EXISTS\s+)?({_TABLE}(?:\s*,\s*{_TABLE})*)", re.I)
_DROP_DATABASE: Final = re.compile(rf"DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?({_NAME})", re.I)
_RENAME: Final = re.compile(r"RENAME\s+TABLES?\s+(?:IF\s+EXISTS\s+)?(.*)", re.I | re.S)
_RENAMED: Final = re.compile(rf"({_TABLE})\s+(?:(?:NO)?WAIT\s+(?:\d+\s+)?)?TO\s+({_TABLE})", re.I)
_RENAME_TO: Final = re.compile(
    rf"\bRENAME\s*(?:\s(?:TO|AS)\s+|=\s*|\s)(?!COLUMN\b|INDEX\b|KEY\b)({_TABLE})\s*(?:,|;|$)", re.I
)
_PARTITION: Final = rf"PARTITION\s+(?:IF\s+EXISTS\s+)?{_NAME}"
_EMPTIES: Final = re.compile(r"\bTRUNCATE\s+PARTITION\b", re.I)
_MOVES: Final = re.compile(
    rf"\bDROP\s+PARTITION\b|\b(?:DISCARD|IMPORT)\s+(?:PARTITION\b.*)?TABLESPACE\b"
    rf"|\bEXCHANGE\s+{_PARTITION}\s+WITH\s+TABLE\s+({_TABLE})|\bCONVERT\s+{_PARTITION}\s+TO\s+TABLE\s+({_TABLE})"
    rf"|\bCONVERT\s+TABLE\s+({_TABLE})\s+TO\s+PARTITION\b",
    re.I | re.S,
)
_TEXTS: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'")
_NO_COLUMN: Final = r"(?!(?:INDEX|KEY|PRIMARY|FOREIGN|CONSTRAINT|CHECK|PARTITION|SYSTEM|PERIOD|DEFAULT)\b)"
_LOST: Final = re.compile(rf"\bDROP\s+{_NO_COLUMN}(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?({_NAME})", re.I)
_CHANGED: Final = re.compile(
    rf"\b(?:CHANGE\s+(?:COLUMN\s+)?|RENAME\s+COLUMN\s+)(?:IF\s+EXISTS\s+)?({_NAME})\s+(?:TO\s+)?({_NAME})", re.I
)


class Effect(NamedTuple):
    """What a statement does with a table; ``table`` is None for all of a database. ``lost``: the columns, without
    case, that are dropped or called something else; one of the same name may be there again."""

    what: What
    database: str
    table: str | None
    lost: frozenset[str] = frozenset()


def effects(sql: str, database: str) -> Iterator[Effect]:
    """What a statement does with tables; ``database`` is where it ran."""
    text = bare(sql)

    def of(what: What, name: str) -> Effect:
        parts = [_plain(part) for part in re.findall(_NAME, name)]
        return Effect(what, parts[0] if len(parts) == 2 else database, parts[-1])

    if found := _TRUNCATE.match(text):
        yield of("empty", found[1])
    elif found := _DROP.match(text):
        for each in re.findall(_TABLE, found[1]):
            yield of("drop", each)
    elif found := _DROP_DATABASE.match(text):
        yield Effect("drop", of("drop", found[1]).table or "", None)
    elif found := _RENAME.match(text):
        for old, new in _RENAMED.findall(found[1]):
            yield of("rename", old)
            yield of("rename", new)
    elif found := _CREATE.match(text):
        if found[1]:
            yield of("drop", found[2])
        yield of("create", found[2])
    elif found := _ALTER.match(text):
        ignores, table, clauses = found[1], found[2], _TEXTS.sub("''", found[3])
        if renamed := _RENAME_TO.search(clauses):
            yield of("rename", table)
            yield of("rename", renamed[1])
        elif moved := _MOVES.search(clauses):
            yield of("move", table)
            for other in filter(None, moved.groups()):
                yield of("move", other)
        elif _EMPTIES.search(clauses):
            yield of("empty", table)
        elif ignores:
            yield of("move", table)
        else:
            yield of("alter", table)._replace(lost=frozenset(_lost(clauses)))


def _lost(clauses: str) -> Iterator[str]:
    for name in _LOST.findall(clauses):
        yield _plain(name).casefold()
    for old, new in _CHANGED.findall(clauses):
        if _plain(old).casefold() != _plain(new).casefold():
            yield _plain(old).casefold()


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name[0] == "`" else name
