"""DuckDB's text of a nested or parametric type, such as ``STRUCT("a" INTEGER, b DECIMAL(10,2)[])``, read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from bergsql.catalog.errors import not_supported
from bergsql.engine.sql.types import DataType, Field, Kind

_T = TypeVar("_T")

_TOKEN = re.compile(r"""\s*("(?:[^"]|"")*"|'(?:[^']|'')*'|[\w$]+|[(),\[\]])""")


def read_type(text: str, plain: Mapping[str, DataType]) -> DataType:
    """The type that ``text`` names; ``plain`` are the names without parameters. Raises UNSUPPORTED naming the type."""
    reader = _Reader(text, plain)
    type_ = reader.type()
    if reader.left():
        raise not_supported(f"DuckDB's type {text}")
    return type_


class _Reader:
    """A place in the tokens of a type's text."""

    def __init__(self, text: str, plain: Mapping[str, DataType]) -> None:
        self._named = plain
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def left(self) -> bool:
        return self._at < len(self._tokens)

    def _peek(self) -> str:
        return self._tokens[self._at] if self.left() else ""

    def _take(self, wanted: str | None = None) -> str:
        token = self._peek()
        if not token or (wanted is not None and token != wanted):
            raise not_supported(f"DuckDB's type {self._text}")
        self._at += 1
        return token

    def type(self) -> DataType:
        type_ = self._plain()
        while self._peek() == "[":
            self._take("[")
            if self._peek() != "]":
                self._take()  # the length of a fixed array
            self._take("]")
            type_ = DataType(Kind.ARRAY, children=(Field("element", type_),))
        return type_

    def _plain(self) -> DataType:
        name = self._take()
        if self._tokens[self._at : self._at + 3] == ["WITH", "TIME", "ZONE"]:
            self._at += 3
            name += " WITH TIME ZONE"
        if self._peek() != "(":
            found = self._named.get(name)
            if found is None:
                raise not_supported(f"DuckDB's type {name}")
            return found
        self._take("(")
        if name == "STRUCT":
            type_ = DataType(Kind.ROW, children=tuple(self._separated(self._member)))
        elif name == "MAP":
            key = self.type()
            self._take(",")
            type_ = DataType(Kind.MAP, children=(Field("key", key, False), Field("value", self.type())))
        elif name == "DECIMAL":
            precision, scale = (int(n) for n in self._separated(self._take))
            type_ = DataType(Kind.DECIMAL, precision, scale)
        elif name in ("ENUM", "UNION"):
            self._skip()
            type_ = DataType(Kind.STRING)
        elif name == "GEOMETRY":
            self._skip()
            type_ = DataType(Kind.GEOMETRY)
        else:
            raise not_supported(f"DuckDB's type {name}")
        self._take(")")
        return type_

    def _separated(self, item: Callable[[], _T]) -> list[_T]:
        items = [item()]
        while self._peek() == ",":
            self._take(",")
            items.append(item())
        return items

    def _member(self) -> Field:
        name = self._take()
        if name[0] == '"':
            name = name[1:-1].replace('""', '"')
        return Field(name, self.type())

    def _skip(self) -> None:
        depth = 0
        while self._peek() and (depth or self._peek() != ")"):
            token = self._take()
            depth += (token == "(") - (token == ")")
