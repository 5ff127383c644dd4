"""What a format of files is: the way from files to rows as SQL, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.table.file_groups import exact_path

if TYPE_CHECKING:
    import duckdb

    from bergsql.catalog.options import OptionSpec
    from bergsql.engine.connectors.base import TableColumn


class Scan(NamedTuple):
    """Rows of files as SQL: a query in parentheses with the columns c0 and on, ``file`` (its path) and ``broken``.

    Rows that are ``broken`` could not be read: they are counted and left out. ``counts``: whether there may be any.
    ``variables`` are to be set before, as :func:`bergsql.engine.duck.set_variables` does.
    """

    sql: str
    variables: Mapping[str, object] = {}
    counts: bool = False


class Format(ABC):
    """A format with its options, for the columns of some table that its files hold."""

    name: ClassVar[str]
    options: ClassVar[tuple[OptionSpec, ...]] = ()
    """Their keys begin with the name and a point."""

    def __init__(self, columns: Sequence[TableColumn], options: Mapping[str, str]) -> None:
        """``options`` are the table's, checked one by one. Raises BergError for what does not fit together."""
        self.columns = tuple(columns)
        self._options = options

    def option(self, name: str) -> str | None:
        """An option's value, or its default; an empty text is one."""
        key = f"{self.name}.{name}"
        found = self._options.get(key)
        return found if found is not None else next(s.default for s in self.options if s.key == key)

    def flag(self, name: str) -> bool:
        return (self.option(name) or "false").casefold() == "true"

    @abstractmethod
    def scan(self, files: Sequence[str], prefix: str) -> Scan:
        """The rows of files, one at least; names of variables begin with ``prefix``."""

    @abstractmethod
    def write(self, cursor: duckdb.DuckDBPyConnection, rows: str, directory: str, size: int, by: Sequence[str]) -> int:
        """Write rows as files of about ``size`` bytes into a new directory; gives how many rows.

        ``rows`` has the columns c0 and on, then those named by ``by``, texts: with them a file goes into directories
        below, ``name=value`` each, the value percent-encoded.
        """


def copy_rows(
    cursor: duckdb.DuckDBPyConnection, select: str, options: Sequence[str], directory: str, size: int, by: Sequence[str]
) -> int:
    """COPY to files in a directory, as :meth:`Format.write` says; ``options`` are those of the format."""
    given = [*options, f"FILE_SIZE_BYTES {size}"]
    if by:
        given.append(f"PARTITION_BY ({', '.join(by)})")
    ((rows,),) = cursor.execute(f"COPY ({select}) TO {string_literal(directory)} ({', '.join(given)})").fetchall()
    return int(rows)


def path_list(files: Sequence[str]) -> str:
    """Files as DuckDB's readers take them: none of them is a pattern."""
    return f"[{', '.join(string_literal(exact_path(f)) for f in files)}]"
