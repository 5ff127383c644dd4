"""Names and texts quoted for whoever reads them: DuckDB, or a person who pastes a statement of either flavour."""

from __future__ import annotations

from collections.abc import Iterable


def identifier(name: str) -> str:
    """A name quoted for DuckDB, and for PostgreSQL alike.

    >>> identifier('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def distinct_names(names: Iterable[str]) -> list[str]:
    """What DuckDB calls columns, or fields of a struct, of these names: it cannot tell apart what differs only in case.

    The first keeps its name, the next get a number. It has no empty names: ``_`` stands for one. What is shown goes by
    the type's own names, and values by place.

    >>> distinct_names(["id", "ID", "a", ""])
    ['id', 'ID_1', 'a', '_']
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found = []
    for given in names:
        name = given or "_"
        unique, key = name, name.casefold()
        while unique.casefold() in taken:
            counts[key] = counts.get(key, 0) + 1
            unique = f"{name}_{counts[key]}"
        taken.add(unique.casefold())
        found.append(unique)
    return found


def string_literal(text: str) -> str:
    """``text`` as a DuckDB string; a NUL character, which DuckDB's lexer refuses, is made by ``chr(0)``."""
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted if "\0" not in quoted else "(" + quoted.replace("\0", "' || chr(0) || '") + ")"


def flink_identifier(name: str) -> str:
    """A name as Flink's SHOW CREATE prints it.

    >>> flink_identifier("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def flink_text(text: str) -> str:
    """A text as Flink's grammar reads it back.

    >>> flink_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def spark_identifier(name: str) -> str:
    """A name as Spark prints it: in back quotes only where it must be.

    >>> spark_identifier("a"), spark_identifier("a b")
    ('a', '`a b`')
    """
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else flink_identifier(name)


def spark_text(text: str) -> str:
    """A text as Spark's grammar reads it back: with backslashes, since two quotes end one text and begin another."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
