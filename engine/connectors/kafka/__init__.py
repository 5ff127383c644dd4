"""Kafka: topics as sources and sinks (``kafka``, ``upsert-kafka``)."""
