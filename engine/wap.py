"""Write, audit, publish: what ``spark.wap.branch`` and ``spark.wap.id`` mean for a table (Iceberg, "Branching").

Both are asked only of tables with the property ``write.wap.enabled``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.read_point import ReadPoint

WAP_BRANCH, WAP_ID = "spark.wap.branch", "spark.wap.id"
WAP = "write.wap.enabled"


def wap_settings(setting: Callable[[str], str | None], metadata: TableMetadata) -> tuple[str | None, str | None]:
    """The branch and the id that are set for the table; None for what is not.

    :raises PropertyError: for ``write.wap.enabled`` that is neither true nor false: what is written must not go astray.
    """
    branch, wap_id = setting(WAP_BRANCH), setting(WAP_ID)
    if (branch is None and wap_id is None) or WAP not in metadata.properties:
        return None, None
    from bergsql.engine.table.properties import PropertyReader

    return (branch, wap_id) if PropertyReader(metadata.properties).boolean(WAP, False) else (None, None)


def audited_point(setting: Callable[[str], str | None], metadata: TableMetadata) -> ReadPoint | None:
    """The branch that is read in the place of the table's current state: the one that is written, once it is there."""
    branch, _ = wap_settings(setting, metadata)
    ref = None if branch is None else metadata.refs.get(branch)
    if branch is None or ref is None or not ref.is_branch:
        return None
    from bergsql.engine.table.read_point import at_reference

    return at_reference(metadata, branch)
