"""What statements of every family are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bergsql.catalog.errors import Span

if TYPE_CHECKING:
    from sqlglot import expressions as exp


@dataclass(frozen=True, slots=True)
class Name:
    """A dotted name as written: ``catalog.db.table``, ``db.table`` or ``table``."""

    parts: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Option:
    """A ``'key'='value'`` pair of WITH, TBLPROPERTIES, OPTIONS or a hint."""

    key: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Expression:
    """A scalar expression: its text and sqlglot's tree of it."""

    text: str
    span: Span
    ast: exp.Expr = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableHint:
    """``/*+ OPTIONS('k'='v') */`` behind the table reference that ends at ``after`` (an offset in the statement)."""

    after: int
    options: tuple[Option, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT, VALUES, WITH or set operation: its text and sqlglot's tree of it."""

    text: str
    span: Span
    ast: exp.Expr = field(compare=False, repr=False)
    hints: tuple[TableHint, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """The root of all statements."""


@dataclass(frozen=True, slots=True)
class Unsupported(Statement):
    """A form that is recognised and refused by name when it is executed."""

    form: str
    span: Span
    hint: str | None = None
