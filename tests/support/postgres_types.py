"""Values of every type of PostgreSQL, and what they are here."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

from tests.support.postgres_cdc import own_name
from tests.support.services.postgres import Postgres


class Case(NamedTuple):
    """A column: its type there, its type here, and values there with what they are here."""

    stored: str
    declared: str
    values: tuple[tuple[str, Any], ...]


def texts(*values: str) -> tuple[tuple[str, Any], ...]:
    return tuple((value, value) for value in values)


INF = float("inf")
CASES = (
    Case("smallint", "SMALLINT", (("-32768", -32768), ("32767", 32767))),
    Case("integer", "INT", (("-2147483648", -(2**31)), ("2147483647", 2**31 - 1))),
    Case("bigint", "BIGINT", (("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1))),
    Case("oid", "BIGINT", (("4294967295", 2**32 - 1),)),
    Case("bigint", "DECIMAL(20, 0)", (("9223372036854775807", Decimal(2**63 - 1)),)),
    Case("numeric(38, 10)", "DECIMAL(38, 10)", (("-1234567890123456789012345678.0123456789",) * 2,)),
    Case("numeric", "DECIMAL(10, 2)", (("1.500", Decimal("1.50")), ("-0.01", Decimal("-0.01")))),
    Case("numeric", "BIGINT", (("12.000", 12),)),
    Case("numeric", "STRING", texts("NaN", "Infinity", "-Infinity", "0.0000001")),
    Case("numeric", "DOUBLE", (("Infinity", INF), ("-Infinity", -INF), ("0.1", 0.1))),
    Case("real", "FLOAT", (("3.4028235e38", 3.4028234663852886e38), ("-Infinity", -INF), ("0.5", 0.5))),
    Case("double precision", "DOUBLE", (("1.7976931348623157e308", 1.7976931348623157e308), ("5e-324", 5e-324))),
    Case("money", "DECIMAL(19, 2)", (("-92233720368547758.08", Decimal("-92233720368547758.08")),)),
    Case("money", "STRING", (("1234.5", "$1,234.50"),)),
    Case("boolean", "BOOLEAN", (("true", True), ("false", False))),
    Case("boolean", "STRING", (("true", "t"),)),
    Case("text", "STRING", texts("", "中文", 'a,"b"\nc\\', "\t'", "NULL", "\\N", "\U0001f600", " ")),
    Case("varchar(5)", "VARCHAR(5)", texts("中文中文中", "")),
    Case("char(4)", "CHAR(4)", (("ab", "ab  "), ("中", "中   "))),
    Case("bytea", "BYTES", (("\\x", b""), ("\\x00ff10", b"\x00\xff\x10"))),
    Case("bytea", "BINARY(2)", (("\\x0102", b"\x01\x02"),)),
    Case("date", "DATE", (("0001-01-01", date(1, 1, 1)), ("9999-12-31", date(9999, 12, 31)))),
    Case("date", "STRING", texts("infinity", "-infinity", "0044-03-15 BC", "10000-01-01")),
    Case("time", "TIME(6)", (("00:00:00", time(0)), ("23:59:59.999999", time(23, 59, 59, 999999)))),
    Case("time", "STRING", texts("24:00:00")),
    Case("timetz", "STRING", texts("12:00:00.5+05:30")),
    Case("timestamp", "TIMESTAMP(6)", (("9999-12-31 23:59:59.999999", datetime(9999, 12, 31, 23, 59, 59, 999999)),)),
    Case("timestamp", "TIMESTAMP(3)", (("2024-02-29 01:02:03.456789", datetime(2024, 2, 29, 1, 2, 3, 456000)),)),
    Case("timestamp", "TIMESTAMP(0)", (("0001-01-01 00:00:00.9", datetime(1, 1, 1)),)),
    Case(
        "timestamptz",
        "TIMESTAMP_LTZ(6)",
        (("2024-01-01 00:00:00.1+05", datetime(2023, 12, 31, 19, 0, 0, 100000, UTC)),),
    ),
    Case("timestamptz", "STRING", (("2024-07-01 00:00:00-03", "2024-07-01 03:00:00+00"),)),
    Case("interval", "STRING", texts("1 year 2 mons 3 days 04:05:06.7", "-00:00:01")),
    Case(
        "uuid", "UUID", (("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),)
    ),
    Case("uuid", "STRING", texts("00000000-0000-0000-0000-000000000000")),
    Case("json", "STRING", texts('{"b": 1,  "a": [null, "中"]}', "null")),
    Case("jsonb", "STRING", (('{"b": 1, "a": 1.0}', '{"a": 1.0, "b": 1}'),)),
    Case("xml", "STRING", texts("<a>&lt;中</a>")),
    Case("inet", "STRING", texts("::1", "10.0.0.0/8")),
    Case("cidr", "STRING", texts("10.0.0.0/8")),
    Case("macaddr", "STRING", texts("08:00:2b:01:02:03")),
    Case("bit(3)", "STRING", texts("101")),
    Case("bit(1)", "BOOLEAN", (("1", True), ("0", False))),
    Case("varbit", "STRING", texts("", "10101")),
    Case("int[]", "ARRAY<INT>", (("{}", []), ("{1,NULL,-3}", [1, None, -3]), ("[5:6]={7,8}", [7, 8]))),
    Case(
        "text[]",
        "ARRAY<STRING>",
        (('{a,"NULL",NULL,"","x,y","q\\"\\\\z",中}', ["a", "NULL", None, "", "x,y", 'q"\\z', "中"]),),
    ),
    Case("numeric[]", "ARRAY<DECIMAL(5, 2)>", (("{1.5,-2}", [Decimal("1.50"), Decimal("-2.00")]),)),
    Case("int[]", "ARRAY<ARRAY<INT>>", (("{{1,2},{3,NULL}}", [[1, 2], [3, None]]), ("{}", []))),
    Case("date[]", "STRING", texts("{2024-01-01}")),
    Case("text[]", "ARRAY<ARRAY<STRING>>", (('{{"a,b","}{"},{"\\"",NULL}}', [["a,b", "}{"], ['"', None]]),)),
    Case("bool[]", "ARRAY<BOOLEAN>", (("{t,NULL,f}", [True, None, False]),)),
    Case("bytea[]", "ARRAY<BYTES>", (('{"\\\\x00ff","\\\\x"}', [b"\x00\xff", b""]),)),
    Case("money[]", "ARRAY<DECIMAL(19, 2)>", (("{1234.5,-1}", [Decimal("1234.50"), Decimal("-1.00")]),)),
    Case(
        "timestamptz[]",
        "ARRAY<TIMESTAMP_LTZ(3)>",
        (('{"2024-01-01 00:00:00+05"}', [datetime(2023, 12, 31, 19, tzinfo=UTC)]),),
    ),
    Case("amount[]", "ARRAY<DECIMAL(6, 2)>", (("{12.34}", [Decimal("12.34")]),)),
    Case("small_amount[]", "ARRAY<DECIMAL(6, 2)>", (("{1.5}", [Decimal("1.50")]),)),
    Case("amounts", "ARRAY<DECIMAL(6, 2)>", (("{1.5,NULL}", [Decimal("1.50"), None]),)),
    Case("hstore", "STRING", texts('"a"=>"1", "b"=>NULL')),
    Case("mood", "STRING", texts("so so", "好")),
    Case("mood[]", "ARRAY<STRING>", (('{"so so",好}', ["so so", "好"]),)),
    Case("amount", "DECIMAL(6, 2)", (("12.34", Decimal("12.34")),)),
    Case("small_amount", "DECIMAL(6, 2)", (("1.5", Decimal("1.50")),)),
    Case("pair", "STRING", texts('(1,"a ""b"", c")', "(,)")),
    Case('"char"', "STRING", texts("x", "")),
    Case("name", "STRING", texts("中")),
    Case("numeric(5, -2)", "INT", (("12345", 12300),)),
    Case("numeric", "DECIMAL(38, 0)", (("-0.0", Decimal(0)), ("1e37", Decimal(10) ** 37))),
    Case("int4range", "STRING", texts("[1,5)", "empty")),
    Case("point", "STRING", texts("(1,2.5)")),
    Case("box", "STRING", texts("(2,2),(1,1)")),
    Case("polygon", "STRING", texts("((0,0),(1,1),(2,0))")),
    Case("tsvector", "STRING", texts("'a' 'b'")),
    Case("pg_lsn", "STRING", texts("16/B374D848")),
)


def expected(case: Case, row: int) -> Any:
    value = case.values[row][1] if row < len(case.values) else None
    return Decimal(value) if case.declared.startswith("DECIMAL") and isinstance(value, str) else value


ROWS = max(len(case.values) for case in CASES)


def fill(server: Postgres, table: str, first: int) -> None:
    """All rows, from key ``first`` on; columns without so many values hold NULL."""
    connection = server.connect()
    try:
        with connection.cursor() as cursor:
            for row in range(ROWS):
                values = [case.values[row][0] if row < len(case.values) else None for case in CASES]
                marks = ", ".join(f"%s::text::{case.stored}" for case in CASES)
                cursor.execute(f"INSERT INTO {table} VALUES ({first + row}, {marks})", values)
    finally:
        connection.close()


def made_table(server: Postgres) -> str:
    """A table with a column of each type, and its rows."""
    name = own_name("values")
    server.run(
        "CREATE EXTENSION IF NOT EXISTS hstore",
        "DROP TYPE IF EXISTS mood CASCADE",
        "CREATE TYPE mood AS ENUM ('so so', '好')",
        "DROP DOMAIN IF EXISTS amount CASCADE",
        "CREATE DOMAIN amount AS numeric(6, 2) CHECK (VALUE > 0)",
        "CREATE DOMAIN small_amount AS amount CHECK (VALUE < 10)",
        "DROP DOMAIN IF EXISTS amounts",
        "CREATE DOMAIN amounts AS amount[]",
        "DROP TYPE IF EXISTS pair CASCADE",
        "CREATE TYPE pair AS (a int, b text)",
        f"CREATE TABLE {name} (id int PRIMARY KEY, {', '.join(f'v{n} {c.stored}' for n, c in enumerate(CASES))})",
        f"ALTER TABLE {name} REPLICA IDENTITY FULL",
    )
    fill(server, name, 0)
    return name


COLUMNS = f"id INT, {', '.join(f'v{n} {case.declared}' for n, case in enumerate(CASES))}, PRIMARY KEY (id) NOT ENFORCED"
