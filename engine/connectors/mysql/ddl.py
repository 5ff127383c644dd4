"""Which tables a statement of the binlog changes, and how, as far as that can be told from its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from bergsql.engine.connectors.mysql.statements import bare

What = Literal["alter", "create", "drop", "empty", "rename"]

_NAME: Final = r"(?:`(?:[^`]|``)+`|[\w$\u0080-\uffff]+)"
_TABLE: Final = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
_ALTER: Final = re.compile(rf"ALTER\s+(?:ONLINE\s+|IGNORE\s+)*TABLE\s+(?:IF\s+EXISTS\s+)?({_TABLE})(.*)", re.I | re.S)
_CREATE: Final = re.compile(rf"CREATE\s+(OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?({_TABLE})", re.I)
_TRUNCATE: Final = re.compile(rf"TRUNCATE\s+(?:TABLE\s+)?({_TABLE})", re.I)
_DROP: Final = re.compile(rf"DROP\s+TABLES?\s+(?:IF\s+EXISTS\s+)?({_TABLE}(?:\s*,\s*{_TABLE})*)", re.I)
_DROP_DATABASE: Final = re.compile(rf"DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?({_NAME})", re.I)
_RENAME: Final = re.compile(r"RENAME\s+TABLES?\s+(?:IF\s+EXISTS\s+)?(.*)", re.I | re.S)
_RENAMED: Final = re.compile(rf"({_TABLE})\s+(?:(?:NO)?WAIT\s+(?:\d+\s+)?)?TO\s+({_TABLE})", re.I)
_RENAME_TO: Final = re.compile(rf"\bRENAME\s+(?:TO\s+|AS\s+)?(?!COLUMN\b|INDEX\b|KEY\b)({_TABLE})\s*(?:,|;|$)", re.I)
_LOSES: Final = re.compile(r"\b(?:TRUNCATE|DROP|EXCHANGE)\s+PARTITION\b", re.I)


class Effect(NamedTuple):
    """What a statement does with a table; ``table`` is None for all of a database."""

    what: What
    database: str
    table: str | None


def effects(sql: str, database: str) -> Iterator[Effect]:
    """What a statement does with tables; ``database`` is where it ran."""
    text = bare(sql)

    def of(what: What, name: str) -> Effect:
        parts = [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in re.findall(_NAME, name)]
        return Effect(what, *parts) if len(parts) == 2 else Effect(what, database, parts[0])

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
        yield of("empty" if _LOSES.search(found[2]) else "alter", found[1])
        if renamed := _RENAME_TO.search(found[2]):
            yield of("rename", found[1])
            yield of("rename", renamed[1])
