"""Which delete files apply to which data file (spec, "Scan Planning")."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, overload

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.datafile import DataFile, FileContent, ManifestEntry, partition_key

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata

DELETE_FILE_PATH_ID = 2147483546
"""The field id of ``file_path`` in position delete files."""


PUFFIN = "PUFFIN"
"""The format of deletion vectors."""


def is_vector(entry: ManifestEntry) -> bool:
    """Whether a delete file by position is a deletion vector."""
    return entry.data_file.format == PUFFIN


def is_equality(entry: ManifestEntry) -> bool:
    """Whether it is an equality delete file."""
    return entry.data_file.content == FileContent.EQUALITY_DELETES


Deletes = Sequence[ManifestEntry]
"""The delete files that apply to a data file: position deletes first."""


class Applied(Sequence[ManifestEntry]):
    """Position deletes of one data file, and the ends of sequences of equality deletes that many data files share.

    So what thousands of data files hold grows with their number alone, not with that of the equality deletes as well.
    """

    __slots__ = ("ends", "own")

    def __init__(self, own: Deletes, ends: tuple[tuple[Deletes, int], ...]) -> None:
        """Each end is a shared sequence and where in it the deletes of this data file begin; none is empty."""
        self.own, self.ends = own, ends

    def __len__(self) -> int:
        return len(self.own) + sum(len(shared) - start for shared, start in self.ends)

    def __iter__(self) -> Iterator[ManifestEntry]:
        yield from self.own
        for shared, start in self.ends:
            yield from map(shared.__getitem__, range(start, len(shared)))

    @overload
    def __getitem__(self, index: int) -> ManifestEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Deletes: ...
    def __getitem__(self, index: int | slice) -> ManifestEntry | Deletes:
        return tuple(self)[index]


def distinct(deletes: Iterable[Deletes]) -> list[ManifestEntry]:
    """The delete files that apply to some of many data files, each once."""
    found: dict[int, ManifestEntry] = {}
    ends: dict[int, tuple[Deletes, int]] = {}
    for applying in deletes:
        own = applying
        if isinstance(applying, Applied):
            own = applying.own
            for end in applying.ends:
                known = ends.get(id(end[0]))
                if known is None or end[1] < known[1]:
                    ends[id(end[0])] = end
        found.update(zip(map(id, own), own, strict=True))
    for shared, start in ends.values():
        found.update((id(d), d) for d in shared[start:])
    return list(found.values())


def kinds(deletes: Deletes) -> frozenset[int]:
    """What kinds of delete files there are among those of a data file."""
    if isinstance(deletes, Applied):
        return frozenset(d.data_file.content for d in deletes.own) | {FileContent.EQUALITY_DELETES}
    return frozenset(d.data_file.content for d in deletes)


def positional(deletes: Deletes) -> Deletes:
    """The position deletes and deletion vectors among those of a data file."""
    own = deletes.own if isinstance(deletes, Applied) else deletes
    return [d for d in own if d.data_file.content == FileContent.POSITION_DELETES]


def without_positional(deletes: Deletes) -> Deletes:
    """The equality deletes among those of a data file."""
    if isinstance(deletes, Applied):
        return Applied((), deletes.ends)
    return tuple(d for d in deletes if is_equality(d))


class Thinning:
    """Leaves equality deletes out of what applies to data files; what these share, they share after it too."""

    def __init__(self, unwanted: Callable[[ManifestEntry], bool]) -> None:
        self._unwanted = unwanted
        self._thinned: dict[int, tuple[Deletes, list[int], Deletes]] = {}

    def __call__(self, deletes: Deletes) -> Deletes:
        if not isinstance(deletes, Applied):
            return self._kept(deletes)
        ends = tuple((shared, start) for shared, start in map(self._end, deletes.ends) if start < len(shared))
        return Applied(deletes.own, ends) if ends else deletes.own

    def _kept(self, deletes: Deletes) -> Deletes:
        return tuple(d for d in deletes if not is_equality(d) or not self._unwanted(d))

    def _end(self, end: tuple[Deletes, int]) -> tuple[Deletes, int]:
        shared, start = end
        known = self._thinned.get(id(shared))
        if known is None:
            left = [0, *accumulate(not self._unwanted(d) for d in shared)]
            known = self._thinned[id(shared)] = (self._kept(shared), left, shared)
        return known[0], known[1][start]


class DeleteIndex:
    """Delete files by what they apply to (spec, "Scan Planning").

    What it costs follows the files and what applies to them, not the product of data files and delete files.
    """

    def __init__(self, entries: Iterable[ManifestEntry], metadata: TableMetadata) -> None:
        """CORRUPT for a deletion vector of no data file, naming its Puffin file."""
        by_path: dict[str, list[ManifestEntry]] = {}
        ranged: dict[tuple[int, tuple[object, ...]], list[ManifestEntry]] = {}
        equality: dict[tuple[int, tuple[object, ...]], list[ManifestEntry]] = {}
        everywhere: list[ManifestEntry] = []
        unpartitioned = {s.spec_id for s in metadata.specs if s.is_unpartitioned}
        for entry in entries:
            file = entry.data_file
            if not is_equality(entry):
                path = _vector_path(entry) if is_vector(entry) else referenced_path(file)
                if path is not None:
                    by_path.setdefault(path, []).append(entry)
                else:
                    ranged.setdefault(partition_key(file.spec_id, file.partition), []).append(entry)
            elif file.spec_id in unpartitioned:
                everywhere.append(entry)
            else:
                equality.setdefault(partition_key(file.spec_id, file.partition), []).append(entry)
        self._by_path = by_path
        self._ranged = {scope: _Ranged(found) for scope, found in ranged.items()}
        self._equality = {scope: _Equality(found) for scope, found in equality.items()}
        self._everywhere = _Equality(everywhere) if everywhere else None
        self._any = bool(by_path or ranged or equality or everywhere)

    def for_file(self, entry: ManifestEntry) -> Deletes:
        """The delete files that apply to a data file, by scope and sequence number: position deletes come first."""
        if not self._any:
            return ()
        file, number = entry.data_file, entry.sequence_number or 0
        scope = partition_key(file.spec_id, file.partition)
        found: tuple[ManifestEntry, ...] = ()
        named = self._by_path.get(file.path)
        if named is not None:
            # Position deletes reach also the files of their own commit.
            reaching = (d for d in named if (d.sequence_number or 0) >= number)
            found = tuple(d for d in reaching if is_vector(d) or _bounded_paths(d.data_file).holds(file.path))
        ranged = self._ranged.get(scope)
        if ranged is not None:
            found += tuple(d for d in ranged.naming(file.path.encode()) if (d.sequence_number or 0) >= number)
        ends = [self._everywhere.after(number)] if self._everywhere is not None else []
        equality = self._equality.get(scope)
        if equality is not None:
            ends.insert(0, equality.after(number))
        known = tuple(end for end in ends if end is not None)
        return Applied(found, known) if known else found


class _Equality:
    """Equality deletes of one scope, which data files share."""

    def __init__(self, entries: Sequence[ManifestEntry]) -> None:
        self._entries = tuple(sorted(entries, key=_number))
        self._numbers = [_number(e) for e in self._entries]

    def after(self, sequence_number: int) -> tuple[Deletes, int] | None:
        """Those that reach a data file: they reach older files only. None if there are none."""
        start = bisect_right(self._numbers, sequence_number)
        return (self._entries, start) if start < len(self._entries) else None


class _Range(NamedTuple):
    lower: bytes
    upper: bytes | None
    place: int
    entry: ManifestEntry


class _Ranged:
    """Position deletes of one partition that may name several data files, by the bounds of the paths in them."""

    def __init__(self, entries: Sequence[ManifestEntry]) -> None:
        ranges = []
        for place, entry in enumerate(entries):
            lower, upper = _path_bounds(entry.data_file)
            ranges.append(_Range(lower or b"", upper, place, entry))
        self._ranges = sorted(ranges, key=lambda r: (r.lower, r.place))
        self._lowers = [r.lower for r in self._ranges]
        self._reach: list[bytes | None] = []
        """How far some range up to this one reaches (None: without end)."""
        reach: bytes | None = b""
        for r in self._ranges:
            reach = None if reach is None or r.upper is None else max(reach, r.upper)
            self._reach.append(reach)

    def naming(self, path: bytes) -> Iterator[ManifestEntry]:
        """Those that may hold positions of the data file, in the order they were given."""
        found = []
        for i in range(bisect_left(self._lowers, path + b"\0") - 1, -1, -1):
            reach = self._reach[i]
            if reach is not None and reach < path:
                break
            upper = self._ranges[i].upper
            if upper is None or path <= upper:
                found.append(self._ranges[i])
        return (r.entry for r in sorted(found, key=lambda r: r.place))


def _number(entry: ManifestEntry) -> int:
    return entry.sequence_number or 0


def _path_bounds(file: DataFile) -> tuple[bytes | None, bytes | None]:
    return file.lower_bounds.get(DELETE_FILE_PATH_ID), file.upper_bounds.get(DELETE_FILE_PATH_ID)


def referenced_path(file: DataFile) -> str | None:
    """The one data file that a position delete file or deletion vector belongs to, when that is known."""
    if file.referenced_data_file is not None:
        return file.referenced_data_file
    lower, upper = _path_bounds(file)
    # Bounds of the path are exact only when they agree: a truncated upper bound is above the path.
    return lower.decode() if lower is not None and lower == upper else None


class PathRange(NamedTuple):
    """The data files that a delete file by position may name: one ``only``, or those between two paths (None: any)."""

    only: str | None
    lower: bytes | None
    upper: bytes | None

    def holds(self, path: str) -> bool:
        """Whether a data file may be among them."""
        name = path.encode()
        return (self.lower is None or self.lower <= name) and (self.upper is None or name <= self.upper)

    def meets(self, other: PathRange) -> bool:
        """Whether both may name one data file."""
        apart = (self.upper is not None and other.lower is not None and self.upper < other.lower) or (
            other.upper is not None and self.lower is not None and other.upper < self.lower
        )
        return not apart


def named_paths(file: DataFile) -> PathRange:
    """The data files that a position delete file or deletion vector may name."""
    only = referenced_path(file)
    if only is not None:
        return PathRange(only, only.encode(), only.encode())
    return _bounded_paths(file)


def _bounded_paths(file: DataFile) -> PathRange:
    return PathRange(None, *_path_bounds(file))


def _vector_path(entry: ManifestEntry) -> str:
    """The data file of a deletion vector: its bounds say nothing (spec: ``referenced_data_file`` is required)."""
    file = entry.data_file
    if file.referenced_data_file is None:
        message = (
            f"Puffin file {file.path} of snapshot {entry.snapshot_id} is damaged: the manifest does not say of which"
            " data file its deletion vector is."
        )
        raise BergError(ErrorCode.CORRUPT, message)
    return file.referenced_data_file
