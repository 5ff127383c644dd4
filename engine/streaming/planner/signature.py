"""What the state of a node is of: the node's parts as JSON, so that a savepoint's is taken up by the same node only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.sinks.base import Sink
from bergsql.engine.streaming.sources.base import Source

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import Node
    from bergsql.engine.streaming.sources.base import Json

_NO_STATE = ("uid", "inputs")


def signature_of(node: Node) -> Json:
    """As :func:`bergsql.engine.streaming.planner.signature`: names of columns are not part of it, types are."""
    made: dict[str, Json] = {"kind": type(node).__name__}
    for each in fields(node):
        if each.name not in _NO_STATE:
            made[each.name] = _json(getattr(node, each.name))
    made["inputs"] = [[_json(c) for c in below.columns] for below in node.inputs]
    made["modes"] = [below.mode.value for below in node.inputs]
    return made


def _json(value: object) -> Json:
    if isinstance(value, StreamColumn):
        return [duckdb_name(value.type), value.rowtime]
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Source):
        return {"source": value.name, "signature": _json(value.signature)}
    if isinstance(value, Sink):
        return {"sink": value.name, "columns": [_json(c) for c in value.columns]}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(k): _json(v) for k, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple | list | frozenset | set):
        if isinstance(value, tuple) and hasattr(value, "kind"):
            return str(value)
        return [_json(v) for v in value]
    return str(value)
