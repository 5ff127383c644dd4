"""Every type of PostgreSQL: the snapshot, the log and what is expected agree."""

from __future__ import annotations

from collections import Counter

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from tests.support.berg import Berg
from tests.support.change_reader import ChangeReader
from tests.support.postgres_cdc import dropped, options, own_name, source
from tests.support.postgres_types import CASES, COLUMNS, ROWS, expected, fill, made_table
from tests.support.services.postgres import Postgres
from tests.support.services.server import until


@pytest.fixture(scope="module")
def table(postgres: Postgres) -> str:
    return made_table(postgres)


def test_snapshot_and_log_give_the_same_values(postgres: Postgres, table: str) -> None:
    slot = own_name("slot")
    reader = ChangeReader(source(postgres, slot, table, COLUMNS))
    with reader.opened():
        until("the rows", lambda: reader.poll_unfolded() and len(reader.changes) == ROWS)
        fill(postgres, table, 100)
        until("the changes", lambda: reader.poll_unfolded() and len(reader.changes) == 2 * ROWS)
        postgres.run(f"DELETE FROM {table} WHERE id >= 100")
        until("the changes", lambda: reader.poll_unfolded() and len(reader.changes) == 3 * ROWS)
    dropped(postgres, slot)
    wanted = [[expected(case, row) for case in CASES] for row in range(ROWS)]
    for part, (kind, first) in enumerate([("+I", 0), ("+I", 100), ("-D", 100)]):
        for row, change in enumerate(reader.changes[part * ROWS : (part + 1) * ROWS]):
            assert change[:2] == (kind, first + row)
            for case, value, want in zip(CASES, change[2:], wanted[row], strict=True):
                assert (value, type(value)) == (want, type(want)), (case, kind, first)


@pytest.mark.parametrize(
    ("stored", "declared", "value"),
    [
        ("numeric", "DECIMAL(10, 2)", "NaN"),
        ("numeric", "DECIMAL(10, 2)", "Infinity"),
        ("numeric", "DECIMAL(10, 2)", "1.234"),
        ("numeric", "DECIMAL(4, 2)", "123.4"),
        ("numeric", "INT", "1.5"),
        ("bigint", "INT", "2147483648"),
        ("date", "DATE", "infinity"),
        ("date", "DATE", "0044-03-15 BC"),
        ("timestamp", "TIMESTAMP(6)", "-infinity"),
        ("timestamp", "TIMESTAMP(6)", "10000-01-01 00:00:00"),
        ("timestamp", "TIMESTAMP(6)", "0044-03-15 00:00:00 BC"),
        ("timestamptz", "TIMESTAMP_LTZ(6)", "infinity"),
        ("timestamptz", "TIMESTAMP_LTZ(6)", "0044-03-15 00:00:00+00 BC"),
        ("time", "TIME(6)", "24:00:00"),
        ("bytea", "BINARY(3)", "\\x01"),
        ("int[]", "ARRAY<INT>", "{{1,2}}"),
        ("int[]", "ARRAY<ARRAY<INT>>", "{1,2}"),
        ("date[]", "ARRAY<DATE>", "{infinity}"),
    ],
)
def test_values_that_the_declared_type_does_not_have(
    postgres: Postgres, stored: str, declared: str, value: str
) -> None:
    name = own_name("unfit")
    postgres.run(f"CREATE TABLE {name} (id int, v {stored})", f"INSERT INTO {name} VALUES (1, '{value}')")
    reader = ChangeReader(source(postgres, "none", name, f"id INT, v {declared}", "'scan.startup.mode'='snapshot'"))
    with reader.opened(), pytest.raises(BergError, match=r"column 'v'") as told:
        reader.poll()
    assert told.value.code is ErrorCode.INVALID
    assert value.strip("{}") in told.value.message


@pytest.mark.parametrize(
    ("stored", "declared", "hint"),
    [
        ("text", "INT", "Declare it STRING."),
        ("timestamptz", "TIMESTAMP(3)", "Declare it TIMESTAMP_LTZ or STRING."),
        ("timestamp", "TIMESTAMP_LTZ(3)", "Declare it TIMESTAMP or STRING."),
        ("double precision", "FLOAT", "Declare it DOUBLE or STRING."),
        ("int[]", "ARRAY<STRING>", ""),
        ("int", "ARRAY<INT>", "Declare it INT or STRING."),
        ("int[]", "INT", "Declare it ARRAY<INT> or STRING."),
        ("box[]", "ARRAY<STRING>", "Declare it STRING."),
        ("int2vector", "ARRAY<SMALLINT>", "Declare it STRING."),
        ("uuid", "BYTES", "Declare it UUID or STRING."),
    ],
)
def test_declared_types_that_never_fit(postgres: Postgres, stored: str, declared: str, hint: str) -> None:
    name = own_name("types")
    postgres.run(f"CREATE TABLE {name} (id int, v {stored})")
    reader = ChangeReader(source(postgres, "none", name, f"id INT, v {declared}", "'scan.startup.mode'='snapshot'"))
    if not hint:
        with reader.opened():
            return
    with pytest.raises(BergError, match=r"Column 'v'") as told, reader.opened():
        pass
    assert (told.value.code, told.value.hint) == (ErrorCode.TYPE, hint)


def test_a_batch_reads_the_rows(postgres: Postgres, berg: Berg) -> None:
    session = Session(SessionConfig(home=berg.home))
    name = own_name("batch")
    postgres.run(
        f"CREATE TABLE {name} (id bigint PRIMARY KEY, v text)",
        f"INSERT INTO {name} SELECT n, CASE WHEN n % 2 = 0 THEN 'x' END FROM generate_series(1, 20000) AS n",
    )
    with_ = options(postgres, "none", name)
    try:
        session.execute(f"CREATE TABLE b (id BIGINT, v STRING) WITH ({with_}, 'scan.startup.mode'='snapshot')").close()
        result = session.execute("SELECT COUNT(*), COUNT(v), SUM(id) FROM b")
        assert list(result.rows()) == [(20000, 10000, 200010000)]
        result.close()
    finally:
        session.close()
    assert Counter(postgres.run("SELECT slot_name FROM pg_replication_slots WHERE slot_name = 'none'")) == Counter()
