"""Where a plan computes: one DuckDB connection, and what is made in a round and dropped behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bergsql.engine.duck import arrow_rows
from bergsql.engine.streaming.changelog import Batch

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pyarrow as pa

    from bergsql.engine.duck import Duck
    from bergsql.engine.streaming.state.base import StateScope

_ROUND_BYTES: Final = (1 << 20, 256 << 20)
"""The least and the most bytes that a source is asked for at once."""
_MEMORY_SHARE: Final = 16
"""Of the memory limit, a batch is read from a sixteenth: it is there in several forms, and other inputs' are, too."""
_BYTES_OF_ROW: Final = 128
"""What a row of a batch takes in memory, about."""
_ROUND_ROWS: Final = (10_000, 1_000_000)


class Workspace:
    """What runs a plan gives to its sources and sinks: :class:`ReaderContext` and :class:`SinkContext` but for names.

    For one thread. What ``table`` and ``relation`` name is there until :meth:`end_round`.
    """

    def __init__(
        self,
        duck: Duck,
        *,
        job_id: str,
        directory: Path,
        setting: Callable[[str], str | None],
        time_zone: str,
        note: Callable[[str], None],
    ) -> None:
        import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

        self.duck = duck
        self.job_id = job_id
        self.directory = directory
        self.setting = setting
        self.time_zone = time_zone
        self.note = note
        self.cursor: duckdb.DuckDBPyConnection = duck.cursor()
        self.max_bytes = _within(memory_limit(setting) // _MEMORY_SHARE, _ROUND_BYTES)
        self.max_rows = _within(self.max_bytes // _BYTES_OF_ROW, _ROUND_ROWS)
        self._number = 0
        self._tables: list[str] = []
        self._relations: list[str] = []

    def table(self, batch: Batch) -> Batch:
        """The batch as a table of this round; as it is, if it is one."""
        if batch.is_table:
            return batch
        name = self._name(self._tables)
        ((rows,),) = self.cursor.execute(f"CREATE TEMP TABLE {name} AS FROM {batch.sql}").fetchall()
        return Batch(name, rows)

    def query(self, sql: str) -> pa.Table:
        """Run a query and give its rows as Arrow."""
        return arrow_rows(self.cursor, sql)

    def batch_of(self, rows: pa.Table) -> Batch:
        """A batch of rows in Arrow. DuckDB reads them where they are; :meth:`table` gives them their order's rowid."""
        return Batch(self.relation(rows))

    def relation(self, rows: pa.Table) -> str:
        """A name under which DuckDB reads ``rows`` in this round."""
        name = self._name(self._relations)
        self.cursor.register(name, rows)
        return name

    def end_round(self) -> None:
        """Drop what was made: tables, and views of Arrow's rows, which hold their memory."""
        while self._relations:
            self.cursor.unregister(self._relations.pop())
        while self._tables:
            self.cursor.execute(f"DROP TABLE IF EXISTS temp.{self._tables.pop()}")

    def close(self) -> None:
        """End the connection, and all that is on it."""
        self.duck.done(self.cursor)

    def _name(self, names: list[str]) -> str:
        # Never used twice: what is used behind its round fails, and does not read another's rows.
        self._number += 1
        name = f"berg_round_{self._number}"
        names.append(name)
        return name


class OperatorPlace:
    """What an operator is given: the workspace, and a state of its own (:class:`OperatorContext`)."""

    def __init__(self, workspace: Workspace, state: StateScope) -> None:
        self._workspace = workspace
        self.state = state
        self.cursor = workspace.cursor
        self.time_zone = workspace.time_zone
        self.setting = workspace.setting
        self.table = workspace.table
        self.query = workspace.query
        self.batch_of = workspace.batch_of
        self.relation = workspace.relation


class SinkPlace:
    """What a writer is given: the workspace, and the name of its sink (:class:`SinkContext`)."""

    def __init__(self, workspace: Workspace, sink_id: str) -> None:
        self.sink_id = sink_id
        self.job_id = workspace.job_id
        self.directory = workspace.directory
        self.duck = workspace.duck
        self.cursor = workspace.cursor
        self.time_zone = workspace.time_zone
        self.setting = workspace.setting
        self.relation = workspace.relation
        self.note = workspace.note


def memory_limit(setting: Callable[[str], str | None]) -> int:
    """Bytes that the engine may use: ``engine.memory-limit``, or half of the machine's."""
    from bergsql.catalog.options import parse_memory
    from bergsql.engine.duck import half_of_memory

    key = "engine.memory-limit"
    return parse_memory(setting(key) or half_of_memory(), key)


def _within(value: int, bounds: tuple[int, int]) -> int:
    return min(max(value, bounds[0]), bounds[1])
