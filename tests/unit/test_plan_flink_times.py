"""Flink's functions of dates and times, with the examples of its documentation and Java's rules for patterns."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import FLINK, Tables, ask, plan

BERLIN = Tables(FLINK, time_zone="Europe/Berlin")

ANSWERS: list[tuple[str, Any]] = [
    # https://nightlies.apache.org/flink/flink-docs-release-2.1/docs/dev/table/functions/systemfunctions/
    ("UNIX_TIMESTAMP('1970-01-01 08:00:01.001', 'yyyy-MM-dd HH:mm:ss.SSS')", 25201),
    ("UNIX_TIMESTAMP('1970-01-01 08:00:01.001 +0800', 'yyyy-MM-dd HH:mm:ss.SSS X')", 1),
    ("UNIX_TIMESTAMP('1970-01-01 08:00:01.001 +0800', 'yyyy-MM-dd HH:mm:ss.SSS')", 25201),
    ("UNIX_TIMESTAMP('1970-01-01 08:00:01.001', 'yyyy-MM-dd HH:mm:ss.SSS X')", -9223372036854775808),
    ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')", "1969-12-31 16:00:00"),
    ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'GMT-08:00')", "1969-12-31 16:00:00"),
    ("CONVERT_TZ(CAST(NULL AS STRING), 'UTC', 'PST')", None),
    ("EXTRACT(DAY FROM DATE '2006-06-05')", 5),
    ("QUARTER(DATE '1994-09-27')", 3),
    ("WEEK(DATE '1994-09-27')", 39),
    ("DAYOFYEAR(DATE '1994-09-27')", 270),
    ("DAYOFWEEK(DATE '1994-09-27')", 3),
    ("SECOND(TIMESTAMP '1994-09-27 13:14:15')", 15),
    ("FLOOR(TIME '12:44:31' TO MINUTE)", "12:44:00"),
    ("CEIL(TIME '12:44:31' TO MINUTE)", "12:45:00"),
    ("TIMESTAMPDIFF(DAY, TIMESTAMP '2003-01-02 10:00:00', TIMESTAMP '2003-01-03 10:00:00')", 1),
    ("TO_TIMESTAMP_LTZ('2023-01-01 00:00:00', 'yyyy-MM-dd HH:mm:ss', 'Asia/Shanghai')", "2022-12-31 16:00:00.000000"),
    ("TO_TIMESTAMP_LTZ('2023-01-01 00:00:00')", "2023-01-01 00:00:00.000000"),
    ("TO_TIMESTAMP_LTZ(1709633472123, 3)", "2024-03-05 10:11:12.123000"),
    # the session's zone
    ("FROM_UNIXTIME(44)", "1970-01-01 01:00:44"),
    ("DATE_FORMAT(TO_TIMESTAMP_LTZ(0, 3), 'HH:mm z XXX VV')", "01:00 CET +01:00 Europe/Berlin"),
    # SimpleDateFormat: ``u`` is a day, numbers go over, what stands behind is not looked at
    ("FROM_UNIXTIME(44, 'yyyy/MM/dd HH-mm-ss.SSS u')", "1970/01/01 01-00-44.000 4"),
    ("TO_DATE('2024-02-30', 'yyyy-MM-dd')", "2024-03-01"),
    ("TO_DATE('24-3-5 10:00', 'yy-M-d')", "2024-03-05"),
    ("TO_DATE('x', 'yyyy')", None),
    # DateTimeFormatter: the month's last day for one that is not there; then what java.sql.Timestamp reads
    ("TO_TIMESTAMP('2024-02-30', 'yyyy-MM-dd')", "2024-02-29 00:00:00.000000"),
    ("TO_TIMESTAMP('2024-3-5 1:2:3', 'yyyy-MM-dd HH:mm:ss')", "2024-03-05 01:02:03.000000"),
    ("TO_TIMESTAMP('05.03.2024 10:11', 'dd.MM.yyyy HH:mm')", "2024-03-05 10:11:00.000000"),
    ("TO_TIMESTAMP('2024-03-05 1:02 pm', 'yyyy-MM-dd h:mm a')", None),
    ("TO_TIMESTAMP('2024-03-05 1:02 PM', 'yyyy-MM-dd h:mm a')", "2024-03-05 13:02:00.000000"),
    # weeks begin on Sunday, and the first one holds the first of January
    ("DATE_FORMAT(TIMESTAMP '2024-03-05 10:11:12', 'w W Y e EEE')", "10 2 2024 3 Tue"),
    ("DATE_FORMAT('2024-12-30 10:11:12', 'YYYY-ww')", "2025-01"),
    # Spark's names, with Flink's types
    ("date_trunc('month', TIMESTAMP '2024-05-06 01:02:03')", "2024-05-01 00:00:00.000000"),
    ("date_add(DATE '2024-02-28', 2)", "2024-03-01"),
    ("dayname(DATE '2024-01-01')", "Mon"),
]


@pytest.mark.parametrize(("written", "value"), ANSWERS, ids=[a[0] for a in ANSWERS])
def test_as_flink(written: str, value: object) -> None:
    assert ask(f"SELECT {written}", FLINK, BERLIN).rows == [[value]]


def test_of_columns() -> None:
    sql = (
        "SELECT CONVERT_TZ(a, b, c), UNIX_TIMESTAMP(a), TO_TIMESTAMP(a, 'yyyy-MM-dd HH:mm:ss') FROM (VALUES "
        "('1970-01-01 00:00:00', 'UTC', '+05:30'), ('1970-01-01 00:00:00', 'EST', 'Asia/Tokyo'), ('x', 'UTC', 'UTC')) "
        "AS t(a, b, c)"
    )
    assert ask(sql, FLINK, BERLIN).rows == [
        ["1970-01-01 05:30:00", -3600, "1970-01-01 00:00:00.000000"],
        ["1970-01-01 14:00:00", -3600, "1970-01-01 00:00:00.000000"],
        [None, -9223372036854775808, None],
    ]


REFUSED = [
    ("DATE_FORMAT(TIMESTAMP '2024-03-05 10:11:12', 'yyyy-MM-ddTHH')", ErrorCode.INVALID, "the letter 'T'"),
    ("DATE_FORMAT(TIMESTAMP '2024-03-05 10:11:12', 'hhh')", ErrorCode.INVALID, "the letter 'h' 3 times"),
    ("DATE_FORMAT(TIMESTAMP '2024-03-05 10:11:12', 'yyyy]')", ErrorCode.INVALID, "a ']' that nothing opens"),
    ("TO_DATE('2024', 'www')", ErrorCode.UNSUPPORTED, "Reading 'www'"),
    ("CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'Mars')", ErrorCode.INVALID, "no time zone 'Mars'"),
    ("TO_TIMESTAMP_LTZ(5, 7)", ErrorCode.INVALID, "precision"),
    ("CURRENT_WATERMARK(1)", ErrorCode.TYPE, "CURRENT_WATERMARK"),
]


@pytest.mark.parametrize(("written", "code", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(written: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(BergError, match=message) as raised:
        plan(f"SELECT {written}", FLINK)
    assert raised.value.code is code
    assert raised.value.span is not None
