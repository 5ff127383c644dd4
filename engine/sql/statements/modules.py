"""Flink's statements on what an engine loads: modules and jars."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Option, Statement


@dataclass(frozen=True, slots=True)
class ShowModules(Statement):
    """``SHOW MODULES``: those in use; ``SHOW FULL MODULES``: those that are loaded."""

    full: bool = False


@dataclass(frozen=True, slots=True)
class LoadModule(Statement):
    name: str
    span: Span
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class UnloadModule(Statement):
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class UseModules(Statement):
    modules: tuple[tuple[str, Span], ...]


@dataclass(frozen=True, slots=True)
class ShowJars(Statement):
    """``SHOW JARS`` and Spark's ``LIST JARS``."""


@dataclass(frozen=True, slots=True)
class ChangeJars(Statement):
    """``ADD JAR`` and ``REMOVE JAR``."""

    verb: str
