"""Messages of PostgreSQL's plugin pgoutput, and its texts of arrays, as pure functions."""

from __future__ import annotations

import struct

import pytest

from bergsql.engine.connectors.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Garbled,
    Relation,
    RelationColumn,
    Truncate,
    parse,
)
from bergsql.engine.connectors.postgres.values import parts_of


def row(*values: bytes | bool | None) -> bytes:
    parts = [struct.pack(">H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif isinstance(value, bool):
            parts.append(b"u")
        else:
            parts.append(b"t" + struct.pack(">I", len(value)) + value)
    return b"".join(parts)


ID = struct.pack(">I", 7)
SECOND = 1_000_000
BEGIN = b"B" + struct.pack(">QqI", 0x10_0000_0001, SECOND, 9)
COMMIT = b"C" + struct.pack(">BQQq", 0, 5, 6, -SECOND)
RELATION = (
    b"R" + ID + b"public\0t\xc3\xa9\0f" + struct.pack(">H", 2)
    + b"\1id\0" + struct.pack(">Ii", 23, -1) + b"\0v\0" + struct.pack(">Ii", 1700, 65542)
)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BEGIN, Begin(0x10_0000_0001, 946_684_801_000, 9)),
        (COMMIT, Commit(5, 6, 946_684_799_000)),
        (
            RELATION,
            Relation(
                7, "public", "té", "f", (RelationColumn("id", 23, -1, True), RelationColumn("v", 1700, 65542, False))
            ),
        ),
        (b"I" + ID + b"N" + row(b"1", None), Change("I", 7, None, [b"1", None], whole=False)),
        (b"U" + ID + b"N" + row(b"1", UNCHANGED), Change("U", 7, None, [b"1", UNCHANGED], whole=False)),
        (b"U" + ID + b"O" + row(b"1") + b"N" + row(b""), Change("U", 7, [b"1"], [b""], whole=True)),
        (b"U" + ID + b"K" + row(b"1", None) + b"N" + row(b"2", b"x"), Change("U", 7, [b"1", None], [b"2", b"x"], whole=False)),
        (b"D" + ID + b"K" + row(b"1", None), Change("D", 7, [b"1", None], None, whole=False)),
        (b"D" + ID + b"O" + row(b"1", b"x"), Change("D", 7, [b"1", b"x"], None, whole=True)),
        (b"T" + struct.pack(">IBII", 2, 0, 7, 8), Truncate((7, 8))),
        (b"Y" + ID + b"public\0mood\0", None),
        (b"O" + struct.pack(">Q", 1) + b"origin\0", None),
        (b"M" + b"\0" * 20, None),
    ],
)  # fmt: skip
def test_messages(data: bytes, message: object) -> None:
    assert parse(data) == message


@pytest.mark.parametrize("data", [BEGIN, COMMIT, RELATION, b"U" + ID + b"O" + row(b"1") + b"N" + row(b"abc"), b"Z"])
def test_what_breaks_off_is_refused(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(Garbled):
            parse(data[:length])


@pytest.mark.parametrize(
    ("text", "depth", "parts"),
    [
        (None, 1, None),
        ("{}", 1, []),
        ("{}", 3, []),
        ("{1,NULL,null}", 1, ["1", None, "null"]),
        ('{"NULL","a,b","}{","q\\"\\\\",""}', 1, ["NULL", "a,b", "}{", 'q"\\', ""]),
        ("[0:1]={1,2}", 1, ["1", "2"]),
        ("[1:1][0:1]={{1,2}}", 2, [["1", "2"]]),
        ('{{{"a"},{NULL}}}', 3, [[["a"], [None]]]),
    ],
)
def test_arrays(text: str | None, depth: int, parts: object) -> None:
    assert parts_of(text, depth) == parts


@pytest.mark.parametrize(("text", "depth"), [("{{1}}", 1), ("{1}", 2), ("{1", 1), ("", 1), ("{1}x", 1)])
def test_arrays_of_other_dimensions(text: str, depth: int) -> None:
    with pytest.raises((ValueError, IndexError)):
        parts_of(text, depth)
