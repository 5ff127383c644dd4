"""The connector ``upsert-kafka``: the last message of each key counts."""

from __future__ import annotations

from bergsql.engine.connectors.base import Connector
from bergsql.engine.connectors.kafka.options import METADATA, UPSERT_OPTIONS, check_upsert, upsert_options
from bergsql.engine.connectors.kafka.sink import WRITABLE, upsert_sink
from bergsql.engine.connectors.kafka.source import upsert_source

CONNECTOR = Connector(
    "upsert-kafka",
    upsert_options,
    source=upsert_source,
    sink=upsert_sink,
    metadata=METADATA,
    writable=WRITABLE,
    check=check_upsert,
    documented=UPSERT_OPTIONS,
)
