"""The edges of messages that are CSV, JSON or raw: odd bytes, numbers, sizes; and that each is read by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.messages.base import MessageFormat
from bergsql.engine.duck import Duck
from bergsql.engine.sql.types import BIGINT, STRING, DataType, Field, Kind
from tests.connectors.test_message_texts import LENIENT, TWO, Place, made

Row = tuple[Any, ...]
MARK = b"\xef\xbb\xbf"
DOUBLE, DECIMAL = DataType(Kind.DOUBLE), DataType(Kind.DECIMAL, 38, 10)
BYTES = DataType(Kind.BYTES)
ROW = DataType(Kind.ROW, children=(Field("x", BIGINT), Field("y", STRING)))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    duck = Duck(threads=1)
    yield Place(duck)
    duck.close()


def one(place: Place, made: MessageFormat, message: bytes) -> Row | str | None:
    """The row of a message, None for one that is broken, or why it fails."""
    try:
        ((_, broken, *values),) = place.decoded(made, [message])
    except BergError as error:
        return error.message
    return None if broken else tuple(values)


def test_a_scenario_with_a_message_that_is_no_row(place: Place) -> None:
    log = made("csv", (("log", STRING), ("dt", STRING)), **LENIENT)
    found = place.decoded(log, [b"a,2024-01-01", b"broken", b"b,2024-01-02"])
    assert found == [(0, False, "a", "2024-01-01"), (1, True, None, None), (2, False, "b", "2024-01-02")]


@pytest.mark.parametrize(
    ("message", "row", "broken"),
    [
        (MARK + b"a,1", ("a", 1), ""),
        (b"a\0b,1", ("a\0b", 1), ""),
        (b"a, 1 \r\n", ("a", 1), ""),
        (b"x" * 10_000_000 + b",1", ("x" * 10_000_000, 1), ""),
        (b'"a\r\n""b"",c",1', ('a\r\n"b",c', 1), ""),
        (b",", (None, None), ""),
        (b"", None, "A message is no row of 2 values:"),
        (b"  ", None, "A message is no row of 2 values:"),
        (b"a\n1", None, "A message is no row of 2 values: a 1"),
        (b'"a,1', None, 'A message is no row of 2 values: "a,1'),
        (b"\xc3,1", None, "A message is no row of 2 values: which is no UTF-8"),
        (b"a,99999999999", ("a", None), "A message has a value that is not of its column's type, b: a,99999999999"),
        (b"a," + b"y" * 500, ("a", None), f"A message has a value that is not of its column's type, b: a,{'y' * 198}"),
    ],
)
def test_edges_of_csv(place: Place, message: bytes, row: Row | None, broken: str) -> None:
    assert one(place, made("csv", **LENIENT), message) == row
    assert one(place, made("csv"), message) == (broken or row)


def test_a_csv_message_of_one_column_may_be_empty(place: Place) -> None:
    text = made("csv", [("a", STRING)])
    assert [one(place, text, m) for m in (b"", b" ", b'""')] == [(None,), (" ",), ("",)]


def test_comments_and_other_characters_in_csv(place: Place) -> None:
    own = made(
        "csv",
        field_delimiter="|",
        quote_character="'",
        escape_character="\\",
        null_literal="n/a",
        allow_comments="true",
    )
    messages = [b"# x", b"'a|''b'|1", b"c\\|d|n/a", b" #|2", b"n/a|3"]
    assert place.decoded(own, messages) == [(1, False, "a|'b", 1), (2, False, "c|d", None), (4, False, None, 3)]


UNFIT = "A message has a value that is not of its column's type, b: "


@pytest.mark.parametrize(
    ("message", "row", "broken"),
    [
        (MARK + b'{"a":"x","b":1}', ("x", 1), ""),
        (b'\n {"a":null} \n', (None, None), ""),
        (b'{"a":"\\u0000\\u00e9\\ud83d\\ude00","b":1.0E3}', ("\0é😀", 1000), ""),
        (b'{"a":"x","a":"y"}', ("x", None), ""),
        (b'{"a":5.10,"b":"12"}', ("5.1", 12), ""),
        (b'{"a":"' + b"x" * 10_000_000 + b'"}', ("x" * 10_000_000, None), ""),
        (b'{"a":"x","b":99999999999999999999}', ("x", None), UNFIT + '{"a":"x","b":99999999999999999999}'),
        (b'{"b":{}}', (None, None), UNFIT + '{"b":{}}'),
        (b'{"b":"' + b"z" * 500 + b'"}', (None, None), UNFIT + '{"b":"' + "z" * 194),
        (b'{"a":"\\ud800"}', None, 'A message is no JSON object: {"a":"\\ud800"}'),
        (b'{"a":"x\0"}', None, 'A message is no JSON object: {"a":"x\\0"}'),
        (b'{"a":1}{"a":2}', None, 'A message is no JSON object: {"a":1}{"a":2}'),
        (b"", None, "A message is no JSON object:"),
        (b" \n", None, "A message is no JSON object:"),
        (b"null", None, "A message is no JSON object: null"),
        (b'"x"', None, 'A message is no JSON object: "x"'),
        (b"[" * 100_000, None, "A message is no JSON object: " + "[" * 200),
        (b'{"a":"\xc3"}', None, "A message is no JSON object: which is no UTF-8"),
    ],
)
def test_edges_of_json(place: Place, message: bytes, row: Row | None, broken: str) -> None:
    assert one(place, made("json", **LENIENT), message) == row
    found = one(place, made("json"), message)
    assert (found.rstrip() if isinstance(found, str) else found) == (broken or row)


@pytest.mark.parametrize(
    ("value", "read", "rest"),
    [
        (b'{"l":[1,null,"2"],"m":{"k":{"x":1}},"t":{"q":[]}}', {"l": [1, None, 2], "m": {"k": {"x": 1}}, "t": '{"q":[]}'}, None),
        (b"{}", {"l": None, "m": None, "t": None}, None),
        (b'{"l":[1,"x"]}', None, {"l": [1, None], "m": None, "t": None}),
        (b'{"l":{}}', None, {"l": None, "m": None, "t": None}),
        (b'{"m":{"k":{"x":"y"},"n":null}}', None, {"l": None, "m": {"k": {"x": None}, "n": None}, "t": None}),
    ],
)  # fmt: skip
def test_nested_values_of_json_that_are_of_another_type(
    place: Place, value: bytes, read: dict[str, Any] | None, rest: dict[str, Any] | None
) -> None:
    inner = DataType(Kind.ROW, children=(Field("x", DataType(Kind.INT)),))
    parts = (
        Field("l", DataType(Kind.ARRAY, children=(Field("element", DataType(Kind.INT)),))),
        Field("m", DataType(Kind.MAP, children=(Field("key", STRING), Field("value", inner)))),
        Field("t", STRING),
    )
    columns = [("b", DataType(Kind.ROW, children=parts))]
    message = b'{"b":%s}' % value
    if read is not None:
        assert one(place, made("json", columns), message) == (read,)
    else:
        assert one(place, made("json", columns), message) == UNFIT + message.decode()
        assert one(place, made("json", columns, **LENIENT), message) == (rest,)


def test_fields_of_json_that_differ_only_in_case() -> None:
    row = DataType(Kind.ROW, children=(Field("x", BIGINT), Field("X", BIGINT)))
    with pytest.raises(BergError, match="Column 'b' has fields that differ only in case, in JSON"):
        made("json", [("b", DataType(Kind.ARRAY, children=(Field("element", row),)))])


def test_numbers_of_json(place: Place) -> None:
    numbers = made("json", [("a", DECIMAL), ("b", DOUBLE)])
    assert one(place, numbers, b'{"a":1234567890123456789012345678.0123456789,"b":123456789012345678901234567890}') == (
        Decimal("1234567890123456789012345678.0123456789"),
        123456789012345678901234567890.0,
    )
    assert one(place, numbers, b'{"a":"1.5","b":1e3}') == (Decimal("1.5"), 1000.0)
    assert one(place, numbers, b'{"a":1e3,"b":-0}') == (Decimal(1000), 0.0)


def test_members_that_must_be_there(place: Place) -> None:
    strict = made("json", [("a", STRING), ("b", ROW)], fail_on_missing_field="true")
    whole = b'{"a":null,"b":{"x":1,"y":null}}'
    assert one(place, strict, whole) == (None, {"x": 1, "y": None})
    assert one(place, strict, b'{"a":"x","b":null}') == ("x", None)
    assert one(place, strict, b'{"a":"x"}') == 'A message lacks the member \'b\': {"a":"x"}'
    assert one(place, strict, b'{"b":{"x":1},"a":""}') == 'A message lacks a member in \'b\': {"b":{"x":1},"a":""}'
    assert one(place, strict, b"\xff") == "A message is no JSON object: which is no UTF-8"
    assert one(place, strict, b"[]") == "A message is no JSON object: []"
    with pytest.raises(BergError, match="cannot both be true"):
        made("json", fail_on_missing_field="true", ignore_parse_errors="true")


def test_bytes_that_are_no_base64(place: Place) -> None:
    for name, message in (("csv", b"!"), ("json", b'{"b":"!"}')):
        assert one(place, made(name, [("b", BYTES)]), message) == UNFIT + message.decode()
        assert one(place, made(name, [("b", BYTES)], **LENIENT), message) == (None,)


COLUMNS = (("s", STRING), ("n", BIGINT), ("d", DECIMAL), ("f", DOUBLE), ("y", BYTES), ("r", ROW))
KINDS = (pa.string(), pa.int64(), pa.decimal128(38, 10), pa.float64(), pa.binary(), pa.struct([("x", pa.int64()), ("y", pa.string())]))  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ROWS = st.lists(
    st.tuples(
        TEXTS | st.sampled_from(['"', '""', "#", ",", "\r\n", "null", "\\", "\ufeff"]) | st.none(),
        st.integers(-(2**63), 2**63 - 1) | st.none(),
        st.decimals(-(10**20), 10**20, places=10) | st.none(),
        st.floats(allow_nan=False) | st.none(),
        st.binary(max_size=4) | st.none(),
        st.fixed_dictionaries({"x": st.integers(-9, 9) | st.none(), "y": TEXTS | st.none()}) | st.none(),
    ),
    max_size=5,
)


def count(name: str) -> int:
    """How many of COLUMNS a format holds without loss: the parts of a ROW are all texts in CSV."""
    return len(COLUMNS) - 1 if name == "csv" else len(COLUMNS)


def written(place: Place, format_: MessageFormat, rows: Sequence[Row]) -> list[bytes]:
    arrays = {f"c{i}": pa.array([r[i] for r in rows], KINDS[i]) for i in range(len(format_.columns))}
    return place.encoded(format_, place.relation(pa.table(arrays)))


@pytest.mark.parametrize("name", ["csv", "json"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    at=st.integers(0, 5),
    bad=st.sampled_from([b'"', b"\xff", b'{"s":', b'",\n"', b"\0"]) | st.binary(max_size=5),
)
def test_what_is_written_is_read_again_beside_a_broken_message(
    place: Place, name: str, rows: list[Row], at: int, bad: bytes
) -> None:
    columns = COLUMNS[: count(name)]
    messages = written(place, made(name, columns), rows)
    at = min(at, len(messages))
    found = place.decoded(made(name, columns, **LENIENT), [*messages[:at], bad, *messages[at:]])
    assert [row[1:] for row in found if row[0] == at] == [(True, *[None] * len(columns))]
    assert [row[2:] for row in found if row[0] != at] == [row[: len(columns)] for row in rows]


def test_comments_that_are_values(place: Place) -> None:
    (data,) = place.encoded(made("csv"), "(SELECT '#x' AS c0, 1 AS c1, 0::TINYINT AS op)")
    assert place.decoded(made("csv", TWO), [data]) == [(0, False, "#x", 1)]


@pytest.mark.parametrize(
    "options",
    [
        {"disable_quote_character": "true", "escape_character": "\\"},
        {"escape_character": "\\"},
        {"quote_character": "'", "field_delimiter": "\\t", "null_literal": "NULL"},
        {"field_delimiter": ";", "null_literal": "n/a"},
    ],
)
def test_other_characters_are_read_as_they_were_written(place: Place, options: dict[str, str]) -> None:
    texts = ["a,b", "\\", "\\,", 'q"', "'", "\t", "x;y", "NULL", "n/a", "a\nb", "é"]
    rows = [(text, n) for n, text in enumerate(texts)]
    format_ = made("csv", [("s", STRING), ("n", BIGINT)], **options)
    found = place.decoded(format_, written(place, format_, [*rows, (None, None)]))
    assert [row[2:] for row in found] == [*rows, (None, None)]


def test_a_text_for_null_without_the_delimiter() -> None:
    with pytest.raises(BergError, match=r"is not a value of 'csv\.null-literal': it holds the delimiter"):
        made("csv", null_literal="n,a")
