"""Every form that the documentation of Iceberg has for Flink and Spark is read in both flavours, never a syntax error."""

from __future__ import annotations

import pytest

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import Statement
from tests.support.checklist import FLINK, SPARK


@pytest.mark.parametrize("flavour", Flavour)
@pytest.mark.parametrize("sql", [*FLINK, *SPARK])
def test_a_form_is_read(sql: str, flavour: Flavour) -> None:
    assert isinstance(parse(sql, flavour), Statement)
