"""What statements of every family are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import Span

if TYPE_CHECKING:
    from sqlglot import expressions as exp


class Name(NamedTuple):
    """A dotted name as written: ``catalog.db.table``, ``db.table`` or ``table``."""

    parts: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        return ".".join(self.parts)


class Option(NamedTuple):
    """A ``'key'='value'`` pair of WITH, TBLPROPERTIES, OPTIONS or a hint."""

    key: str
    value: str
    span: Span


class TableHint(NamedTuple):
    """``/*+ OPTIONS('k'='v') */`` behind the table reference that ends at ``after`` (an offset in the statement)."""

    after: int
    options: tuple[Option, ...]
    span: Span


class Expression(NamedTuple):
    """A scalar expression: its text and sqlglot's tree of it. ``hints`` are those of the queries in it."""

    text: str
    span: Span
    ast: exp.Expr
    hints: tuple[TableHint, ...] = ()


class Query(NamedTuple):
    """A SELECT, VALUES, WITH or set operation: its text and sqlglot's tree of it."""

    text: str
    span: Span
    ast: exp.Expr
    hints: tuple[TableHint, ...] = ()


class LikePattern(NamedTuple):
    """``[NOT] {LIKE | ILIKE} 'text'`` of a SHOW statement."""

    text: str
    negated: bool = False
    any_case: bool = False
    """ILIKE. Spark's LIKE takes any case too."""


class Statement:
    """The root of all statements."""

    __slots__ = ()
