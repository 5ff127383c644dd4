"""The connector ``kafka``."""

from __future__ import annotations

from bergsql.engine.connectors.base import Connector
from bergsql.engine.connectors.kafka.options import METADATA, OPTIONS, check, options
from bergsql.engine.connectors.kafka.source import KafkaSource

CONNECTOR = Connector(
    "kafka",
    options,
    source=KafkaSource,
    metadata=METADATA,
    check=check,
    documented=OPTIONS,
)
