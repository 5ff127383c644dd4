"""``datagen``: rows that are made up. Options and meanings are those of Flink's DataGen connector.

Row ``n`` is a function of its number and, where values are random, of a seed of the reader's: a sequence goes on
behind a restart where it stopped, and a query may read a value twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from random import SystemRandom
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.base import Connector, LocalSource
from bergsql.engine.connectors.datagen_values import FIELD_OPTIONS, Field, field_of
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.sources.base import Json, ReaderContext

_MOST = str(10**18 - 1)
_ROWS_PER_SECOND = OptionSpec(
    "rows-per-second", "int", "10000", "How many rows a stream gets in a second.", bounds=("1", _MOST)
)
_NUMBER_OF_ROWS = OptionSpec(
    "number-of-rows", "int", doc="How many rows there are; without it there is no end.", bounds=("0", _MOST)
)
_PARALLELISM = OptionSpec("scan.parallelism", "int", doc="Taken, and without effect.", bounds=("1", "32768"))
OPTIONS = (
    _ROWS_PER_SECOND,
    _NUMBER_OF_ROWS,
    _PARALLELISM,
    *(s._replace(key=f"fields.FIELD.{s.key}") for s in FIELD_OPTIONS),
)
"""For the documentation: FIELD stands for a column's name; ``element``, ``key``, ``value`` and fields lead into it."""


def _options(given: Mapping[str, str]) -> Sequence[OptionSpec]:
    """Those of fields are checked with the columns."""
    fields = [OptionSpec(key) for key in given if key.startswith("fields.")]
    return (_ROWS_PER_SECOND, _NUMBER_OF_ROWS, _PARALLELISM, *fields)


class DatagenSource(LocalSource):
    """Made up rows: an end has what has a number of rows, or a sequence."""

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.columns, self._options = table.name, table.streamed, table.options
        self._fields = _fields(table)
        count = table.options.get("number-of-rows")
        ends = [f.rows for f in self._fields if f.rows is not None]
        self._rows = min([*ends, int(count)]) if count is not None else min(ends, default=None)
        self.bounded = self._rows is not None

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"connector": "datagen", "fields": {f.name: f.signature for f in self._fields}}

    def explain(self) -> str:
        rate = self._options.get("rows-per-second", _ROWS_PER_SECOND.default)
        rows = "no end" if self._rows is None else f"{self._rows} rows"
        return f"{self.name}: datagen, {rate} rows a second, {rows}"

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        done = offset.get("rows", 0) if isinstance(offset, dict) else 0
        rate = int(self._options.get("rows-per-second", _ROWS_PER_SECOND.default or "1"))
        assert isinstance(done, int)
        return _Reader(self, context, done, rate, self._rows)

    def rows(self, first: int, stop: int, seed: int, *, op: bool) -> str:
        """A query of the rows from number ``first`` on, below ``stop``."""
        items = [f"{f.sql('n', seed)} AS c{i}" for i, f in enumerate(self._fields)]
        if op:
            items.append("0::TINYINT AS op")
        return f"(SELECT {', '.join(items)} FROM range({first}, {stop}) AS r(n))"

    def whole(self, prefix: str) -> ReadAtOnce:  # noqa: ARG002 - it has no variables
        return ReadAtOnce(self.rows(0, self._rows or 0, _seed(), op=False), {})


def _seed() -> int:
    return SystemRandom().getrandbits(62)


class _Reader(Reader):
    def __init__(self, source: DatagenSource, context: ReaderContext, done: int, rate: int, rows: int | None) -> None:
        self._source, self._context, self._rate, self._rows = source, context, rate, rows
        self._done, self._first = done, done
        self._started: float | None = None
        self._seed = _seed()

    def poll(self) -> Batch | None:
        if self._started is None:
            self._started = time.monotonic()
        due = self._first + 1 + int((time.monotonic() - self._started) * self._rate)
        stop = min(due, self._done + self._context.max_rows, self._rows if self._rows is not None else due)
        if stop <= self._done:
            return None
        sql = self._source.rows(self._done, stop, self._seed, op=True)
        self._done = stop
        return Batch(sql)

    @property
    def offset(self) -> Json:
        return {"rows": self._done}

    @property
    def finished(self) -> bool:
        return self._rows is not None and self._done >= self._rows

    @property
    def wait(self) -> float:
        if self._started is None:
            return 0.0
        return max(0.0, min(0.1, self._started + (self._done - self._first) / self._rate - time.monotonic()))


def _fields(table: ConnectorTable) -> list[Field]:
    """What makes each column.

    :raises BergError: OPTION for options of fields that are not there, or that do not fit their types.
    """
    options = {k.removeprefix("fields."): v for k, v in table.options.items() if k.startswith("fields.")}
    fields = []
    for number, column in enumerate(table.columns):
        prefix = f"{column.name}."
        own = {k.removeprefix(prefix): v for k, v in options.items() if k.startswith(prefix)}
        options = {k: v for k, v in options.items() if not k.startswith(prefix)}
        fields.append(field_of(column.name, column.type, own, number))
    for key in options:
        known = [c.name for c in table.columns]
        raise BergError(
            ErrorCode.OPTION,
            f"'fields.{key}' names no column of the table.",
            hint=did_you_mean(key.split(".")[0], known) or f"Columns that are made up: {', '.join(known)}.",
        )
    return fields


def _check(table: ConnectorTable) -> None:
    _fields(table)


CONNECTOR = Connector("datagen", _options, source=DatagenSource, check=_check, documented=OPTIONS)
