"""A bound expression: DuckDB SQL with its type, as planning builds it from a parsed tree.

Planning writes DuckDB's SQL itself, node by node. So a node, a function or a table that planning does not know never
reaches DuckDB, and the type of every expression is known where a flavour's meaning depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.engine.plan.records import Record
from bergsql.engine.sql.types import DataType

if TYPE_CHECKING:
    from bergsql.engine.plan.context import OutputColumn
    from bergsql.engine.plan.images import Image
    from bergsql.engine.plan.scope import SourceColumn
    from bergsql.engine.plan.truth import Truth

NOT_CONSTANT: Final = object()
"""Marks a bound expression whose value is not known while planning."""


class Origin(NamedTuple):
    """The column of a scan (or a field of it) that an expression is, unchanged: what a pushed predicate may be about.

    ``path`` are the names of the column and of the fields in it: a name may hold dots.
    """

    slot: int
    path: tuple[str, ...]

    @property
    def column(self) -> str:
        return self.path[0]

    @property
    def name(self) -> str:
        """The full name, as Iceberg knows fields by it."""
        return ".".join(self.path)


class Bound(Record):
    """``sql`` stands alone (it is in parentheses where it must be).

    text
        Spark's text of it: the name of an unnamed column.
    constant
        The value of a literal, as :data:`bergsql.engine.result.Row` has it (dates and times included).
    name
        The name of the column or field it is, if it is one.
    images
        The columns of scans that it is computed from by monotonic steps (:mod:`bergsql.engine.plan.images`), where it
        is not simply ``origin``.
    truth
        What a condition says of scans (:mod:`bergsql.engine.plan.truth`), None for nothing.
    equal
        Pairs of columns that are equal where this condition is true.
    fixed
        True where it is computed from constants alone.
    volatile
        True for what TRY refuses: two evaluations may differ (``rand()``), it raises an error of ours, it aggregates or
        is a subquery.
    equality
        Of ``a = literal``: both sides' SQL and what the literal is of, so that a long chain of ORs may become an IN.
    ring
        The parts of a chain of integer arithmetic (:data:`bergsql.engine.plan.integers.Ring`).
    """

    __slots__ = (
        "constant",
        "equal",
        "equality",
        "fixed",
        "images",
        "name",
        "nullable",
        "origin",
        "ring",
        "sql",
        "text",
        "truth",
        "type",
        "volatile",
    )

    def __init__(
        self,
        sql: str,
        type: DataType,
        text: str,
        nullable: bool = True,
        constant: object = NOT_CONSTANT,
        name: str | None = None,
        origin: Origin | None = None,
        volatile: bool = False,
        ring: tuple[str, str] | None = None,
    ) -> None:
        self.sql = sql
        self.type = type
        self.text = text
        self.nullable = nullable
        self.constant = constant
        self.name = name
        self.origin = origin
        self.images: tuple[Image, ...] = ()
        self.truth: Truth | None = None
        self.equal: tuple[tuple[Origin, Origin], ...] = ()
        self.fixed = constant is not NOT_CONSTANT
        self.equality: tuple[str, str, DataType] | None = None
        self.volatile = volatile
        self.ring = ring

    @classmethod
    def of(
        cls,
        sql: str,
        type: DataType,
        text: str,
        *operands: Bound,
        nullable: bool | None = None,
        name: str | None = None,
        volatile: bool = False,
    ) -> Bound:
        """What is computed from ``operands``: volatile when one of them is, and NULL (unless ``nullable`` says better)
        only when one of them is."""
        made = cls(
            sql,
            type,
            text,
            any(o.nullable for o in operands) if nullable is None else nullable,
            name=name,
            volatile=volatile or any(o.volatile for o in operands),
        )
        made.fixed = bool(operands) and all(o.fixed for o in operands)
        return made

    @property
    def is_constant(self) -> bool:
        return self.constant is not NOT_CONSTANT

    @property
    def is_null(self) -> bool:
        return self.constant is None


def images_of(bound: Bound | OutputColumn | SourceColumn) -> tuple[Image, ...]:
    """What columns the expression is an image of: one, or one a branch of a UNION."""
    if bound.images or bound.origin is None:
        return bound.images
    from bergsql.engine.plan.images import Image

    return (Image(bound.origin, bound.type),)
