"""What fails behind the planning of a statement that writes is marked at the name of its target."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.execute import at_target
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse


def test_error_without_a_place() -> None:
    for text in (
        "INSERT INTO t VALUES (1)",
        "INSERT OVERWRITE t VALUES (1)",
        "UPDATE t SET id = 1",
        "DELETE FROM t",
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE t",
    ):
        error = at_target(BergError(ErrorCode.IO, "Cannot write x: File too large."), parse(text, Flavour.FLINK))
        assert error.span is not None
        assert text[slice(*error.span)] == "t"


def test_other_errors_stay_as_they_are() -> None:
    statement = parse("DELETE FROM t WHERE id = 1", Flavour.FLINK)
    assert at_target(BergError(ErrorCode.TYPE, "Wrong.", span=Span(20, 22)), statement).span == Span(20, 22)
    assert at_target(BergError(ErrorCode.IO, "Gone."), parse("SELECT 1", Flavour.FLINK)).span is None
