"""What formats of columns share: a file may lack columns, which are NULL then, and have others, which are not read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.connectors.formats.base import Scan
from bergsql.engine.sql.type_names import duckdb_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bergsql.engine.connectors.base import TableColumn

Place = int | None
"""Where in a file a column is; None where it is not there."""


def places(columns: Sequence[TableColumn], names: Iterable[str]) -> tuple[Place, ...]:
    """Where the columns are among those of a file: by name, if need be without case."""
    exact: dict[str, int] = {}
    folded: dict[str, int] = {}
    for i, name in enumerate(names):
        exact.setdefault(name, i)
        folded.setdefault(name.casefold(), i)
    return tuple(exact.get(c.name, folded.get(c.name.casefold())) for c in columns)


def scan_alike(
    columns: Sequence[TableColumn],
    files: Sequence[str],
    names_of: Callable[[str], Sequence[str]],
    read: Callable[[Sequence[str], Sequence[str], int], tuple[str, Callable[[int], str], dict[str, object]]],
) -> Scan:
    """The rows of files: those with the same columns are read together.

    ``read`` gives, for files, the names of their columns and a number, something to select from, SQL of the column at a
    place, and variables. That has a column ``file`` too.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        alike.setdefault(tuple(names_of(file)), []).append(file)
    parts, variables = [], {}
    for number, (names, members) in enumerate(alike.items()):
        source, column, more = read(members, names, number)
        variables.update(more)
        items = [
            f"CAST({'NULL' if place is None else column(place)} AS {duckdb_name(c.type)}) AS c{i}"
            for i, (c, place) in enumerate(zip(columns, places(columns, names), strict=True))
        ]
        parts.append(f"SELECT {', '.join(items)}, file, false AS broken FROM {source}")
    return Scan(f"({' UNION ALL '.join(parts)})", variables)
