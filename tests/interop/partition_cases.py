"""One table for each partition transform and each type that it takes: the data of the interop tests."""

from __future__ import annotations

from dataclasses import dataclass

VALUES: dict[str, tuple[str, ...]] = {
    "boolean": ("true", "false"),
    "int": ("0", "1", "-1", "34", "2147483647", "-2147483648"),
    "bigint": ("0", "34", "-1", "9223372036854775807", "-9223372036854775808"),
    "decimal(9,2)": ("14.20", "10.65", "-0.05", "0.00", "9999999.99"),
    "decimal(20,3)": ("14.200", "-12345678901234567.891", "0.001"),
    "string": ("''", "'a'", "'iceberg'", "'北京市'", "'a/b=c d%e'", "'😀😀😀'", "'null'"),
    "binary": ("X'00010203'", "X'ff'", "X'6162'"),
    "date": ("date'2017-11-16'", "date'1969-12-31'", "date'1970-01-01'", "date'2024-02-29'"),
    "timestamp": (
        "timestamp'2017-11-16 22:31:08'",
        "timestamp'1969-12-31 23:59:59.999999'",
        "timestamp'1970-01-01 00:00:00'",
        "timestamp'2024-02-29 23:00:00.000001'",
    ),
    "timestamp_ntz": (
        "timestamp_ntz'2017-11-16 22:31:08'",
        "timestamp_ntz'1969-12-31 23:59:59.999999'",
        "timestamp_ntz'2024-02-29 23:00:00.000001'",
    ),
}
"""Literals by column type, in Spark's words; a NULL is added to each."""

IDENTITY = tuple(VALUES)
BUCKET = ("int", "bigint", "decimal(9,2)", "decimal(20,3)", "string", "binary", "date", "timestamp", "timestamp_ntz")
TRUNCATE = ("int", "bigint", "decimal(9,2)", "decimal(20,3)", "string", "binary")
CALENDAR = ("date", "timestamp", "timestamp_ntz")
HOURS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class PartitionCase:
    """A table ``(id int, c TYPE)`` partitioned by one transform of c."""

    transform: str
    type: str
    column: str
    """The name that Spark gives the partition field."""
    expression: str
    """Spark's own function that computes the partition value, ``{catalog}`` being the catalog's name."""

    @property
    def table(self) -> str:
        words = "".join(ch if ch.isalnum() else "_" for ch in f"p_{self.transform}_{self.type}")
        return words.strip("_")

    @property
    def values(self) -> tuple[str, ...]:
        return VALUES[self.type]

    def statements(self, catalog: str, namespace: str) -> list[str]:
        """CREATE and INSERT: row n holds the n-th value, the last row NULL."""
        table = f"{catalog}.{namespace}.{self.table}"
        rows = [f"({n}, {value})" for n, value in enumerate(self.values)] + [f"({len(self.values)}, null)"]
        return [
            f"create table {table} (id int, c {self.type}) using iceberg partitioned by ({self.transform})",
            f"insert into {table} values {', '.join(rows)}",
        ]

    def lookups(self, catalog: str, namespace: str) -> str:
        """One query that looks each value up by a filter: rows (value's number, ids found …)."""
        table = f"{catalog}.{namespace}.{self.table}"
        filters = [f"c = {value}" for value in self.values] + ["c is null"]
        return " union all ".join(f"select {n} as n, id from {table} where {f}" for n, f in enumerate(filters))


def _cases() -> tuple[PartitionCase, ...]:
    cases = [PartitionCase("c", t, "c", "c") for t in IDENTITY]
    cases += [PartitionCase("bucket(4, c)", t, "c_bucket", "{catalog}.system.bucket(4, c)") for t in BUCKET]
    cases += [PartitionCase("truncate(3, c)", t, "c_trunc", "{catalog}.system.truncate(3, c)") for t in TRUNCATE]
    cases += [PartitionCase("years(c)", t, "c_year", "{catalog}.system.years(c)") for t in CALENDAR]
    cases += [PartitionCase("months(c)", t, "c_month", "{catalog}.system.months(c)") for t in CALENDAR]
    cases += [PartitionCase("days(c)", t, "c_day", "{catalog}.system.days(c)") for t in CALENDAR]
    cases += [PartitionCase("hours(c)", t, "c_hour", "{catalog}.system.hours(c)") for t in HOURS]
    return tuple(cases)


CASES = _cases()
