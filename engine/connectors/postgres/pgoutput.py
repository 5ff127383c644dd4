"""The messages of the plugin pgoutput, protocol version 1, as pure functions of their bytes.

Source: "Logical Replication Message Formats" in PostgreSQL's documentation. Positions in the log are whole numbers;
times are milliseconds since 1970.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

_2000: Final = 946_684_800_000
"""The first moment of 2000, from which PostgreSQL counts, in milliseconds since 1970."""
_U32 = struct.Struct(">I").unpack_from
_U16 = struct.Struct(">H").unpack_from
_BEGIN = struct.Struct(">QqI").unpack_from
_COMMIT = struct.Struct(">BQQq").unpack_from
_TYPE = struct.Struct(">Ii").unpack_from

UNCHANGED: Final = False
"""Stands for a value that the message leaves out: a large one, stored apart, that an UPDATE did not touch."""

Value = bytes | None | bool
"""The text of a value in UTF-8, None for NULL, or :data:`UNCHANGED`."""


class Begin(NamedTuple):
    """A transaction begins, which commits at ``commit``: nothing of others comes up to its Commit."""

    commit: int
    at: int
    xid: int


class Commit(NamedTuple):
    """It ends; ``end`` is behind its commit."""

    commit: int
    end: int
    at: int


class RelationColumn(NamedTuple):
    """A column of a table; ``modifier`` is its type's."""

    name: str
    type_id: int
    modifier: int
    in_key: bool
    """Whether it belongs to what identifies a row in messages that have no whole old row."""


class Relation(NamedTuple):
    """What a table is from here on. ``identity``: d (default), n (nothing), f (full) or i (an index)."""

    id: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


class Change(NamedTuple):
    """A row that came, changed or went: ``kind`` is I, U or D.

    ``old`` is the row as it was: whole where ``whole`` says so, else the columns of its identity, the others NULL. An
    UPDATE has none where its table has no full identity and the key stayed as it was.
    """

    kind: str
    relation: int
    old: Sequence[Value] | None
    new: Sequence[Value] | None
    whole: bool


class Truncate(NamedTuple):
    """All rows of some tables went."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Change | Truncate


class Garbled(Exception):
    """Bytes that are no message of the protocol."""


def parse(data: bytes) -> Message | None:
    """What a message says; None for those that say nothing of rows: Type, Origin, Message.

    :raises Garbled: for anything else.
    """
    try:
        kind = data[:1]
        if kind == b"I":
            return Change("I", _U32(data, 1)[0], None, _row(data, 6)[0], whole=False)
        if kind == b"U":
            return _update(data)
        if kind == b"D":
            old, _ = _row(data, 6)
            return Change("D", _U32(data, 1)[0], old, None, whole=data[5:6] == b"O")
        if kind == b"B":
            commit, at, xid = _BEGIN(data, 1)
            return Begin(commit, _2000 + at // 1000, xid)
        if kind == b"C":
            _, commit, end, at = _COMMIT(data, 1)
            return Commit(commit, end, _2000 + at // 1000)
        if kind == b"R":
            return _relation(data)
        if kind == b"T":
            (count,) = _U32(data, 1)
            return Truncate(struct.unpack_from(f">{count}I", data, 6))
    except (struct.error, IndexError, ValueError) as error:
        raise Garbled(f"a message of kind {data[:1]!r} that breaks off") from error
    if kind in (b"Y", b"O", b"M"):
        return None
    raise Garbled(f"a message of kind {data[:1]!r}")


def _update(data: bytes) -> Change:
    (relation,) = _U32(data, 1)
    mark = data[5:6]
    if mark == b"N":
        return Change("U", relation, None, _row(data, 6)[0], whole=False)
    old, at = _row(data, 6)
    if data[at : at + 1] != b"N":
        raise Garbled("an update without a new row")
    return Change("U", relation, old, _row(data, at + 1)[0], whole=mark == b"O")


def _row(data: bytes, at: int) -> tuple[list[Value], int]:
    """The values of a row that begins at ``at``, and where it ends."""
    (count,) = _U16(data, at)
    at += 2
    values: list[Value] = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == 0x74:  # t
            (length,) = _U32(data, at)
            at += 4
            end = at + length
            values.append(data[at:end])
            at = end
        elif kind == 0x6E:  # n
            values.append(None)
        elif kind == 0x75:  # u
            values.append(UNCHANGED)
        else:
            raise Garbled(f"a value of kind {chr(kind)!r}")
    if at > len(data):
        raise Garbled("a row that breaks off")
    return values, at


def _relation(data: bytes) -> Relation:
    (id_,) = _U32(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _U16(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        in_key = bool(data[at] & 1)
        column, at = _text(data, at + 1)
        type_id, modifier = _TYPE(data, at)
        at += 8
        columns.append(RelationColumn(column, type_id, modifier, in_key))
    return Relation(id_, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    """A text that ends in a zero byte, and where the next thing begins."""
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1
