"""The DuckDB connection: its limits, its time zone, and a way to stop what it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK_ROWS = 2048
"""Rows fetched at a time: one DuckDB vector."""


class Duck:
    """One in-memory DuckDB. Nothing is downloaded, nothing is written but what a statement asks for."""

    def __init__(self, *, memory_limit: str | None = None, temp_directory: str | None = None) -> None:
        config: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": True,
        }
        if memory_limit:
            config["memory_limit"] = memory_limit
        if temp_directory:
            config["temp_directory"] = temp_directory
        self._connection = duckdb.connect(":memory:", config=config)
        self._connection.execute("SET default_null_order='nulls_first_on_asc_last_on_desc'")

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self._connection

    def execute(self, sql: str, variables: Mapping[str, object] | None = None) -> duckdb.DuckDBPyConnection:
        """Run ``sql`` on a cursor of its own, with ``variables`` set before (``getvariable('name')`` reads them).

        A variable is seen by the cursor alone, so two results can be open at once.
        """
        cursor = self._connection.cursor()
        for name, value in (variables or {}).items():
            cursor.execute(f"SET VARIABLE {name} = ?", [value])
        return cursor.execute(sql)

    def set(self, key: str, value: str) -> None:
        """Set a DuckDB setting for every cursor."""
        self._connection.execute(f"SET GLOBAL {key} = '{value.replace(chr(39), chr(39) * 2)}'")

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


def fetch_chunks(cursor: duckdb.DuckDBPyConnection) -> Iterator[list[tuple[object, ...]]]:
    """The cursor's rows, a list at a time, until there are none."""
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        yield chunk
