"""Formats of messages: the way from the bytes of a message, each by itself, to rows and back. They know no Kafka.

The formats by name; each module is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from bergsql.engine.connectors.messages.base import MessageFormat

_CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "csv": ("texts", "CsvMessages"),
    "json": ("texts", "JsonMessages"),
    "raw": ("raw", "RawMessages"),
    "avro": ("avro", "AvroMessages"),
    "avro-confluent": ("avro_confluent", "ConfluentAvroMessages"),
    "debezium-json": ("debezium", "DebeziumMessages"),
    "canal-json": ("canal", "CanalMessages"),
    "maxwell-json": ("maxwell", "MaxwellMessages"),
}
"""Module and class of each."""


def message_formats() -> tuple[str, ...]:
    """The names of those that there are."""
    return tuple(_CLASSES)


def message_format(name: str) -> type[MessageFormat]:
    """The class of a format, which is one of :func:`message_formats`."""
    module, made = _CLASSES[name.casefold()]
    found: type[MessageFormat] = getattr(import_module(f"bergsql.engine.connectors.messages.{module}"), made)
    return found
