"""What is said of a value that is not stored in a column: a CAST where there is one, and nothing that cannot help."""

from __future__ import annotations

import pytest

from bergsql.engine.plan.casts import cast_hint
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import BIGINT, INT, NULL, STRING, DataType, Field, Kind
from tests.support.planning import FLINK, SPARK, Tables

DATE = DataType(Kind.DATE)


def _row(*types: DataType) -> DataType:
    return DataType(Kind.ROW, children=tuple(Field(f"f{i}", t) for i, t in enumerate(types)))


@pytest.mark.parametrize(
    ("source", "target", "flavour", "hint"),
    [
        (STRING, DATE, FLINK, "CAST(… AS DATE) converts it."),
        (STRING, INT, SPARK, "CAST(… AS int) converts it."),
        (BIGINT, DATE, FLINK, None),
        (BIGINT, DATE, SPARK, None),
        (_row(STRING), _row(INT), FLINK, "CAST(… AS ROW<`f0` INT>) converts it."),
        (_row(INT, INT), _row(INT), FLINK, None),
        (INT, _row(INT), SPARK, None),
        (STRING, NULL, SPARK, "Only NULL can be stored there."),
    ],
)
def test_hint(source: DataType, target: DataType, flavour: Flavour, hint: str | None) -> None:
    context = Context(Planner(Tables(flavour)), Scope(flavour), "a test")
    assert cast_hint(source, target, context) == hint
