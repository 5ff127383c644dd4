"""Messages that are CSV, JSON or raw: each is read by itself, and what is written is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.base import TableColumn
from bergsql.engine.connectors.messages import message_format
from bergsql.engine.connectors.messages.base import MessageFormat
from bergsql.engine.duck import Duck
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.sql.types import BIGINT, STRING, DataType, Kind

TWO = (("a", STRING), ("b", DataType(Kind.INT)))


class Place:
    """What formats are given to work with."""

    def __init__(self, duck: Duck) -> None:
        import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

        self.cursor = duck.cursor()
        self._count = 0

    def relation(self, rows: pa.Table) -> str:
        self._count += 1
        name = f"rows{self._count}"
        self.cursor.register(name, rows)
        return name

    def decoded(self, made: MessageFormat, messages: Sequence[bytes | None]) -> list[tuple[Any, ...]]:
        """Rows by their messages: the number, whether it is broken, the values."""
        import duckdb

        table = pa.table({"n": pa.array(range(len(messages)), pa.int64()), "data": pa.array(messages, pa.binary())})
        values = ", ".join(f"c{i}" for i in range(len(made.columns)))
        try:
            sql = made.decode(self, self.relation(table))
            return self.cursor.execute(f"SELECT n, broken, {values} FROM {sql} ORDER BY n, k").fetchall()
        except duckdb.Error as error:
            raise from_duckdb_error(error) from error

    def encoded(self, made: MessageFormat, rows: str) -> list[bytes]:
        sql = made.encode(self, rows)
        return [data for (data,) in self.cursor.execute(f"SELECT data FROM {sql}").fetchall()]


@pytest.fixture
def place() -> Iterator[Place]:
    duck = Duck(threads=1)
    yield Place(duck)
    duck.close()


def made(name: str, columns: Sequence[tuple[str, DataType]] = TWO, /, **options: str) -> MessageFormat:
    given = {f"{name}.{key.replace('_', '-')}": value for key, value in options.items()}
    return message_format(name)([TableColumn(n, t) for n, t in columns], given)


LENIENT: dict[str, str] = {"ignore_parse_errors": "true"}


def test_broken_messages_of_csv_spoil_no_others(place: Place) -> None:
    messages = [
        b"a,1",
        b'"',
        b"broken",
        b'"x,\ny",2\n',
        None,
        b"\xff,3",
        b"c,3",
        b'"a"b,1',
        b"d,no",
        b"",
        b"a,1,2",
        b'"",4',
    ]
    assert place.decoded(made("csv", **LENIENT), messages) == [
        (0, False, "a", 1),
        (1, True, None, None),
        (2, True, None, None),
        (3, False, "x,\ny", 2),
        (5, True, None, None),
        (6, False, "c", 3),
        (7, True, None, None),
        (8, False, "d", None),
        (9, True, None, None),
        (10, True, None, None),
        (11, False, "", 4),
    ]


@pytest.mark.parametrize(
    ("name", "message", "told"),
    [
        ("csv", b"broken", "A message is no row of 2 values: broken"),
        ("csv", b"\xff", "A message is no row of 2 values: which is no UTF-8"),
        ("json", b"{", "A message is no JSON object: {"),
        ("json", b"[1]", "A message is no JSON object: [1]"),
        ("json", b'{"b": "x"}', 'A message has a value that is not of its column\'s type, b: {"b": "x"}'),
    ],
)
def test_a_broken_message_fails_where_nothing_is_left_out(place: Place, name: str, message: bytes, told: str) -> None:
    with pytest.raises(BergError) as failed:
        place.decoded(made(name), [message])
    assert failed.value.message.startswith(told)


def test_broken_messages_of_json_spoil_no_others(place: Place) -> None:
    messages = [
        b'{"a": "x", "b": 1}',
        b"{",
        b'{"b": 2}',
        b"[]",
        b"",
        b'{"a": {"c": 1}, "b": "y"}',
        b"\xff",
        b'{"b": null}',
    ]
    assert place.decoded(made("json", **LENIENT), messages) == [
        (0, False, "x", 1),
        (1, True, None, None),
        (2, False, None, 2),
        (3, True, None, None),
        (4, True, None, None),
        (5, False, '{"c":1}', None),
        (6, True, None, None),
        (7, False, None, None),
    ]


def test_raw_messages(place: Place) -> None:
    texts = ["é\n".encode(), None]
    assert place.decoded(made("raw", [("a", STRING)]), texts) == [(0, False, "é\n"), (1, False, None)]
    assert place.decoded(made("raw", [("a", DataType(Kind.INT))]), [None, b"\0\0\0\1"]) == [
        (0, False, None),
        (1, False, 1),
    ]
    assert place.decoded(made("raw", [("a", BIGINT)]), [b"\xff" * 8, b"\0" * 7 + b"\x07"]) == [
        (0, False, -1),
        (1, False, 7),
    ]
    double = made("raw", [("a", DataType(Kind.DOUBLE))], endianness="little-endian")
    (data,) = place.encoded(double, "(SELECT 1.5::DOUBLE AS c0, 0::TINYINT AS op)")
    assert place.decoded(double, [data]) == [(0, False, 1.5)]
    with pytest.raises(BergError, match="A message is no BIGINT of 8 bytes: 07"):
        place.decoded(made("raw", [("a", BIGINT)]), [b"\x07"])


@pytest.mark.parametrize(
    ("charset", "text", "octets"),
    [
        ("GBK", "中文", b"\xd6\xd0\xce\xc4"),
        ("ISO-8859-1", "é", b"\xe9"),
        ("UTF-16", "é中", b"\xfe\xff\x00\xe9\x4e\x2d"),
        ("utf8", "é", b"\xc3\xa9"),
    ],
)
def test_raw_texts_of_a_charset(place: Place, charset: str, text: str, octets: bytes) -> None:
    format_ = made("raw", [("a", STRING)], charset=charset)
    rows = f"(SELECT c0, 0::TINYINT AS op FROM (VALUES ('{text}'), (NULL)) AS v(c0))"
    assert place.encoded(format_, rows) == [octets, None]
    assert place.decoded(format_, [octets, None]) == [(0, False, text), (1, False, None)]


def test_raw_texts_that_are_none_of_a_charset(place: Place) -> None:
    with pytest.raises(BergError, match=r"'base64' is not a value of 'raw\.charset': it is unknown"):
        made("raw", [("a", STRING)], charset="base64")
    with pytest.raises(BergError, match="A message is no GBK: D6"):
        place.decoded(made("raw", [("a", STRING)], charset="GBK"), [b"\xd6"])
    with pytest.raises(BergError, match="A value cannot be written in US-ASCII: é"):
        place.encoded(made("raw", [("a", STRING)], charset="US-ASCII"), "(SELECT 'é' AS c0, 0::TINYINT AS op)")
    assert place.decoded(made("raw", [("a", STRING)], charset="UTF-16"), [b"\x4e\x2d"]) == [(0, False, "中")]


@pytest.mark.parametrize("name", ["csv", "json"])
def test_what_is_written_is_read_again(place: Place, name: str) -> None:
    texts = ["", "a", 'q"u', "x,y", "l\nf", "中文", "#", "NULL", None]
    rows = ", ".join(
        f"({'NULL' if t is None else repr(t) if chr(10) not in t else 'chr(10)'}, {n})" for n, t in enumerate(texts)
    )
    relation = f"(SELECT c0, c1::INT AS c1, 0::TINYINT AS op FROM (VALUES {rows}) AS v(c0, c1))"
    messages = place.encoded(made(name), relation)
    wanted = place.cursor.execute(f"SELECT c1, false, c0, c1 FROM {relation} ORDER BY c1").fetchall()
    assert sorted(place.decoded(made(name), messages)) == wanted
