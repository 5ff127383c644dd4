"""A Kafka broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tests.support.services.server import Server, until

if TYPE_CHECKING:
    from confluent_kafka import Message


class Kafka(Server):
    """It speaks Kafka's protocol but is no Apache Kafka: see examples/services/kafka.sh."""

    script = "kafka"

    def kill(self) -> None:
        """End it without warning its clients, but in order: it acknowledges messages about a second before it keeps
        them, which no Kafka of several brokers does."""
        self.stop()

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def serves(self) -> bool:
        return super().serves() and self._admin().list_topics(timeout=1) is not None

    def create(self, topic: str, partitions: int = 1) -> None:
        from confluent_kafka.cimpl import NewTopic

        admin = self._admin()
        for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            future.result(10)

    def drop(self, *topics: str) -> None:
        """Remove topics that are there."""
        admin = self._admin()
        if there := admin.list_topics(timeout=10).topics.keys() & set(topics):
            for future in admin.delete_topics(sorted(there)).values():
                future.result(10)

    def clear(self) -> None:
        """Remove all topics but the broker's own."""
        self.drop(*(name for name in self._admin().list_topics(timeout=10).topics if not name.startswith("__")))

    def send(
        self, topic: str, values: Iterable[bytes | str | None], *, keys: Sequence[bytes | str | None] = (), **more: Any
    ) -> None:
        """Send messages, in order; ``more`` goes to each (partition, timestamp, headers)."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        for n, value in enumerate(values):
            key = keys[n] if keys else None
            while True:
                try:
                    producer.produce(topic, value=value, key=key, **more)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(30) == 0

    def messages(self, topic: str, *, committed: bool = True) -> list[Message]:
        """All messages of a topic by partition, of committed transactions unless told else."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "reader-of-tests",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "enable.partition.eof": True,
            }
        )
        try:
            found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, p, 0) for p in found])
            ended: set[int] = set()
            messages = []

            def more() -> bool:
                from confluent_kafka import KafkaError

                for message in consumer.consume(10_000, 0.2):
                    error = message.error()
                    if error is None:
                        messages.append(message)
                    else:
                        assert error.code() == KafkaError._PARTITION_EOF, error
                        ended.add(message.partition() or 0)
                return len(ended) == len(found)

            until(f"end of {topic}", more)
            return sorted(messages, key=lambda m: (m.partition(), m.offset()))
        finally:
            consumer.close()
