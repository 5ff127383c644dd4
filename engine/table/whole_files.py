"""Data files all of whose rows a condition takes: a DELETE only drops them, COUNT(*) only counts them.

Nothing is judged in a way of its own: what is left out when the rows are looked for that the condition does *not* take
holds none of these. So all that planning knows tells here too: partition values of every spec, bounds, counts of NULLs
and NaNs; and what is not known makes no file whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue
from bergsql.engine.table.pruning import Pruner

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.manifests import ManifestColumns
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.predicate import Predicate


class WholeFiles:
    """Looks, while files are planned, for those that hold no row of ``others``.

    ``others`` is what is known of each row for which a condition is FALSE or NULL, and which it therefore does not
    take: the second of ``pushdown.outcomes``. It may be weaker than that, never stronger; then fewer files are whole.
    """

    def __init__(self, metadata: TableMetadata, schema: Schema, others: Predicate) -> None:
        self._all, self._none = isinstance(others, AlwaysFalse), isinstance(others, AlwaysTrue)
        self._pruner = None if self._all or self._none else Pruner(metadata, schema, others)
        self._mixed: set[str] = set()

    def look(self, columns: ManifestColumns, rows: Sequence[int]) -> None:
        """See to the files in some rows of a manifest, those that are read."""
        if self._pruner is not None and self._pruner.manifests((columns.manifest,), count=False):
            mixed = self._pruner.files(columns, rows)
            if mixed:
                self._mixed.update(columns.paths(mixed))

    def among(self, tasks: Sequence[FileTask]) -> tuple[FileTask, ...]:
        """Those of the files that are read, once all were looked at."""
        return () if self._none else tuple(t for t in tasks if t.data_file.path not in self._mixed)
