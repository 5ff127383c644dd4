"""Messages of change data: Debezium's, Canal's and Maxwell's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.base import TableColumn
from bergsql.engine.connectors.messages import message_format
from bergsql.engine.connectors.messages.base import MessageFormat
from bergsql.engine.duck import Duck
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.sql.types import BIGINT, STRING, DataType, Field, Kind
from tests.connectors.test_message_texts import Place

WEIGHT = DataType(Kind.DECIMAL, 10, 2)
COLUMNS = (("id", BIGINT), ("name", STRING), ("weight", WEIGHT))
NAMES = ("debezium-json", "canal-json", "maxwell-json")
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    duck = Duck(threads=1)
    yield Place(duck)
    duck.close()


def made(
    name: str,
    columns: Sequence[tuple[str, DataType]] = COLUMNS,
    metadata: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> MessageFormat:
    own = {f"{name}.{key}": value for key, value in (options or {}).items()}
    return message_format(name)([TableColumn(n, t) for n, t in columns], own, metadata)


LENIENT = {"ignore-parse-errors": "true"}


def changes(place: Place, made: MessageFormat, messages: Sequence[object]) -> list[Row]:
    """Rows by their messages: the number, ``op``, whether it is broken, the values, those of metadata."""
    import duckdb

    data = [m if m is None or isinstance(m, bytes) else json.dumps(m, ensure_ascii=False).encode() for m in messages]
    numbers = pa.array(range(len(data)), pa.int64())
    table = pa.table({"n": numbers, "data": pa.array(data, pa.binary()), "m0": numbers})
    items = ["n", "op", "broken", *(f"c{i}" for i in range(len(made.columns)))]
    items += [f"v{i}" for i in range(len(made.wanted))]
    try:
        sql = made.decode(place, place.relation(table))
        found = place.cursor.execute(f"SELECT {', '.join(items)} FROM {sql} WHERE m0 = n ORDER BY n, k").fetchall()
    except duckdb.Error as error:
        raise from_duckdb_error(error) from error
    return found


def thing(id_: int, name: str | None, weight: object) -> dict[str, object]:
    return {"id": id_, "name": name, "weight": weight}


OLD, NEW = thing(111, "scooter", 5.18), thing(111, "scooter", 5.15)
WAS, IS = (111, "scooter", Decimal("5.18")), (111, "scooter", Decimal("5.15"))


def test_debezium(place: Place) -> None:
    messages = [
        {"before": None, "after": OLD, "op": "c"},
        {"before": OLD, "after": NEW, "op": "u"},
        None,
        b"",
        b"null",
        {"before": NEW, "after": None, "op": "d"},
        {"after": OLD, "op": "r"},
    ]
    assert changes(place, made("debezium-json"), messages) == [
        (0, 0, False, *WAS),
        (1, 1, False, *WAS),
        (1, 2, False, *IS),
        (5, 3, False, *IS),
        (6, 0, False, *WAS),
    ]


def test_debezium_with_its_schema(place: Place) -> None:
    schema = {"type": "struct"}
    messages = [
        {"schema": schema, "payload": {"before": OLD, "after": NEW, "op": "u"}},
        {"schema": None, "payload": None},
    ]
    format_ = made("debezium-json", metadata=["schema"], options={"schema-include": "true"})
    told = '{"type":"struct"}'
    assert changes(place, format_, messages) == [(0, 1, False, *WAS, told), (0, 2, False, *IS, told)]
    with pytest.raises(BergError, match=r"it has its schema in it: debezium-json\.schema-include"):
        changes(place, made("debezium-json"), messages)
    with pytest.raises(BergError, match=r"it has no schema: debezium-json\.schema-include"):
        changes(place, format_, [{"after": NEW, "op": "c"}])
    with pytest.raises(BergError, match=r"'debezium-json\.schema-include' is for reading"):
        format_.encode(place, "x")


def test_metadata_of_debezium(place: Place) -> None:
    source = {"db": "inventory", "schema": "s", "table": "t", "ts_ms": 1_700_000_000_123, "pos": 154, "gtid": None}
    keys = ["ingestion-timestamp", "source.timestamp", "source.database", "source.schema", "source.table"]
    format_ = made("debezium-json", [("id", BIGINT)], [*keys, "source.properties", "schema"])
    ((*_, at, was, database, schema, table, all_of_it, told),) = changes(
        place, format_, [{"after": {"id": 1}, "op": "c", "ts_ms": 1_700_000_001_000, "source": source}]
    )
    assert at == datetime.fromtimestamp(1_700_000_001, UTC)
    assert was == datetime.fromtimestamp(1_700_000_000.123, UTC)
    assert (database, schema, table, told) == ("inventory", "s", "t", None)
    texts = {k: None if v is None else str(v) for k, v in source.items()}
    assert all_of_it == texts
    assert changes(place, format_, [{"after": {"id": 1}, "op": "c"}]) == [(0, 0, False, 1, *[None] * 7)]


@pytest.mark.parametrize(
    ("name", "message", "told"),
    [
        (
            "debezium-json",
            {"after": NEW, "op": "u"},
            r"FULL of the table \(PostgreSQL\) or binlog_row_image=FULL",
        ),
        ("debezium-json", {"before": None, "after": None, "op": "d"}, "REPLICA IDENTITY FULL"),
        ("debezium-json", {"op": "t"}, "its table was emptied"),
        ("debezium-json", {"op": "x"}, r'A message is none of Debezium, whose op is c, r, u, d: \{"op": "x"\}'),
        ("debezium-json", {"after": 5, "op": "c"}, "A message has no object before or after"),
        ("debezium-json", b"{", r"A message is no JSON object: \{"),
        ("debezium-json", b"\xff", "A message is no JSON object: which is no UTF-8"),
        ("debezium-json", b"[1]", r"A message is no JSON object: \[1\]"),
        ("debezium-json", {"after": thing(1, "x", "no"), "op": "c"}, r"not of its column's type, weight: \{"),
        ("canal-json", {"data": [NEW], "old": None, "type": "UPDATE"}, "binlog_row_image=FULL"),
        ("canal-json", {"data": [NEW, NEW], "old": [OLD], "type": "UPDATE"}, "the old values of all of its rows"),
        ("canal-json", {"data": None, "type": "INSERT"}, "no array of objects"),
        ("canal-json", {"data": [NEW, 5], "type": "INSERT"}, "no array of objects"),
        ("canal-json", {"data": None, "type": "TRUNCATE"}, "its table was emptied"),
        ("canal-json", {"type": "x"}, "whose type is INSERT, UPDATE or DELETE"),
        ("maxwell-json", {"data": NEW, "type": "update"}, "binlog_row_image=FULL"),
        ("maxwell-json", {"type": "delete"}, "no object in its data"),
        ("maxwell-json", {"type": "x"}, "whose type is insert, update or delete"),
    ],
)
def test_messages_that_cannot_be_read(place: Place, name: str, message: object, told: str) -> None:
    with pytest.raises(BergError, match=told):
        changes(place, made(name), [message])
    if told.startswith("not of"):
        return
    assert changes(place, made(name, options=LENIENT), [message]) == [(0, 0, True, None, None, None)]


def test_canal(place: Place) -> None:
    first, second = thing(1, "a", "1.50"), thing(2, None, "2")
    messages = [
        {"data": [first, second], "type": "INSERT", "old": None},
        {"data": [first, second], "old": [{"name": "b"}, {"name": "c", "weight": None}], "type": "UPDATE"},
        {"data": None, "type": "ALTER", "isDdl": True, "sql": "ALTER TABLE t"},
        {"data": [second], "type": "DELETE"},
        {"data": None, "type": "GTID"},
    ]
    one, two = (1, "a", Decimal("1.50")), (2, None, Decimal(2))
    assert changes(place, made("canal-json"), messages) == [
        (0, 0, False, *one),
        (0, 0, False, *two),
        (1, 1, False, 1, "b", Decimal("1.50")),
        (1, 2, False, *one),
        (1, 1, False, 2, "c", None),
        (1, 2, False, *two),
        (3, 3, False, *two),
    ]


def test_canal_of_some_databases_with_metadata(place: Place) -> None:
    told = {"sqlType": {"id": -5}, "pkNames": ["id"], "ts": 1_700_000_001_000, "es": 1_700_000_000_000}
    messages = [
        {"data": [{"id": n}], "type": "INSERT", "database": d, "table": t, **told}
        for n, (d, t) in enumerate([("shop", "a"), ("shop2", "a"), ("other", "a"), ("shop", "b"), (None, "a")])
    ]
    keys = ["database", "table", "sql-type", "pk-names", "ingestion-timestamp", "event-timestamp"]
    options = {"database.include": r"shop\d?", "table.include": "a"}
    found = changes(place, made("canal-json", [("id", BIGINT)], keys, options), messages)
    times = (datetime.fromtimestamp(1_700_000_001, UTC), datetime.fromtimestamp(1_700_000_000, UTC))
    assert found == [
        (0, 0, False, 0, "shop", "a", {"id": -5}, ["id"], *times),
        (1, 0, False, 1, "shop2", "a", {"id": -5}, ["id"], *times),
    ]
    with pytest.raises(BergError, match="A message is no JSON object"):
        changes(place, made("canal-json", options=options), [b"{"])
    with pytest.raises(BergError, match=r"A message has no table, which canal-json\.table\.include asks for"):
        changes(place, made("canal-json", options=options), [{"data": [NEW], "type": "INSERT", "database": "shop"}])
    with pytest.raises(BergError, match=r"'\(' is not a value of 'canal-json.table.include'"):
        made("canal-json", options={"table.include": "("})
    with pytest.raises(BergError, match=r"is not a value of 'canal-json.database.include': invalid perl operator"):
        made("canal-json", options={"database.include": "(?!x).*"})


@pytest.mark.parametrize(
    ("name", "key", "message", "whole"),
    [
        ("debezium-json", "source.properties", {"after": NEW, "op": "c", "source": [1]}, {}),
        ("debezium-json", "ingestion-timestamp", {"after": NEW, "op": "c", "ts_ms": 1 << 62}, {"ts_ms": None}),
        ("canal-json", "sql-type", {"data": [NEW], "type": "INSERT", "sqlType": {"id": "x"}}, {}),
        ("maxwell-json", "ingestion-timestamp", {"data": NEW, "type": "insert", "ts": -(1 << 63)}, {"ts": None}),
    ],
)
def test_metadata_that_is_odd_spoils_no_others(
    place: Place, name: str, key: str, message: dict[str, object], whole: dict[str, object]
) -> None:
    other = {n: v for n, v in message.items() if n not in ("source", "sqlType")} | whole
    found = changes(place, made(name, COLUMNS, [key], LENIENT), [message, other])
    assert found == [(0, 0, False, *IS, None), (1, 0, False, *IS, None)]
    with pytest.raises(BergError, match=f"A message has metadata that is not of its type, {key}: {{"):
        changes(place, made(name, COLUMNS, [key]), [other, message])
    assert changes(place, made(name, COLUMNS, [key]), [other]) == [(0, 0, False, *IS, None)]


def test_maxwell(place: Place) -> None:
    told = {"database": "d", "table": "t", "ts": 1_700_000_000, "primary_key_columns": ["id"]}
    messages = [
        {"data": NEW, "old": {"weight": 5.18}, "type": "update", **told},
        {"type": "bootstrap-start", "data": {}},
        {"type": "table-alter"},
        {"data": NEW, "type": "delete", **told},
        {"data": OLD, "type": "bootstrap-insert", **told},
    ]
    keys = ["database", "table", "primary-key-columns", "ingestion-timestamp"]
    meta = ("d", "t", ["id"], datetime.fromtimestamp(1_700_000_000, UTC))
    assert changes(place, made("maxwell-json", metadata=keys), messages) == [
        (0, 1, False, *WAS, *meta),
        (0, 2, False, *IS, *meta),
        (3, 3, False, *IS, *meta),
        (4, 0, False, *WAS, *meta),
    ]


NESTED = DataType(Kind.ROW, children=(Field("x", BIGINT), Field("y", STRING)))
LIST = DataType(Kind.ARRAY, children=(Field("element", BIGINT),))
MAP = DataType(Kind.MAP, children=(Field("key", STRING), Field("value", BIGINT)))


@pytest.mark.parametrize("options", [{}, LENIENT])
def test_nested_values_that_did_not_change_are_in_the_old_row(place: Place, options: dict[str, str]) -> None:
    columns = [("a/b~", NESTED), ("l", LIST), ("m", MAP), ("b", DataType(Kind.BYTES))]
    new = {"a/b~": {"x": 1, "y": "z"}, "l": [1, None], "m": {"k": 2}, "b": "AP8="}
    message = {"data": new, "old": {"l": [3], "b": None}, "type": "update"}
    values: tuple[object, ...] = ({"x": 1, "y": "z"}, [1, None], {"k": 2}, b"\x00\xff")
    assert changes(place, made("maxwell-json", columns, options=options), [message]) == [
        (0, 1, False, values[0], [3], values[2], None),
        (0, 2, False, *values),
    ]
    message = {"data": [new], "old": [{"l": [3], "b": None}], "type": "UPDATE"}
    assert [row[3:] for row in changes(place, made("canal-json", columns, options=options), [message])] == [
        (values[0], [3], values[2], None),
        values,
    ]


def test_what_is_written(place: Place) -> None:
    row = "1::BIGINT AS c0, 'é\"' AS c1, 1.5::DECIMAL(10,2) AS c2"
    rows = f"(SELECT {row}, unnest([0, 1, 2, 3])::TINYINT AS op)"
    thing_ = '{"id":1,"name":"é\\"","weight":1.5}'
    written = {
        "debezium-json": (
            f'{{"before":null,"after":{thing_},"op":"c"}}',
            f'{{"before":{thing_},"after":null,"op":"d"}}',
        ),
        "canal-json": (f'{{"data":[{thing_}],"type":"INSERT"}}', f'{{"data":[{thing_}],"type":"DELETE"}}'),
        "maxwell-json": (f'{{"data":{thing_},"type":"insert"}}', f'{{"data":{thing_},"type":"delete"}}'),
    }
    for name, (inserted, deleted) in written.items():
        wanted = [inserted, deleted, inserted, deleted]
        assert place.encoded(made(name), rows) == [text.encode() for text in wanted], name


ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 3]),
        st.integers(-(2**63), 2**63 - 1) | st.none(),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.none(),
        st.decimals(-(10**17), 10**17, places=2) | st.none(),
        st.binary(max_size=4) | st.none(),
    ),
    max_size=6,
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, at=st.integers(0, 6), bad=st.binary(min_size=1, max_size=6).filter(lambda b: b not in (b"null",)))
def test_what_is_written_is_read_again_beside_a_broken_message(
    place: Place, name: str, rows: list[Row], at: int, bad: bytes
) -> None:
    big = DataType(Kind.DECIMAL, 38, 20)
    columns = [("id", BIGINT), ("name", STRING), ("weight", big), ("data", DataType(Kind.BYTES))]
    kinds = [pa.int8(), pa.int64(), pa.string(), pa.decimal128(38, 20), pa.binary()]
    names = ["op", "c0", "c1", "c2", "c3"]
    table = pa.table({n: pa.array([r[i] for r in rows], k) for i, (n, k) in enumerate(zip(names, kinds, strict=True))})
    messages: list[object] = list(place.encoded(made(name, columns), place.relation(table)))
    at = min(at, len(messages))
    found = changes(place, made(name, columns, options=LENIENT), [*messages[:at], bad, *messages[at:]])
    bads = [row for row in found if row[0] == at]
    assert bads == [(at, 0, True, None, None, None, None)]
    assert [(row[1], *row[3:]) for row in found if row[0] != at] == rows
