"""A compiler from an Avro writer schema to a Python function that decodes its records.

Only the fields that a :class:`Layout` asks for are decoded, all else is stepped over. Nothing of the file's text gets
into the generated code but integers (field ids, sizes, scales): names and values of a hostile file cannot.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from bergsql.catalog.metadata.exact import decimal_of
from bergsql.engine.table import avro

Decoder = Callable[[bytes, int, Callable[[Any], None]], int]
"""decode(block, records, add) calls ``add`` with each record's value and returns where it stopped."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What to take from records, by Iceberg field id (or, where a writer left the ids out, by name)."""

    wanted: tuple[int, ...]
    """Ids of the fields whose values are passed to ``build``, in this order; a field that is not there gives None."""
    build: Callable[..., Any]
    records: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """(id of a record field, or of an array of records; ids of the parts that make its tuple, in order)."""
    complete: frozenset[int] = frozenset()
    """Ids of those records of which no part may be missing."""
    counts: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()
    """Ids of maps that are kept as bytes."""
    names: tuple[tuple[str, int], ...] = ()
    """Ids of fields by name, for files without ids."""


def decode_records(container: avro.Container, layout: Layout, what: str) -> list[Any]:
    """All records of a container. ``what`` names it in errors (CORRUPT)."""
    found: list[Any] = []
    try:
        decode = compile_decoder(container.schema, layout)
        for count, block in container.blocks:
            if count > len(block):
                raise ValueError("it is cut off")
            if decode(block, count, found.append) != len(block):
                raise ValueError("a block does not hold what its header says")
    except Exception as e:  # whatever garbage makes of a number, a text or a schema
        raise avro.corrupt(what, avro.reason(e)) from e
    return found


@lru_cache(maxsize=64)
def compile_decoder(schema: bytes, layout: Layout) -> Decoder:
    """The decoder of records written with ``schema`` (JSON). Raises ValueError where the schema makes no sense."""
    code = _Code(layout, dict(layout.records), dict(layout.names))
    root = json.loads(schema)
    code.line("def decode(b, records, add):")
    with code.block():
        code.line("at = 0")
        code.line("for _ in range(records):")
        with code.block():
            for wanted in layout.wanted:
                code.line(f"v{wanted} = None")
            code.record(root)
            code.line(f"add(build({', '.join(f'v{wanted}' for wanted in layout.wanted)}))")
        code.line("return at")
    scope: dict[str, Any] = {
        "build": layout.build,
        "tail": avro.varint_tail,
        "long": avro.read_long,
        "counts": avro.step_over_counts,
        "bounds": avro.step_over_bounds,
        "decimal": _decimal,
        "UUID": UUID,
        "float32": struct.Struct("<f").unpack_from,
        "float64": struct.Struct("<d").unpack_from,
    }
    exec("\n".join(code.lines), scope)
    decoder: Decoder = scope["decode"]
    return decoder


def _decimal(unscaled: bytes, scale: int) -> Decimal:
    return decimal_of(int.from_bytes(unscaled, "big", signed=True), scale)


@dataclass(slots=True)
class _Code:
    """Lines of the decoder, as they are made. ``at`` is the position in ``b``; ``x`` is a scratch number."""

    layout: Layout
    records: dict[int, tuple[int, ...]]
    ids: dict[str, int]
    lines: list[str] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    indent: int = 0
    temporaries: int = 0

    @contextmanager
    def block(self) -> Iterator[None]:
        self.indent += 1
        yield
        self.indent -= 1

    def line(self, text: str) -> None:
        self.lines.append(" " * self.indent + text)

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def id_of(self, part: Mapping[str, Any]) -> int | None:
        given = part.get("field-id", self.ids.get(part["name"]))
        return None if given is None else int(given)

    def record(self, schema: Any) -> None:
        """Fields of the record, each into the variable of its id when it is wanted."""
        for part in self.resolve(schema)["fields"]:
            number = self.id_of(part)
            target = f"v{number}" if number in self.layout.wanted else None
            self.value(part["type"], target, number)

    def resolve(self, schema: Any) -> Any:
        """A schema with its name looked up; named ones are remembered."""
        if isinstance(schema, str):
            return self.named.get(schema, schema)
        if isinstance(schema, dict):
            if "name" in schema and schema.get("type") in ("record", "fixed", "enum", "error"):
                self.named[schema["name"]] = schema
            elif isinstance(schema.get("type"), dict | list):
                return self.resolve(schema["type"])
            elif schema.get("type") in self.named:
                return self.named[schema["type"]]
        return schema

    def value(self, schema: Any, target: str | None, number: int | None) -> None:
        """Decode a value into ``target``, or step over it when that is None."""
        schema = self.resolve(schema)
        if isinstance(schema, list):
            self.union(schema, target, number)
            return
        kind = schema if isinstance(schema, str) else schema["type"]
        if target and kind == "array" and number in self.layout.counts:
            self.line(f"{target}, at = counts(b, at)")
        elif target and kind == "array" and number in self.layout.bounds:
            self.line(f"{target}, at = bounds(b, at)")
        elif kind == "record":
            self.nested(schema, target, number)
        elif kind == "array":
            self.array(schema["items"], target, number)
        elif kind == "map":
            self.array(
                {"type": "record", "fields": [{"name": "", "type": "string"}, {"name": "", "type": schema["values"]}]},
                None,
                None,
            )
        else:
            self.primitive(kind, schema if isinstance(schema, dict) else {}, target)

    def union(self, branches: list[Any], target: str | None, number: int | None) -> None:
        tag = self.temporary()
        self.line(f"{tag} = b[at]; at += 1")
        for i, branch in enumerate(branches):
            self.line(f"{'elif' if i else 'if'} {tag} == {2 * i}:")
            with self.block():
                self.value(branch, target, number)
                self.line("pass")
        self.line("else: raise ValueError('a value has a type that its schema does not have')")

    def nested(self, schema: Any, target: str | None, number: int | None) -> None:
        wanted = self.records.get(number) if number is not None and target else None
        if wanted is None:
            self.record(schema)
            return
        parts = schema["fields"]
        by_id = {self.id_of(p): i for i, p in enumerate(parts)}
        places = [by_id.get(w) for w in wanted]
        if None in places and len(parts) == len(wanted) and not any("field-id" in p for p in parts):
            places = list(range(len(parts)))
        if None in places and number in self.layout.complete:
            raise ValueError("its partition values are not those of its partition spec")
        names = [self.temporary() for _ in parts]
        for name, part in zip(names, parts, strict=True):
            self.value(part["type"], name, None)
        self.line(f"{target} = ({''.join('None, ' if i is None else names[i] + ', ' for i in places)})")

    def array(self, items: Any, target: str | None, number: int | None) -> None:
        n = self.temporary()
        item = self.temporary() if target else None
        if target:
            self.line(f"{target} = []")
        self.line("while True:")
        with self.block():
            self.line(f"{n}, at = long(b, at)")
            self.line(f"if {n} == 0: break")
            self.line(f"if {n} < 0: {n} = -{n}; x, at = long(b, at)")
            self.line(f"if {n} > len(b) - at: raise ValueError('it is cut off')")
            self.line(f"for _ in range({n}):")
            with self.block():
                self.value(items, item, number)
                self.line(f"{target}.append({item})" if target else "pass")

    def primitive(self, kind: str, schema: Mapping[str, Any], target: str | None) -> None:
        logical = schema.get("logicalType")
        if kind in ("int", "long", "enum", "bytes", "string"):
            self.line("x = b[at]; at += 1")
            self.line("if x > 127: x, at = tail(b, at, x)")
            if kind in ("bytes", "string"):
                self.line("x >>= 1")
                if target:
                    self.line(f"{target} = " + ("str(b[at:at + x], 'utf-8')" if kind == "string" else "b[at:at + x]"))
                self.line("at += x")
            elif target:
                self.line(f"{target} = (x >> 1) ^ -(x & 1)")
        elif kind == "boolean":
            self.line(f"{target or 'x'} = b[at] == 1; at += 1")
        elif kind in ("float", "double"):
            size = 4 if kind == "float" else 8
            self.line(f"{target or 'x'} = float{size * 8}(b, at)[0]; at += {size}")
        elif kind == "fixed":
            size = int(schema["size"])
            if target:
                self.line(f"{target} = b[at:at + {size}]")
            self.line(f"at += {size}")
        elif kind == "null":
            if target:
                self.line(f"{target} = None")
        else:
            raise ValueError(f"its schema has an unknown type {kind}")
        if target and logical == "decimal":
            self.line(f"{target} = decimal({target}, {int(schema.get('scale', 0))})")
        elif target and logical == "uuid":
            self.line(f"{target} = UUID({'bytes=' if kind == 'fixed' else ''}{target})")
