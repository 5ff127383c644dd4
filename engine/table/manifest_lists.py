"""Reading manifest lists: the manifests of a snapshot, of all format versions (spec, "Manifest Lists")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bergsql.engine.table import avro
from bergsql.engine.table.avro_columns import Columns, Cutter, Layout, cutter_for
from bergsql.engine.table.datafile import FieldSummary, ManifestContent, ManifestFile
from bergsql.engine.table.manifest_memory import load, memory
from bergsql.engine.table.manifest_schemas import manifest_list_ids, manifest_list_schema, summary_ids

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

MOST_MANIFESTS = 1_000_000
"""How many manifests a list may have: many times what any writer puts there."""

_UNPACKED = 16
"""About how many bytes a byte of a list stands for in memory."""

_CONTENTS = frozenset((None, ManifestContent.DATA, ManifestContent.DELETES))
_LIST_IDS = manifest_list_ids()
_OLD_LIST_NAMES = {"added_data_files_count": 504, "existing_data_files_count": 505, "deleted_data_files_count": 506}
"""What the first writers called some fields."""
_LIST_LAYOUT = Layout(
    alone=frozenset((500, 501, 507)),
    names=(*_LIST_IDS.items(), *_OLD_LIST_NAMES.items(), *summary_ids().items()),
)


def read_manifest_list(storage: Storage, snapshot: Snapshot, metadata: TableMetadata) -> tuple[ManifestFile, ...]:
    """The manifests of a snapshot, in order. Raises NOT_FOUND or CORRUPT naming the file and the snapshot."""
    if snapshot.manifest_list is None:
        return tuple(_lone_manifest(storage, path, snapshot) for path in snapshot.manifests or ())
    path = snapshot.manifest_list
    what = f"Manifest list {path} of snapshot {snapshot.snapshot_id}"
    cached = memory.get(_key(path, metadata))
    if isinstance(cached, tuple):
        return cached
    container = avro.read_container(load(storage, path, what), what)
    try:
        cutter = cutter_for(container.schema, _LIST_LAYOUT)
        cutter.check(_expected_list())
        columns = cutter.cut(container.blocks, MOST_MANIFESTS)
        found = tuple(_manifest_files(cutter, columns))
    except Exception as e:  # whatever garbage makes of a number, a text or a schema
        raise avro.corrupt(what, avro.reason(e)) from e
    if not found and snapshot.summary.get("total-data-files", "0") != "0":
        raise avro.corrupt(what, "it lists no manifest of a snapshot that has data files")
    memory.put(_key(path, metadata), found, 4 * columns.weight)
    return found


def remember_manifest_list(path: str, manifests: Sequence[ManifestFile], metadata: TableMetadata, size: int) -> None:
    """Keep in memory the manifests, as listed, of a list that was just written to ``path``, of ``size`` bytes."""
    memory.put(_key(path, metadata), tuple(manifests), _UNPACKED * size)


def _key(path: str, metadata: TableMetadata) -> tuple[object, ...]:
    return path, "list", metadata.table_uuid


def _manifest_files(cutter: Cutter, columns: Columns) -> Iterator[ManifestFile]:
    values = [v or [None] * columns.count for v in cutter.fields(columns, tuple(_LIST_IDS.values()))]
    place = {i: at for at, i in enumerate(_LIST_IDS)}
    for name in ("manifest_path", "manifest_length", "partition_spec_id"):
        if not all(isinstance(v, str if name == "manifest_path" else int) for v in values[place[name]]):
            raise ValueError("a required field is missing")
    if not _CONTENTS.issuperset(values[place["content"]]):
        raise ValueError("a manifest is neither of data files nor of delete files")
    for name in ("content", "sequence_number", "min_sequence_number"):
        values[place[name]] = [v or 0 for v in values[place[name]]]
    summaries = place["partitions"]
    if columns.count and any(values[summaries]):
        order = cutter.parts(_LIST_IDS["partitions"], tuple(summary_ids().values()))
        values[summaries] = [None if v is None else tuple(_summary(s, order) for s in v) for v in values[summaries]]
    else:
        values[summaries] = [None if v is None else () for v in values[summaries]]
    return map(ManifestFile, *values)


def _summary(values: tuple[Any, ...], order: Sequence[int | None]) -> FieldSummary:
    null, nan, lower, upper = (None if at is None else values[at] for at in order)
    return FieldSummary(null is not False, nan, lower, upper)


def _lone_manifest(storage: Storage, path: str, snapshot: Snapshot) -> ManifestFile:
    """A manifest that v1 metadata names directly: all that is known is in its own header."""
    what = f"Manifest {path} of snapshot {snapshot.snapshot_id}"
    data = load(storage, path, what)
    spec_id = avro.read_container(data, what).metadata.get("partition-spec-id", b"0")
    if not spec_id.isdigit():
        raise avro.corrupt(what, "a required field is missing")
    return ManifestFile(path, len(data), int(spec_id), added_snapshot_id=snapshot.snapshot_id)


@lru_cache(maxsize=1)
def _expected_list() -> Cutter:
    """The types of the fields of manifest lists."""
    return Cutter(manifest_list_schema(3).encode(), _LIST_LAYOUT)
