"""The connector ``kafka``."""

from __future__ import annotations

from bergsql.engine.connectors.base import Connector
from bergsql.engine.connectors.kafka.options import METADATA, OPTIONS, check, options
from bergsql.engine.connectors.kafka.sink import WRITABLE, KafkaSink
from bergsql.engine.connectors.kafka.source import KafkaSource

CONNECTOR = Connector(
    "kafka",
    options,
    source=KafkaSource,
    sink=KafkaSink,
    metadata=METADATA,
    writable=WRITABLE,
    check=check,
    documented=OPTIONS,
)
