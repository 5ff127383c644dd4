"""Statements that define, drop and list functions."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Expression, LikePattern, Name, Statement
from bergsql.engine.sql.types import DataType


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter of a function whose body is SQL."""

    name: str
    type: DataType
    span: Span
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class CreateFunction(Statement):
    """``place`` is the class, or of Python the module and name, that AS says; ``body`` the expression of RETURN."""

    name: Name
    place: str | None = None
    place_span: Span | None = None
    language: str = "JAVA"
    parameters: tuple[FunctionParameter, ...] = ()
    returns: DataType | None = None
    body: Expression | None = None
    comment: str | None = None
    replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    system: bool = False


@dataclass(frozen=True, slots=True)
class AlterFunction(Statement):
    """``ALTER [TEMPORARY [SYSTEM]] FUNCTION``: another place for what is there."""

    create: CreateFunction
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction(Statement):
    name: Name
    if_exists: bool = False
    temporary: bool = False
    system: bool = False


@dataclass(frozen=True, slots=True)
class ShowFunctions(Statement):
    """``kind``: "", USER, SYSTEM or ALL."""

    kind: str = ""
    database: Name | None = None
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class DescribeFunction(Statement):
    name: Name
    extended: bool = False
