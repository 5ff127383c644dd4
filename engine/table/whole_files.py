"""Data files all of whose rows a condition takes: a DELETE only drops them, COUNT(*) only counts them.

Nothing is judged in a way of its own: what is left out when the rows are looked for that the condition does *not* take
holds none of these. So all that planning knows tells here too: partition values of every spec, bounds, counts of NULLs
and NaNs; and what is not known makes no file whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.table.planning import plan_files
from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.read_point import ReadPoint


def whole_files(
    tasks: Sequence[FileTask], others: Predicate, metadata: TableMetadata, point: ReadPoint, storage: Storage
) -> tuple[FileTask, ...]:
    """Those of ``tasks``, which are read at ``point``, that hold no row of ``others``.

    ``others`` is what is known of each row for which a condition is FALSE or NULL, and which it therefore does not
    take: the second of ``pushdown.outcomes``. It may be weaker than that, never stronger; then fewer files are whole.
    """
    if isinstance(others, AlwaysFalse):
        return tuple(tasks)
    if isinstance(others, AlwaysTrue) or not tasks:
        return ()
    mixed = {t.data_file.path for t in plan_files(metadata, point, others, storage).tasks}
    return tuple(t for t in tasks if t.data_file.path not in mixed)
