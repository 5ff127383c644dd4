"""The DuckDB connection: its limits, its time zone, and a way to stop what it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

try:
    # The package ``duckdb`` adds relations and expressions, which nothing here uses, and takes three times as long to
    # import as its core.
    import _duckdb as duckdb
except ImportError:  # pragma: no cover - a later DuckDB may name its core otherwise
    import duckdb  # type: ignore[no-redef]

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.quoting import string_literal

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CHUNK_ROWS",
    "Duck",
    "StreamFailure",
    "arrow_rows",
    "duckdb",
    "fetch_batches",
    "fetch_chunks",
    "half_of_memory",
    "is_interruption",
    "set_variables",
    "stream_batches",
    "stream_failure",
]

CHUNK_ROWS = 2048
"""Rows fetched at a time: one DuckDB vector."""


class Duck:
    """One in-memory DuckDB. Nothing is downloaded, nothing is written but what a statement asks for."""

    def __init__(
        self, *, memory_limit: str | None = None, threads: int | None = None, temp_directory: str | None = None
    ) -> None:
        config: dict[str, str | bool | int | float | list[str]] = {
            # Extensions are refused by name here; without this, a name that looks like one starts a download.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "default_null_order": "nulls_first_on_asc_last_on_desc",
            "memory_limit": memory_limit or half_of_memory(),
        }
        if threads:
            config["threads"] = threads
        if temp_directory:
            config["temp_directory"] = temp_directory
        self._connection = duckdb.connect(":memory:", config=config)
        self._open: list[duckdb.DuckDBPyConnection] = []
        self.tracks_progress = False
        """Whether :meth:`progress` is to be known of the cursors that are opened from now on."""

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own: its variables and results are seen by nobody else. Release it with :meth:`done`."""
        cursor = self._connection.cursor()
        if self.tracks_progress:
            # A setting of each cursor; without "print" off, DuckDB would draw a bar of its own.
            cursor.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        self._open.append(cursor)
        return cursor

    def execute(self, sql: str, variables: Mapping[str, object] | None = None) -> duckdb.DuckDBPyConnection:
        """Run ``sql`` on a new cursor with ``variables`` set before (``getvariable('name')`` reads them)."""
        cursor = self.cursor()
        set_variables(cursor, variables or {})
        return cursor.execute(sql)

    def done(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a cursor and forget it."""
        if cursor in self._open:
            self._open.remove(cursor)
            cursor.close()

    def set(self, key: str, value: str) -> None:
        """Set a DuckDB setting for every cursor, those to come and those that are open."""
        assignment = f"{key} = {string_literal(value)}"
        self._connection.execute(f"SET GLOBAL {assignment}")
        for cursor in self._open:
            cursor.execute(f"SET {assignment}")

    def add_function(self, name: str, function: Callable[[Any], Any], parameter: str, result: str) -> None:
        """Make a function in Python known to every cursor: of an Arrow array of arguments, to one of results.

        It may tell NULL from other values, and is called for each row anew. Types are spelled as DuckDB spells them.
        """
        register: Any = self._connection.create_function
        register(name, function, [parameter], result, type="arrow", null_handling="special", side_effects=True)

    def progress(self) -> float | None:
        """How much of what runs is done, from 0 to 1; None when nothing is known. May be called from another thread."""
        known = [p for p in (cursor.query_progress() for cursor in tuple(self._open)) if p >= 0]
        return max(known) / 100 if known else None

    def interrupt(self) -> None:
        """Stop whatever runs. May be called from another thread."""
        for cursor in tuple(self._open):
            cursor.interrupt()

    def fence_in(self, places: Sequence[str]) -> None:
        """Let files be read and written inside of these directories only, from now on and for good."""
        self._connection.execute(f"SET GLOBAL allowed_directories = [{', '.join(map(string_literal, places))}]")
        self._connection.execute("SET GLOBAL enable_external_access = false")

    def close(self) -> None:
        for cursor in tuple(self._open):
            self.done(cursor)
        self._connection.close()


@runtime_checkable
class Prepared(Protocol):
    """What is looked up only when SQL that needs it is about to run."""

    def prepare(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        """Find it, and set it under ``name``, or under names that begin so."""


def set_variables(cursor: duckdb.DuckDBPyConnection, variables: Mapping[str, object]) -> None:
    """Set ``variables`` on a cursor. One that is a stream (of Arrow's PyCapsule interface) becomes a view instead.

    One that is ``Prepared`` is left to find what the SQL reads under its name.
    """
    for name, value in variables.items():
        if isinstance(value, Prepared):
            value.prepare(cursor, name)
            continue
        if hasattr(value, "__arrow_c_stream__"):
            import duckdb as _package  # noqa: F401 - without the whole package, its core does not scan streams

            cursor.register(name, value)
        else:
            cursor.execute(f"SET VARIABLE {name} = ?", [value])


class StreamFailure(Exception):
    """What a stream raises that DuckDB reads: its text, which is all that comes through, holds an error of ours."""

    def __init__(self, error: BergError) -> None:
        told = json.dumps([error.code, error.message, error.hint], ensure_ascii=True)
        super().__init__(f"{_STREAM_MARK}{told}{_STREAM_MARK}")


_STREAM_MARK = "\x02bergsql\x02"


def stream_failure(text: str) -> BergError | None:
    """The error of ours that a stream raised, if the text of an error holds one.

    :raises KeyboardInterrupt: when that is what ended it.
    """
    parts = text.split(_STREAM_MARK)
    if len(parts) < 3:
        return None
    code, message, hint = json.loads(parts[1])
    if code == ErrorCode.INTERRUPTED:
        raise KeyboardInterrupt
    return BergError(ErrorCode(code), message, hint=hint)


def fetch_chunks(cursor: duckdb.DuckDBPyConnection) -> Iterator[list[tuple[object, ...]]]:
    """The cursor's rows, a list at a time, until there are none."""
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        yield chunk


def fetch_batches(cursor: duckdb.DuckDBPyConnection, rows: int) -> Iterator[pa.RecordBatch]:
    """The cursor's rows as Arrow batches of at most ``rows``, until there are none."""
    import warnings

    import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

    with warnings.catch_warnings():
        # DuckDB advises its relations, which would run the query again.
        warnings.simplefilter("ignore", UserWarning)
        reader: Any = cursor.to_arrow_reader(rows)
    yield from reader


def arrow_rows(cursor: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """All rows of a query."""
    import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

    found: pa.Table = cursor.sql(sql).to_arrow_table()
    return found


def stream_batches(cursor: duckdb.DuckDBPyConnection, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of a query as Arrow batches of at most ``rows``, as they are found.

    Of what a cursor has executed, DuckDB puts all rows into memory before it makes a batch: here it plans twice
    instead.
    """
    import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

    try:
        reader: Any = cursor.sql(sql).to_arrow_reader(rows)
        yield from reader
    except OSError as error:
        raise _of_stream(str(error)) from error


def _of_stream(message: str) -> duckdb.Error:
    """The error of DuckDB's that Arrow hands on as one of its own, with nothing of it but the text."""
    kind = message.partition(" Error: ")[0]
    kinds: dict[str, type[duckdb.Error]] = {
        "Invalid Input": duckdb.InvalidInputException,
        "Conversion": duckdb.ConversionException,
        "Out of Range": duckdb.OutOfRangeException,
        "Out of Memory": duckdb.OutOfMemoryException,
        "IO": duckdb.IOException,
        "INTERRUPT": duckdb.InterruptException,
    }
    return kinds.get(kind, duckdb.Error)(message)


def is_interruption(error: RuntimeError) -> bool:
    """Whether it is Ctrl-C inside DuckDB, as its Python client raises it."""
    return "interrupted" in str(error)


def half_of_memory() -> str:
    """Half of the machine's memory, as DuckDB spells a size."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total // 2 // 1024**2}MiB"
