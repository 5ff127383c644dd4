"""Functions about the session: where it is, who runs it, and of what version it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BIGINT, STRING

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context


def _catalog(arguments: list[Bound], context: Context) -> Bound:
    name = context.planner.relations.current_catalog
    return Bound(string_literal(name), STRING, "", False, name)


def _database(arguments: list[Bound], context: Context) -> Bound:
    name = context.planner.relations.current_database
    return Bound(string_literal(name), STRING, "", False, name)


def _user(arguments: list[Bound], context: Context) -> str:
    import getpass

    return string_literal(getpass.getuser())


def _version(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.version import version

    return string_literal(f"bergsql {version()}")


def _increasing(arguments: list[Bound], context: Context) -> str:
    """The number of the row, from 0."""
    if not context.windows_allowed:
        raise BergError(
            ErrorCode.INVALID,
            f"MONOTONICALLY_INCREASING_ID cannot stand in {context.clause}.",
            hint="Compute it in a subquery, and use its column outside.",
        )
    return "(row_number() OVER () - 1)"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("monotonically_increasing_id", "s", "", BIGINT, _increasing, volatile=True),
    Scalar("current_catalog", "fs", "", STRING, _catalog),
    Scalar("current_database", "fs", "", STRING, _database),
    Scalar("current_schema", "s", "", STRING, _database),
    Scalar("current_user user session_user", "s", "", STRING, _user),
    Scalar("current_user session_user", "f", "", STRING, _user),
    Scalar("system_user", "f", "", STRING, _user),
    Scalar("version", "s", "", STRING, _version),
)
