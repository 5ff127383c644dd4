"""What a query's result gives as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from bergsql.shell.render.arrow_values import arrow_schema, record_batches


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = Session(SessionConfig(home=tmp_path))
    yield opened
    opened.close()


def table(session: Session, query: str) -> pa.Table:
    result = session.execute(query)
    schema = arrow_schema(result, months=pa.int32())
    return pa.Table.from_batches(record_batches(result, schema), schema)


def test_batches_hold_at_most_so_many_rows(session: Session) -> None:
    result = session.execute("SELECT * FROM (VALUES (1), (2), (3)) AS t(a)")
    assert result.batches is not None
    assert [b.column(0).to_pylist() for b in result.batches(2)] == [[1, 2], [3]]


def test_other_results_have_rows_only(session: Session) -> None:
    assert session.execute("SHOW DATABASES").batches is None


def test_types_are_those_of_the_columns(session: Session) -> None:
    found = table(
        session, "SELECT CAST(1 AS TINYINT) a, SUM(CAST(2 AS BIGINT)) b, DATE '2024-01-02' c, ARRAY['x'] d, NULL e"
    )
    assert found.to_pylist() == [{"a": 1, "b": 2, "c": date(2024, 1, 2), "d": ["x"], "e": None}]
    assert [str(t) for t in found.schema.types] == ["int8", "int64", "date32[day]", "list<item: string>", "null"]


def test_an_instant_is_in_utc(session: Session) -> None:
    session.execute("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    found = table(session, "SELECT CAST(TIMESTAMP '2024-01-02 09:00:00' AS TIMESTAMP_LTZ(6)) AS t")
    assert str(found.schema.types[0]) == "timestamp[us, tz=UTC]"
    assert found.cast(pa.schema([("t", pa.int64())])).to_pylist() == [{"t": 1704153600000000}]


def test_an_error_on_the_way_is_ours(session: Session) -> None:
    with pytest.raises(BergError) as caught:
        table(session, "SELECT CAST(a AS INT) FROM (VALUES ('1'), ('x')) AS t(a)")
    assert caught.value.code is ErrorCode.EXECUTION
