"""Which delete files apply to which data files: as the specification says, one pair at a time, and without all pairs."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent, ManifestEntry
from bergsql.engine.table.delete_index import DELETE_FILE_PATH_ID, Applied, DeleteIndex, Thinning, distinct, kinds
from tests.support.planned import BY_P, PLAIN, VOID

METADATA: Any = type("Table", (), {"specs": (PLAIN, BY_P, VOID)})
SCOPES = [(PLAIN, ()), (BY_P, ("x",)), (BY_P, ("y",)), (VOID, (None,))]
PATHS = [f"/{n}" for n in "abcdef"]

scopes = st.sampled_from(SCOPES)
numbers = st.integers(1, 6)
bounds = st.one_of(st.none(), st.sampled_from(PATHS), st.just("/c\U0010ffff"))


@st.composite
def files(draw: st.DrawFn, content: FileContent) -> ManifestEntry:
    spec, partition = draw(scopes)
    file = DataFile(draw(st.sampled_from(PATHS)), 1, 1, partition=partition, spec_id=spec.spec_id, content=content)
    return ManifestEntry(EntryStatus.EXISTING, file, 1, draw(numbers))


@st.composite
def deletes(draw: st.DrawFn) -> ManifestEntry:
    entry = draw(files(draw(st.sampled_from([FileContent.POSITION_DELETES, FileContent.EQUALITY_DELETES]))))
    if entry.data_file.content == FileContent.EQUALITY_DELETES:
        return replace(entry, data_file=replace(entry.data_file, equality_ids=(1,)))
    lower, upper = draw(bounds), draw(bounds)
    changed = replace(
        entry.data_file,
        lower_bounds={} if lower is None else {DELETE_FILE_PATH_ID: lower.encode()},
        upper_bounds={} if upper is None else {DELETE_FILE_PATH_ID: upper.encode()},
        referenced_data_file=draw(st.one_of(st.none(), st.none(), st.sampled_from(PATHS))),
    )
    return replace(entry, data_file=changed)


def applies(delete: ManifestEntry, data: ManifestEntry) -> bool:
    """The rules of the specification ("Scan Planning") for one pair."""
    d, f = delete.data_file, data.data_file
    assert delete.sequence_number is not None
    assert data.sequence_number is not None
    same_scope = (d.spec_id, d.partition) == (f.spec_id, f.partition)
    if d.content == FileContent.EQUALITY_DELETES:
        return delete.sequence_number > data.sequence_number and (same_scope or d.spec_id != BY_P.spec_id)
    if delete.sequence_number < data.sequence_number:
        return False
    lower, upper = (b.get(DELETE_FILE_PATH_ID) for b in (d.lower_bounds, d.upper_bounds))
    name = f.path.encode()
    if (lower is not None and name < lower) or (upper is not None and name > upper):
        return False
    if d.referenced_data_file is not None:
        return d.referenced_data_file == f.path
    return same_scope or (lower is not None and lower == upper)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(deletes(), max_size=12), st.lists(files(FileContent.DATA), min_size=1, max_size=6))
def test_as_the_rules_say_of_each_pair(given_: list[ManifestEntry], data: list[ManifestEntry]) -> None:
    index = DeleteIndex(given_, METADATA)
    for file in data:
        found = index.for_file(file)
        assert {id(d) for d in found} == {id(d) for d in given_ if applies(d, file)}
        assert len(found) == len({id(d) for d in found})


def test_the_cost_follows_the_files() -> None:
    """10,000 data files and as many delete files, all in one partition: not a hundred million pairs."""
    n = 10_000

    def path(i: int) -> str:
        return f"/data/{i:06}.parquet"

    data = [ManifestEntry(0, DataFile(path(i), 1, 1), 1, 1) for i in range(n)]
    ranged = [
        DataFile(
            f"/d{i}", 1, 1, content=FileContent.POSITION_DELETES,
            lower_bounds={DELETE_FILE_PATH_ID: path(i).encode()}, upper_bounds={DELETE_FILE_PATH_ID: path(i + 1).encode()},
        )
        for i in range(n)
    ]  # fmt: skip
    equality = [DataFile(f"/e{i}", 1, 1, content=FileContent.EQUALITY_DELETES, equality_ids=(1,)) for i in range(n)]
    entries = [ManifestEntry(0, d, 1, 2) for d in (*ranged, *equality)]
    start = time.process_time()
    index = DeleteIndex(entries, METADATA)
    found = [index.for_file(f) for f in data[:200]]
    assert [len(f) for f in found] == [n + 1] + [n + 2] * 199
    only = DeleteIndex([e for e in entries if e.data_file.equality_ids], METADATA)
    alike = [only.for_file(f) for f in data]
    assert len({id(f.ends[0][0]) for f in alike if isinstance(f, Applied)}) == 1
    positions = DeleteIndex(entries[:n], METADATA)
    assert [len(positions.for_file(f)) for f in data] == [1] + [2] * (n - 1)
    assert time.process_time() - start < 5


def test_what_data_files_hold_does_not_grow_with_the_equality_deletes() -> None:
    """10,000 data files, each of its own sequence number, and 10,000 delete files: 50 million pairs."""
    count = 10_000
    kind = FileContent.EQUALITY_DELETES
    one = DataFile("/d", 1, 1, content=kind, equality_ids=(1,))
    entries = [ManifestEntry(EntryStatus.EXISTING, one, 1, n + 1) for n in range(count)]
    index = DeleteIndex(entries, METADATA)
    data = [ManifestEntry(EntryStatus.EXISTING, DataFile(f"/{n}", 1, 1), 1, n) for n in range(count)]
    tracemalloc.start()
    found = [index.for_file(entry) for entry in data]
    assert [len(f) for f in found] == list(range(count, 0, -1))
    assert len(distinct(found)) == count
    odd = Thinning(lambda d: (d.sequence_number or 0) % 2 == 1)
    thin = [odd(f) for f in found]
    assert [len(f) for f in thin] == [(count - n) // 2 + (n % 2 and (count - n) % 2) for n in range(count)]
    assert kinds(found[0]) == {kind}
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
