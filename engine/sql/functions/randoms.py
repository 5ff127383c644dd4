"""Random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import common_type
from bergsql.engine.plan.sql_text import let_all
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DOUBLE, INT, INTEGERS, STRING

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.seeded import Draw


def _seed(name: str, given: Bound, context: Context) -> int:
    if given.is_null:
        return 0
    if not isinstance(given.constant, int) or isinstance(given.constant, bool):
        raise not_supported(f"{name} with a seed that is not a literal")
    if context.scope.sources and (not context.windows_allowed or context.inside_aggregate or context.variables):
        place = "inside an aggregate function" if context.inside_aggregate else f"in {context.clause}"
        if context.variables:
            place = "in a lambda"
        hint = "Compute it in a subquery, and use its column outside."
        raise not_supported(f"{name} with a seed {place}", None, hint)
    return given.constant


def _generator(seed: int, context: Context) -> Draw:
    from bergsql.engine.sql.functions import seeded

    return seeded.spark_bits(seed) if context.spark else seeded.java_bits(seed)


def _uniform_of(seed: int, context: Context, stream: int = 0) -> str:
    """From 0 to below 1: the engine's own number where there is one row, else made of the seed and the row's number.

    The engines' sequences follow each other number by number within a task; which rows a task has is not defined.
    """
    if not context.scope.sources:
        from bergsql.engine.sql.functions.seeded import next_double

        return f"CAST({next_double(_generator(seed, context))!r} AS DOUBLE)"
    return f"(CAST(hash(CAST({seed} AS BIGINT), {stream}, row_number() OVER ()) >> 11 AS DOUBLE) / 9007199254740992)"


def _random(arguments: list[Bound], context: Context) -> str:
    return _uniform_of(_seed("RAND", arguments[0], context), context) if arguments else "random()"


def _randn(arguments: list[Bound], context: Context) -> str:
    """Of the normal distribution, by Box and Muller."""
    first = second = "random()"
    if arguments:
        seed = _seed("RANDN", arguments[0], context)
        if not context.scope.sources:
            from bergsql.engine.sql.functions.seeded import next_gaussian

            return f"CAST({next_gaussian(_generator(seed, context))!r} AS DOUBLE)"
        first, second = _uniform_of(seed, context), _uniform_of(seed, context, 1)
    return f"(sqrt(-2 * ln(1 - {first})) * cos(2 * pi() * {second}))"


def _rand_integer(arguments: list[Bound], context: Context) -> str:
    """RAND_INTEGER([seed,] bound)"""
    *seeds, bound = arguments
    if not seeds:
        return f"CAST(floor(random() * {bound.sql}) AS INTEGER)"
    seed = _seed("RAND_INTEGER", seeds[0], context)
    if not context.scope.sources and isinstance(bound.constant, int):
        from bergsql.engine.sql.functions.seeded import next_below

        if bound.constant < 1:
            raise BergError(ErrorCode.INVALID, "The bound of RAND_INTEGER is above 0.")
        return f"CAST({next_below(_generator(seed, context), bound.constant)} AS INTEGER)"
    return f"CAST(floor({_uniform_of(seed, context)} * {bound.sql}) AS INTEGER)"


def _uniform(arguments: list[Bound], context: Context) -> Bound:
    """A number from the first to the second, of their common type; whole ones leave the second out."""
    from bergsql.engine.plan.casts import coerce

    drawn = _uniform_of(_seed("UNIFORM", arguments[2], context), context) if len(arguments) > 2 else "random()"
    type_ = common_type(arguments[0].type, arguments[1].type, context.flavour) or DOUBLE
    low, high = (coerce(a, type_, context) for a in arguments[:2])
    whole = "floor" if type_.kind in INTEGERS else ""
    sql = let_all(
        [low.sql, high.sql, drawn],
        lambda v: f"CAST({v[0]} + {whole}({v[2]} * ({v[1]} - {v[0]})) AS {duckdb_name(type_)})",
    )
    return Bound(sql, type_, "")


_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _randstr(arguments: list[Bound], context: Context) -> str:
    """Letters and digits, as many as a literal says."""
    if len(arguments) > 1:
        raise not_supported("RANDSTR with a seed", None, "Without it, RANDSTR gives another text each time.")
    count = arguments[0].constant
    if not isinstance(count, int) or not 0 <= count <= 65536:
        raise BergError(ErrorCode.INVALID, "The length of RANDSTR is a literal from 0 to 65536.")
    letter = f"substr('{_LETTERS}', 1 + CAST(floor(random() * {len(_LETTERS)}) AS INTEGER), 1)"
    return f"array_to_string(list_transform(range({count}), lambda i: {letter}), '')"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("rand random", "fs", "l?", DOUBLE, _random, volatile=True),
    Scalar("randn", "s", "l?", DOUBLE, _randn, volatile=True),
    Scalar("rand_integer", "f", "ii?", INT, _rand_integer, volatile=True),
    Scalar("randstr", "s", "il?", STRING, _randstr, volatile=True),
    Scalar("uniform", "s", "nnl?", DOUBLE, _uniform, volatile=True),
)
