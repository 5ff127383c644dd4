"""Change data in JSON: each message tells a change of some rows of a database, as they were and as they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from bergsql.catalog.options import OptionSpec
from bergsql.engine.connectors.formats.json_lines import JsonLines, Part
from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, PLACE, MessageContext, MessageFormat
from bergsql.engine.connectors.messages.texts import LINE, as_messages, others
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, ChangelogMode, RowKind

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import TableColumn

_NOT_TAKEN: Final = "json.fail-on-missing-field"
INSERTS: Final = (RowKind.INSERT, RowKind.UPDATE_AFTER)
"""What is written as an insert: Flink writes an update as a delete and an insert, too."""


def change_options(name: str) -> tuple[OptionSpec, ...]:
    """The options that all of these formats have: JSON's, but that members must be there."""
    return tuple(
        spec._replace(key=f"{name}.{spec.key.removeprefix('json.')}")
        for spec in JsonLines.options
        if spec.key != _NOT_TAKEN
    )


class Envelope(NamedTuple):
    """What a format says of a message, as SQL over ``doc`` (the text, an object) and ``e`` (parts of it, as JSON).

    parts
        JSON pointers to what ``e`` lists.
    skipped
        Whether the message tells no change of rows.
    problem
        Cases ``(condition, text)``, in order: what is wrong with a message.
    images
        A list of structs, each a row: ``op``, ``at`` (a JSON pointer to it), and more that ``part`` needs.
    part
        Where rows are; it may use ``image``.
    metadata
        The values of metadata.
    """

    parts: tuple[str, ...]
    skipped: str
    problem: tuple[tuple[str, str], ...]
    images: str
    part: Part
    metadata: Mapping[str, str]


class ChangeMessages(MessageFormat):
    """Messages of change data. A message may give several rows; an update gives the old row, then the new one."""

    mode: ClassVar[ChangelogMode] = ChangelogMode.RETRACT

    def __init__(
        self, columns: Sequence[TableColumn], options: Mapping[str, str], metadata: Sequence[str] = ()
    ) -> None:
        super().__init__(columns, options, metadata)
        known = {s.key for s in JsonLines.options}
        inner = {f"json.{key.removeprefix(f'{self.name}.')}": value for key, value in options.items()}
        self._json = JsonLines(columns, {key: value for key, value in inner.items() if key in known})

    @abstractmethod
    def envelope(self) -> Envelope:
        """How messages are read."""

    @abstractmethod
    def message(self, row: str, inserted: str) -> str:
        """SQL of the text of a message: ``row`` is that of a row's object, ``inserted`` whether it is added."""

    def decode(self, context: MessageContext, messages: str) -> str:
        envelope = self.envelope()
        passed = [*others(context, messages), NUMBER]
        names = ", ".join(passed)
        paths = ", ".join(string_literal(p) for p in envelope.parts)
        sound = f"CASE WHEN json_valid({LINE}) THEN json_type({LINE}) IN ('OBJECT', 'NULL') END"
        sql = (
            f"(SELECT {names}, {LINE} AS line, CASE WHEN {sound} THEN {LINE} END AS doc"
            f" FROM {messages} WHERE octet_length({DATA}) > 0)"
        )
        sql = f"(SELECT {names}, line, doc, json_extract(doc, [{paths}]) AS e FROM {sql})"
        # JSON's null is no more than no message at all: some converters write tombstones so.
        skipped = f"doc IS NOT NULL AND (json_type(doc) = 'NULL' OR {envelope.skipped})"
        sql = f"(SELECT * FROM {sql} WHERE NOT coalesce({skipped}, false))"
        problems = "".join(f" WHEN {condition} THEN {text}" for condition, text in envelope.problem)
        problem = f"CASE WHEN doc IS NULL THEN 'A message is no JSON object'{problems} END"
        sql = f"(SELECT *, {problem} AS problem FROM {sql})"
        images = f"CASE WHEN problem IS NULL THEN {envelope.images} ELSE {self._broken()} END"
        known = [f"{self._known(key, envelope.metadata[key])} AS v{i}" for i, key in enumerate(self.wanted)]
        told = ", ".join([names, *known])
        sql = f"(SELECT {told}, CASE WHEN problem IS NULL THEN doc END AS line, {images} AS images FROM {sql})"
        values = [f"v{i}" for i in range(len(self.wanted))]
        told = ", ".join([*passed, *values])
        sql = f"(SELECT {told}, line, unnest(images) AS image, unnest(range(len(images))) AS {PLACE} FROM {sql})"
        kept = [*passed, PLACE, "image", *values]
        rows = self._json.rows_of_lines(sql, kept, envelope.part)
        columns = [f"c{i}" for i in range(len(self.columns))]
        wanted = [*passed, PLACE, f"image.{OP} AS {OP}", BROKEN, *columns, *values]
        return f"(SELECT {', '.join(wanted)} FROM {rows})"

    def _known(self, key: str, value: str) -> str:
        """SQL of metadata: one that is not of its type is as a column's value would be."""
        value = f"CAST({value} AS {duckdb_name(self.metadata[key])})"
        if self.lenient:
            read = f"try({value})"
        else:
            told = string_literal(f"A message has metadata that is not of its type, {key}: ")
            # In a list, what failed and NULL can be told apart.
            read = f"coalesce(try([{value}]), [{failure('%s', f'concat({told}, left(line, 200))')}])[1]"
        return f"CASE WHEN problem IS NULL THEN {read} END"

    def _broken(self) -> str:
        """SQL of the images of a message that cannot be read: one, of nothing."""
        if self.lenient:
            return f"[{NOTHING}]"
        text = "coalesce(left(line, 200), 'which is no UTF-8')"
        return failure("%s", f"concat(problem, ': ', {text})")

    def encode(self, context: MessageContext, rows: str) -> str:
        row = self._json.line([f"c{i}" for i in range(len(self.columns))])
        inserted = f"{OP} IN ({', '.join(str(k.value) for k in INSERTS)})"
        return as_messages(context, rows, self.message(row, inserted))


NOTHING: Final = "{'op': 0::TINYINT, 'at': '', 'i': 0::BIGINT}"


def image(kind: RowKind, pointer: str, i: str = "") -> str:
    """SQL of an image: what a row does, the JSON pointer to it, and its number in the list there, if it is one."""
    at = f"'{pointer}/' || {i}" if i else f"'{pointer}'"
    return f"{{'op': {kind.value}::TINYINT, 'at': {at}, 'i': ({i or 0})::BIGINT}}"


def millis(value: str) -> str:
    """SQL of an instant, of JSON's milliseconds since 1970."""
    return f"make_timestamptz(TRY_CAST({value} AS BIGINT) * 1000)"


def text(value: str) -> str:
    """SQL of JSON as text: of a string what it holds."""
    return f"({value} ->> '$')"
