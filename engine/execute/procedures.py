"""SHOW PROCEDURES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.execute.like import like
from bergsql.engine.names import database_name, require_database
from bergsql.engine.result import Result, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.engine.session import Session

SYSTEM = "system"
"""The database that procedures are called in."""

PROCEDURES = (
    "add_files",
    "ancestors_of",
    "cherrypick_snapshot",
    "compute_partition_stats",
    "compute_table_stats",
    "create_changelog_view",
    "expire_snapshots",
    "fast_forward",
    "migrate",
    "publish_changes",
    "register_table",
    "remove_orphan_files",
    "rewrite_data_files",
    "rewrite_manifests",
    "rewrite_position_delete_files",
    "rewrite_table_path",
    "rollback_to_snapshot",
    "rollback_to_timestamp",
    "set_current_snapshot",
    "snapshot",
)
"""Iceberg's procedures (https://iceberg.apache.org/docs/latest/spark-procedures/)."""


def show(session: Session, statement: st.ShowProcedures) -> Result:
    """``SHOW PROCEDURES [IN catalog[.system]] [LIKE pattern]``: every catalog has them in its database ``system``."""
    catalog = session.catalog(session.current_catalog)
    namespace: tuple[str, ...] = (SYSTEM,)
    within = statement.within
    if within is not None and len(within.parts) == 1 and session.has_catalog(within.parts[0]):
        catalog = session.catalog(within.parts[0], within.span)
    elif within is not None:
        catalog, namespace = database_name(session, within.parts, within.span)
        if namespace != (SYSTEM,):
            require_database(catalog, namespace, within.span)
    names = like(statement.like, PROCEDURES if namespace == (SYSTEM,) else (), session.flavour)
    if session.flavour is Flavour.FLINK:
        result = listing(("procedure name",), [(name,) for name in names])
    else:
        rows = [(catalog.name, SYSTEM, name) for name in names]
        result = listing(("catalog", "namespace", "procedure_name"), list(rows))
    result.messages = ("They are known by name: CALL is not supported yet.",) if names else ()
    return result
