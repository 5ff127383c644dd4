"""The schema in the footer of a Parquet file: names, field ids, nesting. Read without pyarrow, in 0.1 ms.

Apache Parquet's ``parquet.thrift`` (FileMetaData, SchemaElement) in Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.lru import Lru
from bergsql.engine.table.thrift import CompactReader

if TYPE_CHECKING:
    from bergsql.catalog.storage.base import Storage

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_FIRST_READ = 32 << 10
"""Bytes read from the end of a file at first; most footers are shorter."""

SCHEMA = 2
NUM_ROWS = 3
"""The fields of FileMetaData that hold the SchemaElements and the number of rows."""
TYPE, TYPE_LENGTH, REPETITION, NAME, NUM_CHILDREN, CONVERTED, SCALE, PRECISION, FIELD_ID, LOGICAL = range(1, 11)
"""The fields of a SchemaElement."""

TWO_LEVELS, UNWRAPPED = "two levels", "unwrapped"
"""Details of a list where what repeats is, or has the id of, the element. DuckDB does not find such by field id; of
structs with one field it takes that field for the element: those are unwrapped."""

SHREDDED = "shredded"
"""Details of a variant of more parts than metadata and value."""

MAP_KEY_VALUE = "map_key_value"
"""Details of a map whose outer group has this annotation. DuckDB reads no file that holds such."""

INT32, INT64, INT96 = 1, 2, 3
BYTE_ARRAY = 6
FIXED_LEN_BYTE_ARRAY = 7
_REPEATED = 2
_CONVERTED_MAP, _CONVERTED_KEY_VALUE = 1, 2
_CONVERTED_LIST = 3
_CONVERTED_TIMESTAMPS = (9, 10)
_LOGICAL_MAP, _LOGICAL_LIST, _LOGICAL_TIMESTAMP, _LOGICAL_VARIANT = 2, 3, 8, 16
_IS_ADJUSTED_TO_UTC = 1  # of TimestampType


@dataclass(frozen=True, slots=True)
class Node:
    """A column of a file, or a part of one. ``kind`` is primitive, struct, list (children: the element), map
    (children: key and value) or variant (which the file says to be one; its parts do not matter)."""

    name: str
    field_id: int | None
    kind: str = "primitive"
    children: tuple[Node, ...] = ()
    physical: int | None = None
    annotated: bool = False
    """Whether the file says more than the physical type (text, UUID, …)."""
    details: str = ""
    """All that it says (length, digits of a decimal, …), for comparison only; of a list, how it is made."""
    utc: bool | None = None
    """Of a timestamp: whether it is an instant."""

    def has_ids(self) -> bool:
        """Whether it or a part of it has a field id."""
        return self.field_id is not None or any(c.has_ids() for c in self.children)

    def walk(self) -> Iterator[Node]:
        """Itself and all its parts."""
        yield self
        for child in self.children:
            yield from child.walk()

    def fails_duckdb(self) -> bool:
        """Whether DuckDB reads nothing of a file with it."""
        return any(node.details == MAP_KEY_VALUE for node in self.walk())


# By path and size: data files are immutable. Files of one table mostly have one schema, which is kept once, and told
# from the bytes that their footers begin with.
_footers: Lru[tuple[str, int], tuple[tuple[Node, ...], int]] = Lru(20_000)
_schemas: Lru[tuple[Node, ...], tuple[Node, ...]] = Lru(2_000)
_beginnings: Lru[bytes, tuple[Node, ...]] = Lru(16 << 20)
_lengths: list[int] = []
"""How long the beginnings are, those met last first."""
_MOST_LENGTHS = 32


def read_columns(storage: Storage, path: str, size: int) -> tuple[Node, ...]:
    """The columns of the Parquet file ``path`` of ``size`` bytes. Raises NOT_FOUND, IO or CORRUPT naming it."""
    return _footer(storage, path, size)[0]


def read_row_count(storage: Storage, path: str, size: int) -> int:
    """The number of rows of the Parquet file ``path`` of ``size`` bytes. Raises as :func:`read_columns`."""
    return _footer(storage, path, size)[1]


def _footer(storage: Storage, path: str, size: int) -> tuple[tuple[Node, ...], int]:
    known = _footers.get((path, size))
    if known is not None:
        return known
    with storage.open_input(path) as file:
        file.seek(0, 2)
        end = file.tell()
        start = max(0, end - _FIRST_READ)
        file.seek(start)
        tail = file.read(end - start)
        length = int.from_bytes(tail[-8:-4], "little")
        if tail[-4:] == _ENCRYPTED:
            raise encrypted(path)
        if tail[-4:] != MAGIC or length > end - 12:
            raise _damaged(path)
        if length + 8 > len(tail):
            file.seek(end - 8 - length)
            tail = file.read(length + 8)
    try:
        known = _parsed(tail[-8 - length : -8])
    except (IndexError, ValueError, UnicodeDecodeError, RecursionError) as e:
        raise _damaged(path) from e
    _footers.put((path, size), known)
    return known


def encrypted(path: str) -> BergError:
    """The refusal of a file that only its owner's keys open."""
    return not_supported(f"Reading the encrypted data file {path}")


def _damaged(path: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"Data file {path} is damaged or not a Parquet file.")


def _parsed(footer: bytes) -> tuple[tuple[Node, ...], int]:
    """The columns, and the number of rows."""
    columns, end = _columns(footer)
    rows = dict(CompactReader(footer, end).fields(until=NUM_ROWS, after=SCHEMA)).get(NUM_ROWS)
    if not isinstance(rows, int):
        raise ValueError("it has no number of rows")
    return columns, rows


def _columns(footer: bytes) -> tuple[tuple[Node, ...], int]:
    """The columns, and where the schema ends."""
    for length in tuple(_lengths):
        columns = _beginnings.get(footer[:length])
        if columns is not None:
            _remember(length)
            return columns, length
    reader = CompactReader(footer)
    elements = dict(reader.fields(until=SCHEMA)).get(SCHEMA)
    if not isinstance(elements, list):
        raise ValueError("it has no schema")
    root, after = _node(elements, 0)
    if after != len(elements):
        raise ValueError("the schema is not one tree")
    columns = _schemas.get(root.children)
    if columns is None:
        columns = root.children
        _schemas.put(columns, columns)
    _beginnings.put(footer[: reader.at], columns, reader.at)
    _remember(reader.at)
    return columns, reader.at


def _remember(length: int) -> None:
    if _lengths[:1] != [length]:
        _lengths[:] = [length, *(n for n in _lengths if n != length)][:_MOST_LENGTHS]


def _node(elements: list[dict[int, Any]], at: int) -> tuple[Node, int]:
    """The tree that begins at ``at``, lists and maps made plain, and where the next one begins."""
    element = elements[at]
    at += 1
    parts = []
    repeated = []
    for _ in range(element.get(NUM_CHILDREN) or 0):
        repeated.append(elements[at].get(REPETITION) == _REPEATED)
        part, at = _node(elements, at)
        parts.append(part)
    name, number = element[NAME].decode(), element.get(FIELD_ID)
    logical = element.get(LOGICAL) or {}
    if NUM_CHILDREN not in element:
        stamp = logical.get(_LOGICAL_TIMESTAMP) or {}
        utc = stamp.get(_IS_ADJUSTED_TO_UTC) if stamp else element.get(CONVERTED) in _CONVERTED_TIMESTAMPS or None
        said = {k: element[k] for k in (TYPE_LENGTH, CONVERTED, SCALE, PRECISION, LOGICAL) if k in element}
        annotated = bool(logical) or CONVERTED in element
        return Node(name, number, "primitive", (), element.get(TYPE), annotated, str(said) if said else "", utc), at
    if _LOGICAL_VARIANT in logical:
        return Node(name, number, "variant", details=SHREDDED if len(parts) > 2 else ""), at
    if len(parts) == 1 and repeated[0]:
        inner = parts[0]
        if _LOGICAL_MAP in logical or element.get(CONVERTED) in (_CONVERTED_MAP, _CONVERTED_KEY_VALUE):
            if inner.kind == "struct" and len(inner.children) == 2:
                details = MAP_KEY_VALUE if element.get(CONVERTED) == _CONVERTED_KEY_VALUE else ""
                return Node(name, number, "map", inner.children, details=details), at
        elif _LOGICAL_LIST in logical or element.get(CONVERTED) == _CONVERTED_LIST:
            return _list(name, number, inner), at
    parts = [
        Node(p.name, p.field_id, "list", (p,), details=TWO_LEVELS) if r else p
        for p, r in zip(parts, repeated, strict=True)
    ]
    return Node(name, number, "struct", tuple(parts)), at


def _list(name: str, number: int | None, repeated: Node) -> Node:
    """A list, by Parquet's rules for those that old writers made of two levels."""
    if repeated.kind != "struct" or len(repeated.children) > 1:
        return Node(name, number, "list", (repeated,), details=TWO_LEVELS)
    if repeated.name in ("array", f"{name}_tuple"):
        return Node(name, number, "list", (repeated,), details=UNWRAPPED)
    return Node(name, number, "list", repeated.children, details="" if repeated.field_id is None else TWO_LEVELS)
