"""Arithmetic and casts on columns, against Python's exact numbers and against what a literal gives."""

from __future__ import annotations

import struct
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.java_floats import double_text
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.plan.integers import wrap_int
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import Kind
from tests.support.planning import FLINK, SPARK, ask, connection, plan

FLAVOURS = st.sampled_from([FLINK, SPARK])
EXACT = Context(prec=120)


def edges(bits: int) -> st.SearchStrategy[int]:
    top = 1 << (bits - 1)
    return st.one_of(st.integers(-top, top - 1), st.sampled_from([-top, -top + 1, -1, 0, 1, top - 2, top - 1]))


KINDS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}


@given(st.data(), st.sampled_from(list(KINDS)), FLAVOURS)
@settings(max_examples=120, deadline=None)
def test_integers_wrap(data: st.DataObject, kind: Kind, flavour: Flavour) -> None:
    a, b, c = (data.draw(edges(KINDS[kind])) for _ in range(3))
    name = kind.value
    source = f"(VALUES (CAST({a} AS {name}), CAST({b} AS {name}), CAST({c} AS {name}))) AS t(a, b, c)"
    row = ask(f"SELECT a + b, a - b, a * b, a + b * c - a, -a, (a - b) * (b + c) FROM {source}", flavour).rows[0]
    exact = [a + b, a - b, a * b, a + b * c - a, -a, (a - b) * (b + c)]
    assert row == [wrap_int(v, kind) for v in exact]


@given(st.lists(st.one_of(st.none(), edges(64)), min_size=1, max_size=6), FLAVOURS)
@settings(max_examples=40, deadline=None)
def test_sums_wrap(values: list[int | None], flavour: Flavour) -> None:
    rows = ", ".join("(CAST(NULL AS BIGINT))" if v is None else f"(CAST({v} AS BIGINT))" for v in values)
    total = ask(f"SELECT SUM(x) FROM (VALUES {rows}) AS t(x)", flavour).rows[0][0]
    present = [v for v in values if v is not None]
    assert total == (wrap_int(sum(present), Kind.BIGINT) if present else None)


@given(edges(32), edges(32))
@settings(max_examples=60, deadline=None)
def test_integer_division(a: int, b: int) -> None:
    source = f"(VALUES (CAST({a} AS INT), CAST({b} AS INT))) AS t(a, b)"
    spark = ask(f"SELECT a / b, a div b, a % b FROM {source}", SPARK).rows[0]
    if b == 0:
        assert spark == [None, None, None]
        return
    whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert spark == [a / b, whole, a - whole * b]


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**digits - 1
    return st.integers(-top, top).map(lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale)))


TYPES = st.sampled_from([(5, 2), (9, 2), (9, 0), (18, 4), (15, 10), (20, 5), (28, 3), (38, 10), (3, 3)])


@given(st.data(), TYPES, TYPES, FLAVOURS)
@settings(max_examples=200, deadline=None)
def test_decimals(data: st.DataObject, x: tuple[int, int], y: tuple[int, int], flavour: Flavour) -> None:
    """Rounded half up to the scale of the result's type; NULL when that has too few digits."""
    a, b = data.draw(decimals(*x)), data.draw(decimals(*y))
    source = f"(VALUES (CAST({a:f} AS DECIMAL({x[0]},{x[1]})), CAST({b:f} AS DECIMAL({y[0]},{y[1]})))) AS t(a, b)"
    operators = "+-*/" if b else "+-*"
    answer = ask(f"SELECT {', '.join(f'a {o} b' for o in operators)} FROM {source}", flavour)
    for operator, written, type_ in zip(operators, answer.rows[0], answer.types, strict=True):
        precision, scale = (int(n) for n in type_[type_.index("(") + 1 : -1].split(","))
        exact = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide}[operator](a, b)
        wanted = exact.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, EXACT)
        if precision < 38:
            assert written is not None
            assert Decimal(written) == wanted, (operator, type_)
        elif written is None:
            assert abs(exact) > Decimal(10) ** (27 - scale)
        else:  # 38 digits are not enough for every intermediate: fifteen of them are right
            assert abs(Decimal(written) - wanted) <= max(abs(wanted) * Decimal("1e-14"), Decimal((0, (1,), -scale)))


def test_spark_divides_by_zero_to_null() -> None:
    sql = "select d / e, d % e, d div e from values (cast(1 as decimal(5,2)), cast(0 as decimal(5,2))) t(d, e)"
    assert ask(sql, SPARK).rows == [[None, None, None]]


@pytest.mark.parametrize(("digits", "scale"), [(9, 2), (18, 6), (30, 4)])
def test_an_average_of_decimals_is_exact(digits: int, scale: int) -> None:
    rows = ", ".join(f"(CAST({v} AS DECIMAL({digits},{scale})))" for v in ("0.01", "0.01", "0.02"))
    (spark,) = ask(f"select avg(x) from values {rows} t(x)", SPARK).rows[0]
    (flink,) = ask(f"SELECT AVG(x) FROM (VALUES {rows}) AS t(x)", FLINK).rows[0]
    for written in (spark, flink):
        exact = Decimal("0.04") / 3
        assert Decimal(written) == exact.quantize(Decimal(written), ROUND_HALF_UP)


# --- casts --------------------------------------------------------------------------------------------------------------

DOUBLES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(1e-5, 1e-2),
    st.floats(1e6, 1e8),
    st.sampled_from(
        [0.0, -0.0, 1e7, 9999999.0, 0.001, 0.00099, 5e-324, 1.7976931348623157e308, 1e16, 1e15, 123456789.123]
    ),
)


@given(st.lists(DOUBLES, min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_doubles_as_text(values: list[float]) -> None:
    sql = plan("select cast(d as string) from values (1e0) t(d)", SPARK).sql
    head = sql.partition(" FROM (VALUES")[0]
    with connection() as duck:
        duck.execute("CREATE TABLE t (d DOUBLE)")
        duck.executemany("INSERT INTO t VALUES (?)", [[v] for v in values])
        found = [row[0] for row in duck.execute(f"{head} FROM t").fetchall()]
    # The least double is written with two digits by Java, with one by DuckDB: both read back as it.
    assert [f.replace("5.0E-324", "4.9E-324") for f in found] == [double_text(v) for v in values]


@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["TINYINT", "SMALLINT", "INT", "BIGINT"]))
@settings(max_examples=100, deadline=None)
def test_doubles_as_integers(value: float, name: str) -> None:
    """Java's: cut off, NaN is 0, too large is the largest; the small types through INT."""
    text = (
        "NaN"
        if value != value
        else ("Infinity" if value > 0 else "-Infinity")
        if abs(value) == float("inf")
        else repr(value)
    )
    found = ask(f"select cast(d as {name}) from values (cast('{text}' as double)) t(d)", SPARK).rows[0][0]
    bits = 64 if name == "BIGINT" else 32
    top = 1 << (bits - 1)
    cut = 0 if value != value else top - 1 if value >= top else -top if value <= -top else int(value)
    assert found == wrap_int(cut, Kind[name])


TEXTS = [
    "1", " 12 ", "-5", "+7", "1.9", "-1.9", "1.", ".5", "", " ", "abc", "1e3", "1_000", "0x1", "1,5", "99999999999", "--1", "1 2",
    "NaN", "inf", "-Infinity", "1.255", "12345.6", "true", "T", "no", "0", "yes ", "2024-01-02", "2024-1-2", "2024", "2024-05",
    "2024-02-30", "2024-01-02 03:04:05", "2024-01-02T03:04:05.123456789", "2024-01-02 03:04:05Z", "2024-01-02 03:04:05+02:00",
    "2024-13-01", "20240102", "1999-12-31 23:59", "01:02:03", "\t9\n",
]  # fmt: skip


@pytest.mark.parametrize(
    "target", ["INT", "BIGINT", "TINYINT", "DOUBLE", "DECIMAL(5,2)", "BOOLEAN", "DATE", "TIMESTAMP(6)"]
)
@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_text_in_a_column_reads_as_a_literal_does(target: str, flavour: Flavour) -> None:
    """Literals are cast while planning, columns by DuckDB: the two agree on every text."""
    for text in TEXTS:
        quoted = "'" + text + "'"
        assert _cast(f"CAST({quoted} AS {target})", flavour) == _cast(
            f"CAST(x AS {target})", flavour, f" FROM (VALUES ({quoted})) AS t(x)"
        ), (text, target)


def _cast(expression: str, flavour: Flavour, source: str = "") -> Any:
    try:
        return ask(f"SELECT {expression}{source}", flavour).rows[0][0]
    except BergError as error:
        return "cannot be cast" in error.message
    except duckdb.Error as error:
        return "cannot be cast" in from_duckdb_error(error).message


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(max_examples=30, deadline=None)
def test_a_double_becomes_the_nearest_float(value: float) -> None:
    found = ask(f"select cast(d as float) from values (cast({value!r} as double)) t(d)", SPARK).rows[0][0]
    assert struct.pack("f", found) == struct.pack("f", value)
