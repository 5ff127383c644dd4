"""What a function is: its parameters, its result and its DuckDB SQL, as data.

``parameters`` is a string of codes, one a parameter:

=====  ==================================================================================================
``t``  text (other atomic types are written out)
``i``  INT          ``l``  BIGINT          ``d``  DOUBLE          ``b``  BOOLEAN          ``x``  bytes
``n``  any number (Spark reads text as DOUBLE)            ``I``  any integer
``N``  any number or an interval
``D``  DATE         ``S``  a timestamp of either kind (dates and text become one)
``T``  a timestamp of either kind or a time of day
``a``  anything     ``c``  anything; all ``c`` arguments take their common type
``o``  text or bytes                  ``h``  an integer, text or bytes
``A``  an array     ``M``  a map            ``z``  either of them
``C``  an array; all ``C`` arguments take their common type
=====  ==================================================================================================

``?`` behind a code: may be left out; ``*``: any number of them; ``+``: one or more.

``result`` is a type, the index of the argument whose type it is, ``"c"`` for the common type, or a function of the
bound arguments. ``sql`` is a template (``{0}`` the first argument, ``{*}`` all of them) or a function that gives the
SQL (or a whole :class:`Bound`). ``flavours`` is ``"f"``, ``"s"`` or ``"fs"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.types import DataType

    Result = DataType | int | str | Callable[[Sequence[Bound]], DataType]
    Maker = Callable[[list[Bound], Context], str | Bound]
    Call = Callable[..., str]
    Builder = Callable[[Call, list[Bound], Context], str]


class Scalar(NamedTuple):
    """A function of one row."""

    name: str
    flavours: str
    parameters: str
    result: Result
    sql: str | Maker
    volatile: bool = False
    defaults: tuple[str, ...] = ()
    """By place, what Spark's text of the call has for an argument that was left out."""


class Special(NamedTuple):
    """A function that binds its arguments itself."""

    name: str
    flavours: str
    bind: Callable[[exp.Expr, Context], Bound]


class Aggregate(NamedTuple):
    """A function of many rows. ``build(call, arguments, context)`` writes it, each ``call(name, *sql)`` with DISTINCT,
    ORDER BY, FILTER and OVER as they were written; a string is the name of DuckDB's function of the same arguments."""

    name: str
    flavours: str
    parameters: str
    result: Result
    build: str | Builder
    window_only: bool = False
    """True for ROW_NUMBER and its like: OVER must follow."""
    keeps_nulls: bool = True
    """False: rows whose first argument is NULL are left out."""
    may_ignore_nulls: bool = False
    """True where IGNORE NULLS may follow. ``call(name, *sql, ignore_nulls=True)`` leaves NULLs out unasked."""


Function = Scalar | Special | Aggregate
