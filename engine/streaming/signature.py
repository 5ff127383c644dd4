"""What of a node must be the same for what is kept of it to be taken up again."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import Node

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json

_APART: Final = frozenset({"uid", "inputs", "columns", "source", "sink", "table"})


def signature_of(node: Node) -> Json:
    """A node's kind and all that it says, the types of its input and of its own columns. Names may change.

    What comes before it does not count: a condition may be added to a query that goes on with its state, as in Flink.
    """
    said: dict[str, Json] = {"kind": type(node).__name__.removesuffix("Node")}
    said["columns"] = _types(node.columns)
    for i, each in enumerate(node.inputs):
        said[f"input {i + 1}"] = _types(each.columns)
    for each_field in fields(node):
        if each_field.name not in _APART:
            said[each_field.name] = _plain(getattr(node, each_field.name))
    source = getattr(node, "source", None)
    if source is not None:
        said["source"] = source.name
        said["read"] = _plain(dict(source.signature))
    sink = getattr(node, "sink", None)
    if sink is not None:
        said["sink"] = sink.name
    return said


def _types(columns: tuple[StreamColumn, ...]) -> Json:
    from bergsql.engine.sql.type_names import duckdb_name

    return [duckdb_name(column.type) for column in columns]


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    from bergsql.engine.sql.types import DataType

    if isinstance(value, Enum):
        return value.value
    if isinstance(value, DataType):
        from bergsql.engine.sql.type_names import duckdb_name

        return duckdb_name(value)
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
