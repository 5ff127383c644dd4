"""Functions in Python: what their annotations mean, how they are called, and how they fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.python_types import arrow_type, signature_of
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.user_functions import row_wise
from tests.support.berg import Berg

MODULE = '''
from typing import Optional

def plus(a: int, b: int) -> int:
    return a + b

def hello(name: Optional[str]) -> str:
    """Greets."""
    return "nobody" if name is None else f"hello {name}"

def bad(a: int) -> int:
    raise ValueError(f"no {a}")

def wrong(a: int) -> int:
    return "x"

def scaled(a: int, by: int = 10, plus: int = 0) -> int:
    return a * by + plus
'''


def every_type(
    a: int, b: float, c: str, d: bool, e: bytes, f: Decimal, g: date, h: datetime, i: time, j: list[str]
) -> str | None:
    return repr((a, b, c, d, e, f, g, h, i, j))


def test_annotations_are_types() -> None:
    signature = signature_of(every_type)
    assert [flink_name(t) for t in signature.parameters] == [
        *("BIGINT", "DOUBLE", "STRING", "BOOLEAN", "BYTES", "DECIMAL(38, 18)", "DATE", "TIMESTAMP(6)", "TIME(6)"),
        "ARRAY<STRING>",
    ]
    assert flink_name(signature.result) == "STRING"
    assert all(arrow_type(t) for t in signature.parameters)


def no_result(a: int):  # type: ignore[no-untyped-def]
    return a


def no_parameter(a) -> int:  # type: ignore[no-untyped-def]
    return int(a)


def many(*a: int) -> int:
    return sum(a)


def a_dict(a: dict[str, int]) -> int:
    return len(a)


def either(a: int | str) -> int:
    return int(a)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_result, "type of its result"),
        (no_parameter, "parameter 'a' has no type"),
        (many, "parameter 'a' has no place"),
        (a_dict, "parameter 'a' is none"),
        (either, "parameter 'a' is none"),
    ],
)
def test_what_sql_has_no_type_for_is_refused_with_a_hint(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(BergError) as failure:
        signature_of(function)
    assert failure.value.code is ErrorCode.INVALID
    assert message in failure.value.message
    assert failure.value.hint


def called(function: Callable[..., Any], *rows: tuple[object, ...]) -> list[object]:
    """What DuckDB would get for rows of arguments."""
    arguments = pa.array([{f"a{i}": value for i, value in enumerate(row)} | {"given": len(row)} for row in rows])
    result: list[object] = row_wise("f", function, signature_of(function))(arguments).to_pylist()
    return result


def test_it_is_called_for_each_row_with_none_for_null() -> None:
    def shown(a: int | None, b: str | None) -> str | None:
        return None if b is None else f"{a} {b}"

    assert called(shown, (1, "x"), (None, "y"), (3, None)) == ["1 x", "None y", None]


def test_what_it_raises_and_a_result_of_another_type_are_told() -> None:
    def fails(a: int) -> int:
        return 1 // a

    def lies(a: int) -> int:
        return "x" if a else 1  # type: ignore[return-value]

    def overflows(a: int) -> int:
        return a << 70

    with pytest.raises(ValueError, match="bergsql-function f: ZeroDivisionError: integer division"):
        called(fails, (1,), (0,))
    with pytest.raises(ValueError, match="it gave 'x', which is not BIGINT"):
        called(lies, (0,), (1,))
    with pytest.raises(ValueError, match=r"it gave .*, which is not BIGINT"):
        called(overflows, (1,))


def with_module(berg: Berg) -> Berg:
    """A bergsql that finds the module ``shop``."""
    module = berg.home / "modules"
    module.mkdir()
    (module / "shop.py").write_text(MODULE, encoding="utf-8")
    path = ":".join(p for p in (str(module), os.environ.get("PYTHONPATH")) if p)
    return replace(berg, environment={"PYTHONPATH": path})


MAKE = "CREATE TEMPORARY FUNCTION {0} LANGUAGE PYTHON AS 'shop.{0}';"


def test_in_sql(berg: Berg) -> None:
    berg = with_module(berg)
    make = "CREATE FUNCTION plus AS 'shop.plus' LANGUAGE PYTHON;"
    done = berg.run(
        "--format", "csv", "-e", f"{make} SELECT plus(1, 2) AS n, plus(n, 1) AS m FROM (VALUES (5)) AS t(n)"
    )
    assert done.out.splitlines() == ["n,m", "3,6"], done.err
    script = MAKE.format("hello") + " SELECT hello(x) AS h FROM (VALUES ('x'), (CAST(NULL AS STRING))) AS t(x);"
    assert berg.run("--format", "csv", "-e", script).out.splitlines() == ["h", "hello x", "nobody"]
    assert "which is not BIGINT" in berg.run("-e", MAKE.format("wrong") + " SELECT wrong(7)").err


def test_what_it_raises_is_told_at_the_call(berg: Berg) -> None:
    done = with_module(berg).run("-e", MAKE.format("bad"), "-e", "SELECT 1, bad(7) FROM (VALUES (1)) AS t(a)")
    assert done.code == 1
    assert "Function bad failed: ValueError: no 7." in done.err
    assert "line 1, column 11" in done.err
    assert "Traceback" not in done.err


def test_parameters_with_defaults_may_be_left_out(berg: Berg) -> None:
    berg = with_module(berg)
    script = MAKE.format("scaled") + " SELECT scaled(2) AS a, scaled(2, 3) AS b, scaled(2, 3, CAST(1 AS BIGINT)) AS c;"
    done = berg.run("--format", "csv", "-e", script)
    assert done.out.splitlines() == ["a,b,c", "20,6,7"], done.err
    assert "takes 1 to 3 arguments, not 0" in berg.run("-e", MAKE.format("scaled") + " SELECT scaled()").err


def test_a_safe_session_has_none(berg: Berg) -> None:
    done = berg.run("--safe", "-e", "CREATE FUNCTION f AS 'math.sqrt' LANGUAGE PYTHON")
    assert done.code == 1
    assert "--safe" in done.err
