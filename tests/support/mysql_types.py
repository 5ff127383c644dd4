"""Types of MySQL and MariaDB with values at their edges, what they are declared as, and what they are as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Case(NamedTuple):
    """A type of MySQL, what it is declared as, SQL of values, and what they are as texts."""

    type: str
    declared: str
    values: Sequence[str]
    texts: Sequence[str | None]


CASES = (
    Case("TINYINT", "TINYINT", ["-128", "127", "-1", "NULL"], ["-128", "127", "-1", None]),
    Case("TINYINT UNSIGNED", "SMALLINT", ["0", "255"], ["0", "255"]),
    Case("TINYINT(1)", "TINYINT", ["0", "1", "2", "-1"], ["0", "1", "2", "-1"]),
    Case("TINYINT(1)", "BOOLEAN", ["0", "1", "2"], ["false", "true", "true"]),
    Case("SMALLINT", "SMALLINT", ["-32768", "32767"], ["-32768", "32767"]),
    Case("SMALLINT UNSIGNED", "INT", ["65535"], ["65535"]),
    Case("MEDIUMINT", "INT", ["-8388608", "8388607"], ["-8388608", "8388607"]),
    Case("MEDIUMINT UNSIGNED", "INT", ["16777215"], ["16777215"]),
    Case("INT", "INT", ["-2147483648", "2147483647"], ["-2147483648", "2147483647"]),
    Case("INT(8) ZEROFILL", "BIGINT", ["5", "4294967295"], ["5", "4294967295"]),
    Case("INT UNSIGNED", "BIGINT", ["4294967295"], ["4294967295"]),
    Case(
        "BIGINT",
        "BIGINT",
        ["-9223372036854775808", "9223372036854775807"],
        ["-9223372036854775808", "9223372036854775807"],
    ),
    Case("BIGINT UNSIGNED", "DECIMAL(20, 0)", ["18446744073709551615", "0"], ["18446744073709551615", "0"]),
    Case("BIGINT UNSIGNED", "STRING", ["18446744073709551615"], ["18446744073709551615"]),
    Case("FLOAT", "FLOAT", ["0.1", "16777216", "-1.5e-30", "3.4e38"], ["0.1", "16777216.0", "-1.5e-30", "3.4e+38"]),
    Case(
        "DOUBLE", "DOUBLE", ["0.1", "1.7976931348623157e308", "-1e-300"], ["0.1", "1.7976931348623157e+308", "-1e-300"]
    ),
    Case("DECIMAL(10,3)", "DECIMAL(10, 3)", ["-1234567.891", "0.001", "0"], ["-1234567.891", "0.001", "0.000"]),
    Case(
        "DECIMAL(65,30)",
        "STRING",
        ["12345678901234567890123456789012345.123456789012345678901234567890"],
        ["12345678901234567890123456789012345.123456789012345678901234567890"],
    ),
    Case("DECIMAL(65,10)", "DECIMAL(38, 10)", ["-1.5"], ["-1.5000000000"]),
    Case("BIT(1)", "BOOLEAN", ["b'1'", "b'0'", "NULL"], ["true", "false", None]),
    Case("BIT(64)", "BYTES", ["b'" + "1" * 64 + "'"], ["\\xFF" * 8]),
    Case("BIT(12)", "BYTES", ["b'100000000001'"], ["\\x08\\x01"]),
    Case(
        "DATE",
        "DATE",
        ["'1000-01-01'", "'9999-12-31'", "'0000-00-00'", "'2024-00-10'"],
        ["1000-01-01", "9999-12-31", None, None],
    ),
    Case(
        "DATETIME(6)",
        "TIMESTAMP(6)",
        ["'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'", "'0000-00-00 00:00:00'"],
        ["1000-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", None],
    ),
    Case("DATETIME", "TIMESTAMP(3)", ["'2024-02-29 12:34:56'"], ["2024-02-29 12:34:56"]),
    Case(
        "TIMESTAMP(3) NULL",
        "TIMESTAMP_LTZ(3)",
        ["'1970-01-01 00:00:01.5'", "'2038-01-19 03:14:07.999'", "'0000-00-00 00:00:00'"],
        ["1970-01-01 00:00:01.5+00", "2038-01-19 03:14:07.999+00", None],
    ),
    Case("TIMESTAMP(3) NULL", "TIMESTAMP(3)", ["'2024-07-01 00:00:00.25'"], ["2024-07-01 02:00:00.25"]),
    Case(
        "TIME(3)",
        "STRING",
        ["'-838:59:59.000'", "'838:59:59'", "'00:00:00.123'", "'-00:00:01.5'", "'-00:00:00.2'", "'-838:59:58.999'"],
        ["-838:59:59.000", "838:59:59.000", "00:00:00.123", "-00:00:01.500", "-00:00:00.200", "-838:59:58.999"],
    ),
    Case("TIME(6)", "STRING", ["'-100:00:00.000001'"], ["-100:00:00.000001"]),
    Case("TIME", "TIME(0)", ["'23:59:59'"], ["23:59:59"]),
    Case("YEAR", "SMALLINT", ["1901", "2155", "0"], ["1901", "2155", "0"]),
    Case("TINYTEXT", "STRING", ["'文'"], ["文"]),
    Case("MEDIUMTEXT", "STRING", ["REPEAT('文', 30000)"], ["文" * 30000]),
    Case("TINYBLOB", "BYTES", ["X'00FF'"], ["\\x00\\xFF"]),
    Case("MEDIUMBLOB", "BYTES", ["X'00'"], ["\\x00"]),
    Case(
        f"SET({', '.join(repr(f'm{n}') for n in range(64))})",
        "STRING",
        ["18446744073709551615", "'m63'", "''"],
        [",".join(f"m{n}" for n in range(64)), "m63", ""],
    ),
    Case("CHAR(100)", "STRING", ["'星星之火'", "''", "'a  '", "'😀'"], ["星星之火", "", "a", "😀"]),
    Case("VARCHAR(20) CHARACTER SET gbk", "STRING", ["'中文'", "''"], ["中文", ""]),
    Case("VARCHAR(20) CHARACTER SET latin1", "STRING", ["'é€'", "''"], ["é€", ""]),
    Case("VARCHAR(20) CHARACTER SET latin1", "STRING", ["x'c381'", "x'8f90'"], ["Ã\x81", "\x8f\x90"]),
    Case("TEXT CHARACTER SET dec8", "STRING", ["'é'"], ["é"]),
    Case("VARCHAR(20) CHARACTER SET big5", "STRING", ["'中•'", "'a'"], ["中•", "a"]),
    Case("VARCHAR(20) CHARACTER SET utf16", "STRING", ["'é中'"], ["é中"]),
    Case("VARCHAR(20) CHARACTER SET utf16 COLLATE utf16_uca1400_ai_ci", "STRING", ["'é中'"], ["é中"]),
    Case("TEXT COMPRESSED", "STRING", ["repeat('中', 9000)", "'é'", "''", "NULL"], ["中" * 9000, "é", "", None]),
    Case("VARCHAR(300) COMPRESSED CHARACTER SET latin1", "STRING", ["repeat('é', 300)", "'€'"], ["é" * 300, "€"]),
    Case("VARCHAR(200) COMPRESSED CHARACTER SET utf16", "STRING", ["repeat('é', 200)", "'中'"], ["é" * 200, "中"]),
    Case("VARBINARY(254) COMPRESSED", "BYTES", ["repeat(x'80', 254)"], ["\\x80" * 254]),
    Case("BLOB COMPRESSED", "BYTES", ["repeat(x'80', 300)", "x'80c3'"], ["\\x80" * 300, "\\x80\\xC3"]),
    Case("LONGTEXT", "STRING", ["repeat('中', 30000)"], ["中" * 30000]),
    Case("BINARY(4)", "BYTES", ["x'00ff'", "x'61620000'"], ["\\x00\\xFF\\x00\\x00", "ab\\x00\\x00"]),
    Case("VARBINARY(9)", "BYTES", ["x'00ff00'", "''"], ["\\x00\\xFF\\x00", ""]),
    Case("BLOB", "BYTES", ["x'80c3'"], ["\\x80\\xC3"]),
    Case("ENUM('a','b''c','中')", "STRING", ["'a'", "2", "'中'", "NULL"], ["a", "b'c", "中", None]),
    Case("ENUM('é','b') CHARACTER SET latin1", "STRING", ["'é'", "'b'", "'?'"], ["é", "b", ""]),
    Case("SET('中','文','a''b') CHARACTER SET gbk", "STRING", ["'a''b,中'", "4", "''"], ["中,a'b", "a'b", ""]),
    Case("SET('x','y','z')", "STRING", ["'z,x'", "''", "NULL"], ["x,z", "", None]),
    Case("JSON", "STRING", ["""'{"b": 1, "a": [1, "中"]}'"""], ['{"b": 1, "a": [1, "中"]}']),
    Case(
        "UUID",
        "STRING",
        ["'123e4567-e89b-12d3-a456-426655440000'", "'00000000-0000-0000-0000-000000000000'"],
        ["123e4567-e89b-12d3-a456-426655440000", "00000000-0000-0000-0000-000000000000"],
    ),
    Case("INET4", "STRING", ["'192.0.2.0'"], ["192.0.2.0"]),
    Case(
        "INET6",
        "STRING",
        ["'2001:db8::ff00:42:8329'", "'::ffff:192.0.2.128'", "'::'"],
        ["2001:db8::ff00:42:8329", "::ffff:192.0.2.128", "::"],
    ),
    Case(
        "POINT",
        "BYTES",
        ["ST_GeomFromText('POINT(1 2)')"],
        [
            "\\x00\\x00\\x00\\x00\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xF0?\\x00\\x00\\x00\\x00\\x00\\x00\\x00@"
        ],
    ),
)
