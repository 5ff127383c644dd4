"""Constants of a statement worked out: a DEFAULT, the values of PARTITION (…)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.duck import duckdb, set_variables
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.plan.query import QueryPlan

if TYPE_CHECKING:
    from bergsql.engine.definitions import ViewStandpoint
    from bergsql.engine.session import Session


def constants(
    session: Session | ViewStandpoint,
    expressions: Sequence[str],
    plan: QueryPlan | None = None,
    variables: Mapping[str, object] | None = None,
) -> tuple[object, ...]:
    """The values of SQL expressions that read no columns; ``plan`` is what they belong to, for errors.

    ``variables`` are those of the tables that their subqueries read.

    :raises BergError: when one of them fails.
    """
    cursor = session.duck.cursor()
    try:
        set_variables(cursor, variables or {})
        row: tuple[object, ...] = cursor.execute(f"SELECT {', '.join(expressions)}").fetchall()[0]
    except duckdb.Error as error:
        raise from_duckdb_error(error, plan or QueryPlan("", (), (), {})) from error
    finally:
        session.duck.done(cursor)
    return row
