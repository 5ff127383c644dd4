"""Messages of Avro: with the schema of the columns, and with schemas of a registry."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import is_secret_key
from bergsql.engine.connectors.base import TableColumn
from bergsql.engine.connectors.messages import message_format
from bergsql.engine.connectors.messages.avro_rows import schema_of
from bergsql.engine.connectors.messages.base import MessageFormat
from bergsql.engine.duck import Duck
from bergsql.engine.sql.types import BIGINT, INT, STRING, DataType, Field, Kind
from tests.connectors.test_message_texts import Place
from tests.support.services.registry import Registry

Row = tuple[Any, ...]
TWO = (("a", STRING), ("b", INT))
TS3, TS6 = DataType(Kind.TIMESTAMP, 3), DataType(Kind.TIMESTAMP, 6)
LTZ = DataType(Kind.TIMESTAMP_LTZ, 6)
NESTED = DataType(Kind.ROW, children=(Field("x", INT), Field("at", TS3)))
ALL = (
    ("bool", DataType(Kind.BOOLEAN)),
    ("tiny", DataType(Kind.TINYINT)),
    ("small", DataType(Kind.SMALLINT)),
    ("big", BIGINT),
    ("f", DataType(Kind.FLOAT)),
    ("d", DataType(Kind.DOUBLE)),
    ("dec", DataType(Kind.DECIMAL, 38, 10)),
    ("s", STRING),
    ("y", DataType(Kind.BYTES)),
    ("day", DataType(Kind.DATE)),
    ("clock", DataType(Kind.TIME, 3)),
    ("at", TS3),
    ("list", DataType(Kind.ARRAY, children=(Field("element", NESTED),))),
    ("map", DataType(Kind.MAP, children=(Field("key", STRING), Field("value", TS3)))),
    ("row", NESTED),
)
VALUES = (
    "true AS c0, (-128)::TINYINT AS c1, 32767::SMALLINT AS c2, (-9223372036854775808)::BIGINT AS c3, 1.5::FLOAT AS c4, "
    "0.1::DOUBLE AS c5, 1234567890123456789012345678.0123456789::DECIMAL(38,10) AS c6, 'é中' AS c7, '\\x00\\xFF'::BLOB "
    "AS c8, DATE '0001-01-01' AS c9, TIME '23:59:59.999' AS c10, TIMESTAMP '1969-12-31 23:59:59.999' AS c11, "
    "[{'x': 1, 'at': TIMESTAMP '2024-01-01 00:00:00.001'}, NULL] AS c12, "
    "MAP {'k': TIMESTAMP '2024-01-01', 'n': NULL} AS c13, {'x': NULL::INT, 'at': TIMESTAMP '2024-02-29'} AS c14, "
    "0::TINYINT AS op"
)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    duck = Duck(threads=1)
    yield Place(duck)
    duck.close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    found = Registry().start()
    yield found
    found.stop()


def made(
    columns: Sequence[tuple[str, DataType]] = TWO, options: Mapping[str, str] | None = None, name: str = "avro"
) -> MessageFormat:
    own = {f"{name}.{key}": value for key, value in (options or {}).items()}
    return message_format(name)([TableColumn(n, t) for n, t in columns], own)


def confluent(
    registry: Registry, columns: Sequence[tuple[str, DataType]] = TWO, options: Mapping[str, str] | None = None
) -> MessageFormat:
    return made(columns, {"url": registry.url, "subject": "t-value"} | dict(options or {}), "avro-confluent")


def binary(schema: Any, row: Mapping[str, Any], head: bytes = b"") -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return head + out.getvalue()


@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_all_types_are_read_as_they_were_written(place: Place, encoding: str) -> None:
    format_ = made(ALL, {"encoding": encoding})
    nulls = ", ".join(f"NULL AS c{i}" for i in range(len(ALL)))
    rows = f"(SELECT {VALUES} UNION ALL SELECT {nulls}, 0)"
    wanted = place.cursor.execute(f"SELECT * EXCLUDE (op) FROM {rows}").fetchall()
    found = place.decoded(format_, place.encoded(format_, rows))
    assert [row[2:] for row in found] == wanted


def test_the_schema_is_that_of_flink() -> None:
    columns = [
        TableColumn("a", STRING, nullable=False),
        TableColumn("r", NESTED),
        TableColumn("d", DataType(Kind.DECIMAL, 4, 1)),
    ]
    space = "org.apache.flink.avro.generated.record"
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    inner = [
        {"name": "x", "type": ["null", "int"], "default": None},
        {"name": "at", "type": ["null", millis], "default": None},
    ]
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}
    assert schema_of(columns, "", legacy=True) == {
        "type": "record",
        "name": space,
        "fields": [
            {"name": "a", "type": "string"},
            {"name": "r", "type": ["null", {"type": "record", "name": f"{space}_r", "fields": inner}], "default": None},
            {"name": "d", "type": ["null", decimal], "default": None},
        ],
    }


def test_times_by_the_newer_mapping(place: Place) -> None:
    columns = [("a", TS6), ("b", LTZ), ("c", TS3)]
    format_ = made(columns, {"timestamp_mapping.legacy": "false"})
    rows = (
        "(SELECT TIMESTAMP '2024-01-01 00:00:00.000001' AS c0, TIMESTAMPTZ '2024-01-01 00:00:00.000001+02' AS c1, "
        "TIMESTAMP '2024-01-01 00:00:00.001' AS c2, 0::TINYINT AS op)"
    )
    ((_, _, local, instant, short),) = place.decoded(format_, place.encoded(format_, rows))
    assert local == datetime(2024, 1, 1, microsecond=1)
    assert instant == datetime(2023, 12, 31, 22, microsecond=1, tzinfo=UTC)
    assert short == datetime(2024, 1, 1, microsecond=1000)


@pytest.mark.parametrize(
    ("column", "told", "hint"),
    [
        (("a", TS6), "Column 'a' is TIMESTAMP(6), which a message of Avro cannot hold.", "'avro.timestamp_mapping.legacy'='false' can."),
        (("a", LTZ), "Column 'a' is TIMESTAMP_LTZ(6), which a message of Avro cannot hold.", "'avro.timestamp_mapping.legacy'='false' can."),
        (("a", DataType(Kind.MAP, children=(Field("key", INT), Field("value", INT)))), "Column 'a' is MAP<INT, INT>, which a message of Avro cannot hold.", None),
        (("a b", INT), "'a b' is no name in Avro, which are letters (a to z), digits and _.", None),
    ],
)  # fmt: skip
def test_what_avro_cannot_hold(column: tuple[str, DataType], told: str, hint: str | None) -> None:
    with pytest.raises(BergError) as failed:
        made([column])
    assert (failed.value.message, failed.value.hint) == (told, hint)


@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_a_broken_message_names_itself(place: Place, encoding: str) -> None:
    format_ = made(options={"encoding": encoding})
    (good,) = place.encoded(format_, "(SELECT 'x' AS c0, 1 AS c1, 0::TINYINT AS op)")
    with pytest.raises(BergError, match="A message is no value of Avro for the table's columns: ffee"):
        place.decoded(format_, [good, b"\xff\xee", good])
    assert place.decoded(format_, [good, None, good]) == [(0, False, "x", 1), (2, False, "x", 1)]


ROWS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.none(),
        st.integers(-(2**31), 2**31 - 1) | st.none(),
        st.decimals(-(10**20), 10**20, places=10) | st.none(),
        st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda t: t.replace(microsecond=7000)) | st.none(),
        st.dates() | st.none(),
        st.times().map(lambda t: t.replace(microsecond=1000)) | st.none(),
        st.binary(max_size=4) | st.none(),
    ),
    max_size=5,
)
PROPERTY = (*TWO, ("c", DataType(Kind.DECIMAL, 38, 10)), ("d", TS3), ("e", DataType(Kind.DATE)), ("f", DataType(Kind.TIME, 3)), ("g", DataType(Kind.BYTES)))  # fmt: skip


@pytest.mark.parametrize("name", ["binary", "json", "confluent"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_what_is_written_is_read_again(place: Place, registry: Registry, name: str, rows: list[Row]) -> None:
    if name == "confluent":
        format_ = confluent(registry, PROPERTY)
    else:
        format_ = made(PROPERTY, {"encoding": name})
    kinds = [
        pa.string(),
        pa.int32(),
        pa.decimal128(38, 10),
        pa.timestamp("us"),
        pa.date32(),
        pa.time64("us"),
        pa.binary(),
    ]
    table = pa.table({f"c{i}": pa.array([r[i] for r in rows], k) for i, k in enumerate(kinds)})
    messages = place.encoded(format_, place.relation(table))
    assert [row[2:] for row in place.decoded(format_, messages)] == rows


# --- a registry --------------------------------------------------------------------------------------------------


def test_messages_of_several_schemas(place: Place, registry: Registry) -> None:
    old = {"type": "record", "name": "User", "fields": [{"name": "a", "type": "string"}]}
    uuid = {"type": "string", "logicalType": "uuid"}
    new = {
        "type": "record",
        "name": "User2",
        "namespace": "x.y",
        "fields": [{"name": "b", "type": "int"}, {"name": "more", "type": "long"}, {"name": "a", "type": uuid}],
    }
    one, two = (registry.register("t-value", json.dumps(s)) for s in (old, new))
    heads = [b"\0" + number.to_bytes(4, "big") for number in (one, two)]
    text = "00000000-0000-0000-0000-000000000001"
    messages = [
        binary(old, {"a": "x"}, heads[0]),
        None,
        binary({**new, "fields": [*new["fields"][:2], {"name": "a", "type": "string"}]}, {"b": 1, "more": 2, "a": text}, heads[1]),
        binary(old, {"a": "y"}, heads[0]),
    ]  # fmt: skip
    format_ = confluent(registry)
    wanted = [(0, False, "x", None), (2, False, text, 1), (3, False, "y", None)]
    assert place.decoded(format_, messages) == wanted
    assert place.decoded(format_, messages) == wanted
    assert registry.asked == ["GET /schemas/ids/1", "GET /schemas/ids/2"]  # each once


@pytest.mark.parametrize(
    ("written", "value", "read", "wanted"),
    [
        ({"type": "long", "logicalType": "timestamp-micros"}, 1_700_000_000_123_456, BIGINT, 1_700_000_000_123_456),
        (["null", {"type": "int", "logicalType": "date"}], 19_000, INT, 19_000),
        ("bytes", b"\xff\x83", DataType(Kind.DECIMAL, 10, 2), Decimal("-1.25")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, Decimal("-1.25"), DataType(Kind.BYTES), b"\x83"),
        ({"type": "array", "items": {"type": "long", "logicalType": "timestamp-millis"}}, [1], DataType(Kind.ARRAY, children=(Field("element", BIGINT),)), [1]),
    ],
)  # fmt: skip
def test_a_column_may_be_of_the_plain_type(
    place: Place, registry: Registry, written: Any, value: Any, read: DataType, wanted: Any
) -> None:
    """As in Flink, where types are told apart without what they mean."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": written}]}
    number = registry.register("t", json.dumps(schema))
    message = binary(schema, {"a": value}, b"\0" + number.to_bytes(4, "big"))
    assert place.decoded(confluent(registry, [("a", read)]), [message]) == [(0, False, wanted)]


def test_a_boolean_is_no_time(place: Place, registry: Registry) -> None:
    schema = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "boolean"}]}'
    registry.register("t", schema)
    with pytest.raises(BergError, match="A message is no value of Avro for the table's columns"):
        place.decoded(confluent(registry, [("a", TS3)]), [b"\0\0\0\0\x01\x01"])


def test_json_of_avro_is_one_value_on_any_lines(place: Place) -> None:
    format_ = made(options={"encoding": "json"})
    assert place.decoded(format_, [b'{"a": {"string": "x"},\n"b": {"int": 1}}']) == [(0, False, "x", 1)]
    with pytest.raises(BergError, match="A message is no value of Avro"):
        place.decoded(format_, [b'{"a": null, "b": null}\n{"a": null, "b": null}'])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"a": "string"}, "it has no field for the column 'b'"),
        ({"a": "string", "b": "int", "z": "int"}, "its field 'z' is no column, and has no default"),
        ({"a": "int", "b": "int"}, "A row cannot be written as a message of Avro by its schema: .*field a"),
    ],
)
def test_a_schema_of_ones_own_that_does_not_fit(
    place: Place, registry: Registry, fields: dict[str, str], told: str
) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    with pytest.raises(BergError, match=told):
        place.encoded(
            confluent(registry, options={"schema": json.dumps(schema)}),
            "(SELECT 'x' AS c0, 1 AS c1, 0::TINYINT AS op)",
        )


def test_what_is_written_is_registered_once(place: Place, registry: Registry) -> None:
    format_ = confluent(registry)
    rows = "(SELECT 'x' AS c0, 1 AS c1, 0::TINYINT AS op, 7 AS m0)"
    (data,) = place.encoded(format_, rows)
    assert place.encoded(format_, rows) == [data]
    assert data[:5] == b"\0\0\0\0\x01"
    assert registry.subjects == {"t-value": [1]}
    assert registry.asked == ["POST /subjects/t-value/versions"]
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": n, "type": t} for n, t in (("b", "int"), ("a", "string"))],
    }
    (data,) = place.encoded(confluent(registry, options={"schema": json.dumps(schema)}), rows)
    assert data == binary(schema, {"a": "x", "b": 1}, b"\0\0\0\0\x02")
    with pytest.raises(BergError, match=r"'avro-confluent\.schema' is no schema that can be used: it is no record"):
        confluent(registry, options={"schema": '"string"'})


def test_a_registry_that_is_away_or_refuses(place: Place, registry: Registry) -> None:
    url = registry.url.replace("//", "//me:geheim@")
    format_ = made(TWO, {"url": url, "subject": "refused"}, "avro-confluent")
    rows = "(SELECT 'x' AS c0, 1 AS c1, 0::TINYINT AS op)"
    with pytest.raises(BergError, match="refuses the schema: Schema being registered is incompatible") as failed:
        place.encoded(format_, rows)
    assert failed.value.code is ErrorCode.INVALID
    with pytest.raises(BergError, match="has no schema 9, which a message names"):
        place.decoded(format_, [b"\0\0\0\0\x09"])
    with pytest.raises(BergError, match="it does not begin with a byte 0"):
        place.decoded(format_, [b"\x01\0\0\0\x01x"])
    registry.answers[5] = {"schema": "syntax = 3", "schemaType": "PROTOBUF"}
    with pytest.raises(BergError, match="is PROTOBUF, no Avro"):
        place.decoded(format_, [b"\0\0\0\0\x05"])
    registry.answers[6] = {"schema": "{}", "references": [{"name": "x"}]}
    with pytest.raises(BergError, match="which refers to others, is not supported yet"):
        place.decoded(format_, [b"\0\0\0\0\x06"])
    registry.stop()
    with pytest.raises(BergError) as failed:
        place.decoded(format_, [b"\0\0\0\0\x01"])
    assert failed.value.code is ErrorCode.CONNECTION
    assert f"127.0.0.1:{registry.port} cannot be reached" in failed.value.message
    assert "geheim" not in str(failed.value) + (failed.value.hint or "")
    registry.start()
    registry.register("t", '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}')
    assert place.decoded(format_, [b"\0\0\0\0\x01\x02x"]) == [(0, False, "x", None)]


def test_who_may_ask(place: Place) -> None:
    registry = Registry(user="me:ge:heim").start()
    try:
        schema = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "string"}]}'
        registry.register("t", schema)
        given = {"basic-auth.credentials-source": "USER_INFO", "basic-auth.user-info": "me:ge:heim"}
        message = b"\0\0\0\0\x01\x02x"
        assert place.decoded(confluent(registry, options=given), [message]) == [(0, False, "x", None)]
        two = {"url": f"http://127.0.0.1:9,{registry.url}", **given}
        assert place.decoded(confluent(registry, options=two), [message]) == [(0, False, "x", None)]
        with pytest.raises(BergError, match="answers 401, Unauthorized") as failed:
            place.decoded(confluent(registry), [message])
        assert failed.value.code is ErrorCode.CONNECTION
    finally:
        registry.stop()
    assert is_secret_key("avro-confluent.basic-auth.user-info")
    assert is_secret_key("value.avro-confluent.bearer-auth.token")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"url": "localhost:8081"}, "'localhost:8081' is not a value of 'avro-confluent.url'"),
        ({"url": "http://h:x"}, "'http://h:x' is not a value of 'avro-confluent.url'"),
        ({"basic-auth.user-info": "a:b"}, "credentials-source'='USER_INFO' and .* belong together"),
        ({"bearer-auth.credentials-source": "STATIC_TOKEN"}, "'avro-confluent.bearer-auth.token' belong together"),
        ({"ssl.truststore.location": "/x/y.jks"}, "is a store of Java's, which is not read"),
        ({"ssl.truststore.location": "/x/y.pem"}, "cannot be read: No such file or directory"),
    ],
)
def test_wrong_options_of_a_registry(options: dict[str, str], told: str) -> None:
    with pytest.raises(BergError, match=told) as failed:
        made(TWO, {"url": "http://h:1", "subject": "t"} | options, "avro-confluent")
    assert failed.value.code is ErrorCode.OPTION


def test_values_of_times_and_decimals(place: Place) -> None:
    row = {"a": Decimal("1.50"), "b": date(2024, 2, 29), "c": time(1, 2, 3), "d": 1_700_000_000_123}
    kinds = {"a": DataType(Kind.DECIMAL, 4, 2), "b": DataType(Kind.DATE), "c": DataType(Kind.TIME, 3), "d": TS3}
    schema = schema_of([TableColumn(n, t) for n, t in kinds.items()], "", legacy=True)
    ((_, _, *values),) = place.decoded(made(list(kinds.items())), [binary(schema, row)])
    assert values == [row["a"], row["b"], row["c"], datetime(2023, 11, 14, 22, 13, 20, 123000)]
