"""Statements carried out: one file a family, found by the statement's class and imported when first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError
from bergsql.engine.result import Result

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Statement

HANDLERS: dict[str, str] = {
    "Set": "settings.set_value",
    "Reset": "settings.reset",
    "CreateCatalog": "catalogs.create",
    "AlterCatalog": "catalogs.alter",
    "DropCatalog": "catalogs.drop",
    "UseCatalog": "catalogs.use",
    "DescribeCatalog": "catalogs.describe",
    "ShowCatalogs": "catalogs.show",
    "ShowCurrentCatalog": "catalogs.show_current",
    "ShowCreateCatalog": "catalogs.show_create",
    "CreateDatabase": "databases.create",
    "AlterDatabase": "databases.alter",
    "DropDatabase": "databases.drop",
    "UseDatabase": "databases.use",
    "DescribeDatabase": "databases.describe",
    "ShowDatabases": "databases.show",
    "ShowCurrentDatabase": "databases.show_current",
    "ShowCreateDatabase": "databases.show_create",
    "CreateTable": "create_table.create",
    "DropTable": "tables.drop",
    "ShowTables": "tables.show",
    "ShowTableExtended": "tables.show_extended",
    "CommentOnTable": "comments.on_table",
    "CommentOnColumn": "comments.on_column",
    "ShowColumns": "columns.show",
    "ShowPartitions": "partitions.show",
    "DescribeQuery": "describe.describe_query",
    "Describe": "describe.describe",
    "ShowCreateTable": "show_create.show_create",
    "ShowTableProperties": "show_create.show_properties",
    "AlterTable": "alter_table.alter",
    "CreateView": "views.create",
    "AlterView": "views.alter",
    "DropView": "views.drop",
    "ShowViews": "views.show",
    "ShowCreateView": "views.show_create",
    "CreateFunction": "functions.create",
    "AlterFunction": "functions.alter",
    "DropFunction": "functions.drop",
    "ShowFunctions": "functions.show",
    "DescribeFunction": "functions.describe",
    "Select": "select.select",
    "Explain": "explain.explain",
    "Insert": "insert.insert",
    "Delete": "row_changes.change_rows",
    "Update": "row_changes.change_rows",
    "Merge": "row_changes.change_rows",
    "Truncate": "truncate.truncate",
    "StatementSet": "statement_set.run",
    "ShowModules": "modules.show",
    "LoadModule": "modules.load",
    "UnloadModule": "modules.unload",
    "UseModules": "modules.use",
    "ShowJars": "modules.show_jars",
    "ChangeJars": "modules.change_jars",
    "ShowJobs": "jobs.show",
    "DescribeJob": "jobs.describe",
    "StopJob": "jobs.stop",
    "ShowProcedures": "procedures.show",
    "AnalyzeTable": "upkeep.analyze",
    "AnalyzeTables": "upkeep.analyze_all",
    "RefreshTable": "upkeep.refresh",
    "RepairTable": "upkeep.repair",
    "CacheTable": "upkeep.cache",
    "ClearCache": "upkeep.clear",
    "Unsupported": "unsupported.refuse",
}
"""Where each class of statement is carried out: a module here and a function in it."""


def at_target(error: BergError, statement: Statement) -> BergError:
    """``error``, if it has no place of its own, at the name of the table that ``statement`` writes to."""
    target = getattr(statement, "target", None)
    return error if target is None else error.at(target.span)


def carry_out(session: Session, statement: Statement) -> Result:
    """Run a statement. What fails behind its planning, as writing or committing does, is marked at its target."""
    try:
        return handler(statement)(session, statement)
    except BergError as error:
        at_target(error, statement)
        raise


def handler(statement: Statement) -> Callable[[Session, Any], Result]:
    """The function that carries out ``statement``."""
    module, _, function = HANDLERS[type(statement).__name__].partition(".")
    run: Callable[[Session, Any], Result] = getattr(import_module(f"{__name__}.{module}"), function)
    return run
