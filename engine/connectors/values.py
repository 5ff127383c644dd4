"""``values``: a source of changes that its options give, for tests and demonstrations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.base import Connector, LocalSource
from bergsql.engine.connectors.formats.wire import JSON_WIRE
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.streaming.changelog import Batch, ChangelogMode, RowKind
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.streaming.sources.base import Json, ReaderContext

OPTIONS = (
    OptionSpec(
        "data",
        doc="The rows: a JSON object in each line, with the change (`+I`, `-U`, `+U`, `-D`) as `$op`, or as `op` where "
        "no column has that name; +I without it.",
        required=True,
    ),
    OptionSpec(
        "changelog-mode",
        "enum",
        doc="What changes there may be; without it, insert-only or retract, as the rows are.",
        values=tuple(mode.value for mode in ChangelogMode),
    ),
    OptionSpec("batch-size", "int", doc="How many rows come at once; without it, all.", bounds=("1", str(10**9))),
    OptionSpec("bounded", "bool", "true", "Whether the stream ends behind the last row."),
)
_KINDS = {kind.symbol: kind for kind in RowKind}


class _Change(NamedTuple):
    kind: RowKind
    line: str
    """The row as JSON."""


class ValuesSource(LocalSource):
    """Reads the changes in order, so many at a time; an offset is how many were read."""

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.columns, self.key = table.name, table.streamed, table.key
        options = table.options
        self._changes = _changes(options["data"], [c.name for c in table.columns])
        self.bounded = options.get("bounded", "true").casefold() == "true"
        self._size = int(options.get("batch-size", len(self._changes) or 1))
        self.mode = _mode(options.get("changelog-mode"), self._changes)
        if self.mode is ChangelogMode.UPSERT and not self.key:
            raise BergError(ErrorCode.INVALID, "Changes of mode 'upsert' need a PRIMARY KEY (…) NOT ENFORCED.")

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"connector": "values"}

    def explain(self) -> str:
        return f"{self.name}: {len(self._changes)} given changes, {self.mode.value}"

    def rows(self, first: int, stop: int) -> str:
        """A query of some changes, in order."""
        chosen = self._changes[first:stop]
        if not chosen:
            items = [f"NULL::{JSON_WIRE.final(c.type)} AS c{i}" for i, c in enumerate(self.columns)]
            return f"(SELECT {', '.join(items)}, 0::TINYINT AS op WHERE false)"
        shape = JSON_WIRE.structure([(c.name, c.type) for c in self.columns])
        items = [f"{JSON_WIRE.read(f'r.{identifier(c.name)}', c.type)} AS c{i}" for i, c in enumerate(self.columns)]
        values = ", ".join(f"({n}, {string_literal(c.line)}, {int(c.kind)})" for n, c in enumerate(chosen))
        return (
            f"(SELECT {', '.join(items)}, op::TINYINT AS op FROM (SELECT n, op, from_json_strict(line, "
            f"{string_literal(shape)}) AS r FROM (VALUES {values}) AS v(n, line, op)) AS q ORDER BY n)"
        )

    def reader(self, context: ReaderContext, offset: Json) -> Reader:  # noqa: ARG002 - all is in the options
        done = offset.get("rows", 0) if isinstance(offset, dict) else 0
        assert isinstance(done, int)
        return _Reader(self, done, self._size, len(self._changes))

    def whole(self, prefix: str) -> ReadAtOnce:  # noqa: ARG002 - it has no variables
        if self.mode is not ChangelogMode.INSERT_ONLY:
            raise BergError(
                ErrorCode.INVALID,
                f"{self.name} gives changes of rows, which a batch cannot read.",
                hint="A SELECT or an INSERT INTO reads it, as the stream that it is.",
            )
        columns = ", ".join(f"c{i}" for i in range(len(self.columns)))
        return ReadAtOnce(f"(SELECT {columns} FROM {self.rows(0, len(self._changes))})", {})


class _Reader(Reader):
    def __init__(self, source: ValuesSource, done: int, size: int, count: int) -> None:
        self._source, self._done, self._size, self._count = source, done, size, count

    def poll(self) -> Batch | None:
        if self._done >= self._count:
            return None
        first, self._done = self._done, min(self._done + self._size, self._count)
        return Batch(self._source.rows(first, self._done))

    @property
    def offset(self) -> Json:
        return {"rows": self._done}

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._done >= self._count


def _changes(data: str, names: Sequence[str]) -> list[_Change]:
    """The changes that ``data`` lists.

    :raises BergError: OPTION, naming the line that is wrong.
    """
    plain = "op" not in names
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
        except ValueError as error:
            raise BergError(ErrorCode.OPTION, f"Line {number} of 'data' is no JSON: {error}.") from None
        if not isinstance(row, dict):
            raise BergError(ErrorCode.OPTION, f"Line {number} of 'data' is no JSON object.")
        symbol = row.pop("$op", None) or (row.pop("op", None) if plain else None) or "+I"
        if symbol not in _KINDS:
            message = f"Line {number} of 'data' has the change '{symbol}': there are {', '.join(_KINDS)}."
            raise BergError(ErrorCode.OPTION, message)
        for name in row:
            if name not in names:
                message = f"Line {number} of 'data' names '{name}', which is no column of the table."
                raise BergError(ErrorCode.OPTION, message, hint=did_you_mean(name, names))
        whole = {name: row.get(name) for name in names}
        found.append(_Change(_KINDS[symbol], json.dumps(whole, ensure_ascii=False)))
    return found


def _mode(asked: str | None, changes: Sequence[_Change]) -> ChangelogMode:
    only = all(c.kind is RowKind.INSERT for c in changes)
    if asked is None:
        return ChangelogMode.INSERT_ONLY if only else ChangelogMode.RETRACT
    mode = ChangelogMode(asked.casefold())
    if mode is ChangelogMode.INSERT_ONLY and not only:
        raise BergError(ErrorCode.OPTION, "'changelog-mode' is 'insert-only', and 'data' has other changes than +I.")
    if mode is ChangelogMode.UPSERT and any(c.kind is RowKind.UPDATE_BEFORE for c in changes):
        raise BergError(ErrorCode.OPTION, "'changelog-mode' is 'upsert', and 'data' has a change -U.")
    return mode


def _check(table: ConnectorTable) -> None:
    ValuesSource(table)


CONNECTOR = Connector("values", lambda _: OPTIONS, source=ValuesSource, check=_check, documented=OPTIONS)
