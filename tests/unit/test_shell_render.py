"""The layouts over a row of every hard type, and what Flink's client printed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from time import monotonic
from typing import BinaryIO
from uuid import UUID

import pytest

from bergsql.engine.result import Column, Result, ResultKind, Row, listing
from bergsql.engine.sql.types import DataType, Field, Kind
from bergsql.shell.render import tableau
from bergsql.shell.render.formats import layout
from bergsql.shell.render.layout import View


def kind(name: str, precision: int | None = None, scale: int | None = None, **children: DataType) -> DataType:
    return DataType(Kind[name], precision, scale, tuple(Field(n, t) for n, t in children.items()))


INT, STRING = kind("INT"), kind("STRING")

HARD: list[tuple[str, DataType, object]] = [
    ("bo", kind("BOOLEAN"), True),
    ("bi", kind("BIGINT"), -9223372036854775808),
    ("hu", kind("HUGEINT"), 170141183460469231731687303715884105727),
    ("f", kind("FLOAT"), 0.10000000149011612),
    ("d", kind("DOUBLE"), 1e10),
    ("nan", kind("DOUBLE"), float("nan")),
    ("inf", kind("FLOAT"), float("-inf")),
    ("de", kind("DECIMAL", 38, 10), Decimal("-0E-10")),
    ("s", STRING, 'a,"b"\r\nc\t中文'),
    ("es", STRING, ""),
    ("nul", STRING, "NULL"),
    ("by", kind("BYTES"), b"\x45\xf0\xab"),
    ("fx", kind("BINARY", 0), b""),
    ("dt", kind("DATE"), date(1, 2, 3)),
    ("tm0", kind("TIME", 0), time(3, 4, 5)),
    ("tm6", kind("TIME", 6), time(3, 4, 5, 600)),
    ("ts0", kind("TIMESTAMP", 0), datetime(2024, 1, 2, 3, 4, 5)),
    ("ts3", kind("TIMESTAMP", 3), datetime(2024, 1, 2, 3, 4, 5, 678000)),
    ("ts", kind("TIMESTAMP"), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("ts9", kind("TIMESTAMP", 9), -1),
    ("l3", kind("TIMESTAMP_LTZ", 3), datetime(1970, 1, 1)),
    ("l9", kind("TIMESTAMP_LTZ", 9), 1),
    ("ym", kind("INTERVAL_YEAR_MONTH"), -14),
    ("ds", kind("INTERVAL_DAY_TIME"), 93_784_005_000),
    ("dsu", kind("INTERVAL_DAY_TIME"), -1),
    ("u", kind("UUID"), UUID("12345678-1234-5678-1234-567812345678")),
    ("arr", kind("ARRAY", element=kind("ARRAY", element=INT)), [[1, None], [], None]),
    ("m", kind("MAP", key=STRING, value=kind("DECIMAL", 2, 1)), [("k", Decimal("1.5")), ("", None)]),
    ("r", kind("ROW", a=INT, b=kind("ROW", c=STRING, d=kind("BOOLEAN"))), (1, ("y", False))),
]


def hard_rows() -> Result:
    columns = tuple(Column(name, type_) for name, type_, _ in HARD)
    return rows(columns, [tuple(value for *_, value in HARD), tuple(None for _ in HARD)])


def rows(columns: tuple[Column, ...], values: list[Row]) -> Result:
    return Result(ResultKind.ROWS, columns, [values])


class Text(io.StringIO):
    """A place for text only."""

    def binary(self) -> BinaryIO:
        raise AssertionError("a format of text has no bytes")


def drawn(result: Result, name: str = "tableau", **view: object) -> str:
    out = Text()
    layout(name)(result, out, View(**{"max_width": 30, "show_time": False, **view}))  # type: ignore[arg-type]
    return out.getvalue()


def strings(*columns: tuple[str, str | None]) -> Result:
    """One row of STRINGs."""
    return rows(tuple(Column(n, STRING) for n, _ in columns), [tuple(v for _, v in columns)])


# --- csv -------------------------------------------------------------------------------------------------------------


def test_csv_of_hard_types() -> None:
    header, rest = drawn(hard_rows(), "csv", zone="Asia/Shanghai").split("\n", 1)
    assert header == ",".join(name for name, *_ in HARD)
    assert rest == (
        "TRUE,-9223372036854775808,170141183460469231731687303715884105727,0.1,1.0E10,NaN,-Infinity,-0.0000000000,"
        '"a,""b""\r\nc\t中文","",NULL,'
        "x'45f0ab',x'',0001-02-03,03:04:05,03:04:05.000600,2024-01-02 03:04:05,2024-01-02 03:04:05.678,"
        "1969-12-31 23:59:59.999999,1969-12-31 23:59:59.999999999,"
        "1970-01-01 08:00:00.000,1970-01-01 08:00:00.000000001,"
        "-1-02,+1 02:03:04.005,-0 00:00:00.000001,12345678-1234-5678-1234-567812345678,"
        '"[[1, NULL], [], NULL]","{k=1.5, =NULL}","(1, (y, FALSE))"\n' + "," * (len(HARD) - 1) + "\n"
    )


def test_csv_tells_null_from_empty_and_reads_back() -> None:
    text = drawn(strings(("a", None), ("b", ""), ("c", "NULL"), ('q"x', "1,2\n3")), "csv")
    assert text == 'a,b,c,"q""x"\n,"",NULL,"1,2\n3"\n'
    assert list(csv.reader(io.StringIO(text)))[1] == ["", "", "NULL", "1,2\n3"]


def test_csv_of_nothing_is_its_header() -> None:
    assert drawn(listing(["table name"], []), "csv") == "table name\n"


# --- jsonl -----------------------------------------------------------------------------------------------------------


def test_jsonl_of_hard_types() -> None:
    first, second, end = drawn(hard_rows(), "jsonl", zone="Asia/Shanghai").split("\n")
    values = json.loads(first)
    assert end == ""
    assert list(values) == [name for name, *_ in HARD]
    assert values == {
        **{"bo": True, "bi": -(2**63), "hu": 2**127 - 1, "f": 0.10000000149011612, "d": 1e10},
        **{"nan": "NaN", "inf": "-Infinity", "de": "-0.0000000000", "s": 'a,"b"\r\nc\t中文', "es": "", "nul": "NULL"},
        **{"by": {"$hex": "45f0ab"}, "fx": {"$hex": ""}, "dt": "0001-02-03", "tm0": "03:04:05"},
        **{"tm6": "03:04:05.000600", "ts0": "2024-01-02 03:04:05.000000", "ts3": "2024-01-02 03:04:05.678000"},
        **{"ts": "1969-12-31 23:59:59.999999", "ts9": "1969-12-31 23:59:59.999999999"},
        **{"l3": "1970-01-01 00:00:00.000000", "l9": "1970-01-01 00:00:00.000000001"},
        **{"ym": "-1-02", "ds": "+1 02:03:04.005", "dsu": "-0 00:00:00.000001"},
        **{"u": "12345678-1234-5678-1234-567812345678", "arr": [[1, None], [], None]},
        **{"m": {"$map": [["k", "1.5"], ["", None]]}, "r": {"a": 1, "b": {"c": "y", "d": False}}},
    }
    assert set(json.loads(second).values()) == {None}


def test_jsonl_keeps_columns_of_one_name_apart() -> None:
    assert drawn(strings(("id", "1"), ("id", "2"), ("id_1", "3"), ("50%", "4")), "jsonl") == (
        '{"id": "1", "id_2": "2", "id_1": "3", "50%": "4"}\n'
    )


# --- tableau: drawn as Flink's client drew the same values --------------------------------------------------------------


def test_tableau_of_numbers() -> None:
    columns = tuple(
        Column(n, t)
        for n, t in (
            *(("ti", kind("TINYINT")), ("si", kind("SMALLINT")), ("i", INT), ("bi", kind("BIGINT"))),
            *(("f", kind("FLOAT")), ("d", kind("DOUBLE")), ("dec1", kind("DECIMAL", 10, 4))),
            *(("b1", kind("BOOLEAN")), ("bn", kind("BOOLEAN"))),
        )
    )
    row = (1, -32768, 2147483647, -9223372036854775808, 1.5, 1e10, Decimal("1.1000"), True, None)
    assert drawn(rows(columns, [row])) == (
        "+----+--------+------------+----------------------+-----+--------+--------+------+--------+\n"
        "| ti |     si |          i |                   bi |   f |      d |   dec1 |   b1 |     bn |\n"
        "+----+--------+------------+----------------------+-----+--------+--------+------+--------+\n"
        "|  1 | -32768 | 2147483647 | -9223372036854775808 | 1.5 | 1.0E10 | 1.1000 | TRUE | <NULL> |\n"
        "+----+--------+------------+----------------------+-----+--------+--------+------+--------+\n"
        "1 row in set\n"
    )


def test_tableau_of_nested_values() -> None:
    columns = tuple(
        Column(n, t)
        for n, t in (
            ("arr", kind("ARRAY", element=INT)),
            ("m", kind("MAP", key=STRING, value=INT)),
            ("r", kind("ROW", a=INT, b=STRING, c=kind("BOOLEAN"))),
            ("ma", kind("MAP", key=STRING, value=kind("ARRAY", element=INT))),
            ("rr", kind("ROW", a=INT, b=kind("ROW", c=STRING))),
            ("an", kind("ARRAY", element=INT)),
            ("anull", kind("ARRAY", element=INT)),
        )
    )
    row = ([1, 2, 3], [("k", 1), ("k2", 2)], (1, "x", True), [("a", [1])], (1, ("y",)), None, [1, None])
    assert drawn(rows(columns, [row])) == (
        "+-----------+-------------+--------------+---------+----------+--------+-----------+\n"
        "|       arr |           m |            r |      ma |       rr |     an |     anull |\n"
        "+-----------+-------------+--------------+---------+----------+--------+-----------+\n"
        "| [1, 2, 3] | {k=1, k2=2} | (1, x, TRUE) | {a=[1]} | (1, (y)) | <NULL> | [1, NULL] |\n"
        "+-----------+-------------+--------------+---------+----------+--------+-----------+\n"
        "1 row in set\n"
    )


def test_tableau_cuts_at_thirty_columns() -> None:
    wide = strings(("x29", "x" * 29), ("x30", "x" * 30), ("x31", "x" * 31), ("c15", "中" * 15), ("c16", "中" * 16))
    assert drawn(wide).split("\n")[3] == (
        "| xxxxxxxxxxxxxxxxxxxxxxxxxxxxx | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | xxxxxxxxxxxxxxxxxxxxxxxxxxx... "
        "| 中中中中中中中中中中中中中中中 |  中中中中中中中中中中中中中... |"
    )


def test_tableau_cuts_names_and_obeys_the_width_that_is_set() -> None:
    one = (Column("this_is_a_very_long_column_name_that_exceeds_thirty_characters", INT),)
    assert drawn(rows(one, [(1,)])).split("\n")[1:4:2] == [
        "| this_is_a_very_long_column_... |",
        "|                              1 |",
    ]
    assert drawn(strings(("x12", "x" * 12), ("x13", "x" * 13)), max_width=12).split("\n")[3] == (
        "| xxxxxxxxxxxx | xxxxxxxxx... |"
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [("中文字符", 8), ("ｆｕｌｌ", 8), ("한국어", 6), ("😀", 2), ("e\u0301", 1), ("👨\u200d👩\u200d👧", 2), ("é", 1)],
)
def test_tableau_counts_display_columns(text: str, columns: int) -> None:
    assert drawn(strings(("c", text))).split("\n")[0] == "+" + "-" * (columns + 2) + "+"


def test_tableau_pads_names_by_display_columns() -> None:
    columns = (Column("列名", STRING), Column("名", INT))
    assert drawn(rows(columns, [("中文", 1)])) == (
        "+------+----+\n| 列名 | 名 |\n+------+----+\n| 中文 |  1 |\n+------+----+\n1 row in set\n"
    )


def test_tableau_writes_control_characters_out() -> None:
    lines = drawn(strings(("nl", "line1\nline2"), ("x\ny", "\t\x1b[2J\u202e\x9b"))).split("\n")
    assert lines[1:4:2] == [
        "|           nl |                x\\ny |",
        "| line1\\nline2 | \\t\\x1b[2J\\u202e\\x9b |",
    ]


def test_listing_is_fitted_blank_and_without_time() -> None:
    assert drawn(listing(["key", "value"], [("k", None), ("long", "v" * 40)]), show_time=True) == (
        "+------+------------------------------------------+\n"
        "|  key |                                    value |\n"
        "+------+------------------------------------------+\n"
        "|    k |                                          |\n"
        f"| long | {'v' * 40} |\n"
        "+------+------------------------------------------+\n"
        "2 rows in set\n"
    )


def test_listing_of_one_column_keeps_its_lines() -> None:
    ddl = "CREATE TABLE `t` (\n  `id` INT\n)\n"
    assert drawn(listing(["result"], [(ddl,)])) == (
        f"+{'-' * 34}+\n| {'result':>32} |\n+{'-' * 34}+\n| {ddl} |\n+{'-' * 34}+\n1 row in set\n"
    )
    assert "| a\\nb | x |" in drawn(listing(["k", "v"], [("a\nb", "x")]))


def test_footers() -> None:
    columns = (Column("x", INT),)
    assert drawn(rows(columns, [])) == "Empty set\n"
    assert drawn(rows(columns, [(1,), (2,)])).endswith("+\n2 rows in set\n")
    timed = Text()
    tableau.draw(rows(columns, []), timed, View(max_width=30, started=monotonic() - 0.731))
    assert timed.getvalue() == "Empty set (0.73 seconds)\n"


def test_tableau_beyond_the_look_ahead_streams_and_stays_aligned() -> None:
    drawn_after: list[int] = []
    out = Text()

    def chunks() -> Iterable[list[Row]]:
        for first in range(0, 3 * tableau.LOOK_AHEAD, 1000):
            drawn_after.append(out.tell())
            yield [(i, f"n{i}", None) for i in range(first, first + 1000)]
        yield [(-(2**63), "w" * 40, 1.5)]

    columns = (Column("id", kind("BIGINT")), Column("name", STRING), Column("d", kind("DECIMAL", 3, 1)))
    tableau.draw(Result(ResultKind.ROWS, columns, chunks()), out, View(max_width=30, show_time=False))
    lines = out.getvalue().split("\n")
    assert lines[-2] == f"{3 * tableau.LOOK_AHEAD + 1} rows in set"
    assert {len(line) for line in lines[:-2]} == {len(lines[0])}
    assert lines[-4] == f"| -9223372036854775808 | {'w' * 27}... |    1.5 |"
    assert drawn_after[-1] > drawn_after[-2] > 0, "rows are drawn while others are still to come"


def test_tableau_sees_all_widths_within_the_look_ahead() -> None:
    values: list[Row] = [(i, "x") for i in range(tableau.LOOK_AHEAD - 1)]
    text = drawn(rows((Column("id", INT), Column("s", STRING)), [*values, (10_000, "last")]))
    assert text.startswith("+-------+------+\n|    id |    s |\n")
    assert text.endswith("| 10000 | last |\n+-------+------+\n10000 rows in set\n")
