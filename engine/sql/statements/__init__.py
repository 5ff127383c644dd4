"""Every statement as a frozen value: what the parser gives and what execution takes.

A statement says what was written, not what it means: names are unresolved, types are as declared, option values may
hold ``${env:NAME}``. Spans are offsets in the statement's text, so that a later error can point at the word.

One file a family, loaded when a class of it is first asked for: making all classes would cost every start of the
shell thirty milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bergsql.engine.sql.statements.alter import AddColumn as AddColumn
    from bergsql.engine.sql.statements.alter import AddPartitionField as AddPartitionField
    from bergsql.engine.sql.statements.alter import AlterAction as AlterAction
    from bergsql.engine.sql.statements.alter import AlterTable as AlterTable
    from bergsql.engine.sql.statements.alter import ChangeColumn as ChangeColumn
    from bergsql.engine.sql.statements.alter import CommentOnColumn as CommentOnColumn
    from bergsql.engine.sql.statements.alter import CommentOnTable as CommentOnTable
    from bergsql.engine.sql.statements.alter import DropColumn as DropColumn
    from bergsql.engine.sql.statements.alter import DropIdentifierFields as DropIdentifierFields
    from bergsql.engine.sql.statements.alter import DropKey as DropKey
    from bergsql.engine.sql.statements.alter import DropPartitionField as DropPartitionField
    from bergsql.engine.sql.statements.alter import DropWatermark as DropWatermark
    from bergsql.engine.sql.statements.alter import Inapplicable as Inapplicable
    from bergsql.engine.sql.statements.alter import ModifyColumn as ModifyColumn
    from bergsql.engine.sql.statements.alter import OrderBy as OrderBy
    from bergsql.engine.sql.statements.alter import RenameColumn as RenameColumn
    from bergsql.engine.sql.statements.alter import RenameTable as RenameTable
    from bergsql.engine.sql.statements.alter import ReplaceColumns as ReplaceColumns
    from bergsql.engine.sql.statements.alter import SetIdentifierFields as SetIdentifierFields
    from bergsql.engine.sql.statements.alter import SetKey as SetKey
    from bergsql.engine.sql.statements.alter import SetLocation as SetLocation
    from bergsql.engine.sql.statements.alter import SetProperties as SetProperties
    from bergsql.engine.sql.statements.alter import SetWatermark as SetWatermark
    from bergsql.engine.sql.statements.alter import SetWriteOrder as SetWriteOrder
    from bergsql.engine.sql.statements.alter import UnsetProperties as UnsetProperties
    from bergsql.engine.sql.statements.base import Expression as Expression
    from bergsql.engine.sql.statements.base import LikePattern as LikePattern
    from bergsql.engine.sql.statements.base import Name as Name
    from bergsql.engine.sql.statements.base import Option as Option
    from bergsql.engine.sql.statements.base import Query as Query
    from bergsql.engine.sql.statements.base import Statement as Statement
    from bergsql.engine.sql.statements.base import TableHint as TableHint
    from bergsql.engine.sql.statements.catalogs import AlterCatalog as AlterCatalog
    from bergsql.engine.sql.statements.catalogs import CreateCatalog as CreateCatalog
    from bergsql.engine.sql.statements.catalogs import DescribeCatalog as DescribeCatalog
    from bergsql.engine.sql.statements.catalogs import DropCatalog as DropCatalog
    from bergsql.engine.sql.statements.catalogs import ShowCatalogs as ShowCatalogs
    from bergsql.engine.sql.statements.catalogs import ShowCreateCatalog as ShowCreateCatalog
    from bergsql.engine.sql.statements.catalogs import ShowCurrentCatalog as ShowCurrentCatalog
    from bergsql.engine.sql.statements.catalogs import UseCatalog as UseCatalog
    from bergsql.engine.sql.statements.databases import AlterDatabase as AlterDatabase
    from bergsql.engine.sql.statements.databases import CreateDatabase as CreateDatabase
    from bergsql.engine.sql.statements.databases import DescribeDatabase as DescribeDatabase
    from bergsql.engine.sql.statements.databases import DropDatabase as DropDatabase
    from bergsql.engine.sql.statements.databases import ShowCreateDatabase as ShowCreateDatabase
    from bergsql.engine.sql.statements.databases import ShowCurrentDatabase as ShowCurrentDatabase
    from bergsql.engine.sql.statements.databases import ShowDatabases as ShowDatabases
    from bergsql.engine.sql.statements.databases import UseDatabase as UseDatabase
    from bergsql.engine.sql.statements.explain import Explain as Explain
    from bergsql.engine.sql.statements.functions import AlterFunction as AlterFunction
    from bergsql.engine.sql.statements.functions import CreateFunction as CreateFunction
    from bergsql.engine.sql.statements.functions import DescribeFunction as DescribeFunction
    from bergsql.engine.sql.statements.functions import DropFunction as DropFunction
    from bergsql.engine.sql.statements.functions import FunctionParameter as FunctionParameter
    from bergsql.engine.sql.statements.functions import ShowFunctions as ShowFunctions
    from bergsql.engine.sql.statements.insert import Insert as Insert
    from bergsql.engine.sql.statements.insert import PartitionValue as PartitionValue
    from bergsql.engine.sql.statements.insert import StatementSet as StatementSet
    from bergsql.engine.sql.statements.jobs import DescribeJob as DescribeJob
    from bergsql.engine.sql.statements.jobs import ShowJobs as ShowJobs
    from bergsql.engine.sql.statements.jobs import StopJob as StopJob
    from bergsql.engine.sql.statements.merge import Merge as Merge
    from bergsql.engine.sql.statements.merge import MergeClause as MergeClause
    from bergsql.engine.sql.statements.modules import ChangeJars as ChangeJars
    from bergsql.engine.sql.statements.modules import LoadModule as LoadModule
    from bergsql.engine.sql.statements.modules import ShowJars as ShowJars
    from bergsql.engine.sql.statements.modules import ShowModules as ShowModules
    from bergsql.engine.sql.statements.modules import UnloadModule as UnloadModule
    from bergsql.engine.sql.statements.modules import UseModules as UseModules
    from bergsql.engine.sql.statements.procedures import ShowProcedures as ShowProcedures
    from bergsql.engine.sql.statements.queries import Select as Select
    from bergsql.engine.sql.statements.rowlevel import Assignment as Assignment
    from bergsql.engine.sql.statements.rowlevel import Delete as Delete
    from bergsql.engine.sql.statements.rowlevel import Update as Update
    from bergsql.engine.sql.statements.session import Reset as Reset
    from bergsql.engine.sql.statements.session import Set as Set
    from bergsql.engine.sql.statements.tables import ColumnDef as ColumnDef
    from bergsql.engine.sql.statements.tables import CreateTable as CreateTable
    from bergsql.engine.sql.statements.tables import Describe as Describe
    from bergsql.engine.sql.statements.tables import DescribeQuery as DescribeQuery
    from bergsql.engine.sql.statements.tables import DropTable as DropTable
    from bergsql.engine.sql.statements.tables import Like as Like
    from bergsql.engine.sql.statements.tables import PartitionColumn as PartitionColumn
    from bergsql.engine.sql.statements.tables import PartitionFilter as PartitionFilter
    from bergsql.engine.sql.statements.tables import PrimaryKey as PrimaryKey
    from bergsql.engine.sql.statements.tables import ShowColumns as ShowColumns
    from bergsql.engine.sql.statements.tables import ShowCreateTable as ShowCreateTable
    from bergsql.engine.sql.statements.tables import ShowPartitions as ShowPartitions
    from bergsql.engine.sql.statements.tables import ShowTableExtended as ShowTableExtended
    from bergsql.engine.sql.statements.tables import ShowTableProperties as ShowTableProperties
    from bergsql.engine.sql.statements.tables import ShowTables as ShowTables
    from bergsql.engine.sql.statements.tables import Transform as Transform
    from bergsql.engine.sql.statements.tables import Watermark as Watermark
    from bergsql.engine.sql.statements.truncate import Truncate as Truncate
    from bergsql.engine.sql.statements.unsupported import Unsupported as Unsupported
    from bergsql.engine.sql.statements.upkeep import AnalyzeTable as AnalyzeTable
    from bergsql.engine.sql.statements.upkeep import AnalyzeTables as AnalyzeTables
    from bergsql.engine.sql.statements.upkeep import CacheTable as CacheTable
    from bergsql.engine.sql.statements.upkeep import ClearCache as ClearCache
    from bergsql.engine.sql.statements.upkeep import RefreshTable as RefreshTable
    from bergsql.engine.sql.statements.upkeep import RepairTable as RepairTable
    from bergsql.engine.sql.statements.views import AlterView as AlterView
    from bergsql.engine.sql.statements.views import CreateView as CreateView
    from bergsql.engine.sql.statements.views import DropView as DropView
    from bergsql.engine.sql.statements.views import SetQuery as SetQuery
    from bergsql.engine.sql.statements.views import ShowCreateView as ShowCreateView
    from bergsql.engine.sql.statements.views import ShowViews as ShowViews
    from bergsql.engine.sql.statements.views import ViewColumn as ViewColumn

_FAMILIES = {
    "base": "Name Option Expression TableHint Query LikePattern Statement",
    "session": "Set Reset",
    "catalogs": (
        "CreateCatalog AlterCatalog DropCatalog UseCatalog DescribeCatalog ShowCatalogs ShowCurrentCatalog "
        "ShowCreateCatalog"
    ),
    "databases": (
        "CreateDatabase AlterDatabase DropDatabase UseDatabase DescribeDatabase ShowDatabases ShowCurrentDatabase "
        "ShowCreateDatabase"
    ),
    "modules": "ShowModules LoadModule UnloadModule UseModules ShowJars ChangeJars",
    "jobs": "ShowJobs DescribeJob StopJob",
    "procedures": "ShowProcedures",
    "upkeep": "AnalyzeTable AnalyzeTables RefreshTable RepairTable CacheTable ClearCache",
    "tables": (
        "ColumnDef Watermark PrimaryKey Transform PartitionColumn Like CreateTable DropTable ShowTables "
        "PartitionFilter ShowTableExtended ShowColumns ShowPartitions Describe DescribeQuery ShowCreateTable "
        "ShowTableProperties"
    ),
    "alter": (
        "AlterAction SetProperties UnsetProperties SetLocation RenameTable Inapplicable AddColumn DropColumn "
        "RenameColumn ChangeColumn ModifyColumn ReplaceColumns SetKey DropKey SetIdentifierFields "
        "DropIdentifierFields SetWatermark DropWatermark AddPartitionField DropPartitionField OrderBy "
        "SetWriteOrder AlterTable CommentOnTable CommentOnColumn"
    ),
    "queries": "Select",
    "explain": "Explain",
    "functions": "FunctionParameter CreateFunction AlterFunction DropFunction ShowFunctions DescribeFunction",
    "insert": "PartitionValue Insert StatementSet",
    "merge": "Merge MergeClause",
    "rowlevel": "Assignment Delete Update",
    "truncate": "Truncate",
    "unsupported": "Unsupported",
    "views": "ViewColumn CreateView SetQuery AlterView DropView ShowViews ShowCreateView",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    try:
        family = _FAMILY_OF[name]
    except KeyError:
        raise AttributeError(name) from None
    return getattr(import_module(f"{__name__}.{family}"), name)
