"""Random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import common_type
from bergsql.engine.plan.sql_text import let_all
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DOUBLE, INT, INTEGERS

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context


def _unseeded(name: str, given: list[Bound]) -> None:
    if given:
        raise not_supported(f"{name} with a seed", None, f"Without it, {name} gives other numbers each time.")


def _random(arguments: list[Bound], context: Context) -> str:
    _unseeded("RAND", arguments)
    return "random()"


def _randn(arguments: list[Bound], context: Context) -> str:
    """Of the normal distribution, by Box and Muller."""
    _unseeded("RANDN", arguments)
    return "(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))"


def _rand_integer(arguments: list[Bound], context: Context) -> str:
    _unseeded("RAND_INTEGER", arguments[1:])
    return f"CAST(floor(random() * {arguments[0].sql}) AS INTEGER)"


def _uniform(arguments: list[Bound], context: Context) -> Bound:
    """A number from the first to the second, of their common type; whole ones leave the second out."""
    from bergsql.engine.plan.casts import coerce

    _unseeded("UNIFORM", arguments[2:])
    type_ = common_type(arguments[0].type, arguments[1].type, context.flavour) or DOUBLE
    low, high = (coerce(a, type_, context) for a in arguments[:2])
    whole = "floor" if type_.kind in INTEGERS else ""
    sql = let_all(
        [low.sql, high.sql],
        lambda v: f"CAST({v[0]} + {whole}(random() * ({v[1]} - {v[0]})) AS {duckdb_name(type_)})",
    )
    return Bound(sql, type_, "")


FUNCTIONS: tuple[Function, ...] = (
    Scalar("rand random", "fs", "l?", DOUBLE, _random, volatile=True),
    Scalar("randn", "s", "l?", DOUBLE, _randn, volatile=True),
    Scalar("rand_integer", "f", "ii?", INT, _rand_integer, volatile=True),
    Scalar("uniform", "s", "nnl?", DOUBLE, _uniform, volatile=True),
)
