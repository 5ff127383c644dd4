"""Messages to a topic: one producer of librdkafka, and what it tells of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.kafka.client import TIMEOUT, told, translated

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import KafkaError, Producer

KEY: Final = "key"
VALUE: Final = "value"
HEADERS: Final = "headers"
TIMESTAMP: Final = "timestamp"

PATIENCE: Final = 60.0
"""Seconds without any progress after which brokers are taken not to come back: the job begins again by its strategy."""
_STEP: Final = 1.0
"""Seconds that one call waits, so that signals are heard between calls."""
_QUEUE_KIB: Final = 64 << 10
"""What waits to be sent, at most, unless the table says otherwise."""

_T = TypeVar("_T")


class Topic(NamedTuple):
    """Where messages go, and how.

    configuration
        librdkafka's, without what makes transactions.
    partitioner
        ``default`` leaves it to the client, ``fixed`` takes the first partition (a job is one writer), ``round-robin``
        each in turn.
    """

    name: str
    servers: str
    configuration: Mapping[str, Any]
    partitioner: str

    @property
    def doing(self) -> str:
        return f"Writing to topic {self.name}"

    def partitions(self) -> int:
        """How many partitions it has; it is not made by asking.

        :raises BergError: NOT_FOUND; CONNECTION.
        """
        from confluent_kafka.admin import AdminClient

        with told(self.error):
            topics = AdminClient(dict(self.configuration)).list_topics(timeout=TIMEOUT).topics
            found = topics.get(self.name)
        if found is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"{self.doing} failed: there is no such topic at {self.servers}.",
                hint="Make it with as many partitions as it needs; a table of Kafka makes none.",
            )
        if found.error is not None:
            raise self.error(found.error)
        return len(found.partitions)

    def error(self, error: KafkaError) -> BergError:
        """What went wrong, as it is told."""
        from confluent_kafka import KafkaError

        match error.code():
            case KafkaError.MSG_SIZE_TOO_LARGE | KafkaError.INVALID_MSG_SIZE:
                return BergError(
                    ErrorCode.INVALID,
                    f"{self.doing} failed: a message is larger than Kafka takes.",
                    hint="'properties.max.request.size' is the most that is sent; the topic's 'max.message.bytes' is "
                    "the most that it takes.",
                )
            case KafkaError.INVALID_TRANSACTION_TIMEOUT:
                return BergError(
                    ErrorCode.OPTION,
                    f"{self.doing} failed: the brokers allow no transaction as long as "
                    f"{self.configuration.get('transaction.timeout.ms')} ms.",
                    hint="Set 'properties.transaction.timeout.ms' to their 'transaction.max.timeout.ms', or less.",
                )
            case KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED | KafkaError.CLUSTER_AUTHORIZATION_FAILED:
                return BergError(
                    ErrorCode.CONFIG,
                    f"{self.doing} failed: the user may not use the transactional id: {error.str()}.",
                    hint="Allow it all ids that begin with 'sink.transactional-id-prefix', or set "
                    "'sink.delivery-guarantee' = 'at-least-once'.",
                )
            case KafkaError.INVALID_RECORD | KafkaError.POLICY_VIOLATION:
                return BergError(
                    ErrorCode.INVALID, f"{self.doing} failed: the brokers refuse a message: {error.str()}."
                )
            case KafkaError._MSG_TIMED_OUT:
                return BergError(
                    ErrorCode.CONNECTION, f"{self.doing} failed: no broker at {self.servers} took messages in time."
                )
        return translated(error, self.servers, self.doing)


class TopicProducer:
    """A producer of one topic.

    failed
        Why the first of the messages that were lost did not get through.
    shaken
        Whether a connection broke since it was set to False.
    """

    def __init__(self, topic: Topic, more: Mapping[str, Any] | None = None) -> None:
        from confluent_kafka import Producer

        self.topic = topic
        self.failed: KafkaError | None = None
        self.shaken = False
        self._turns = count()
        self._partitions = 0
        configuration = {
            # As Java's clients choose a partition by the key: others that write to the topic choose the same.
            "partitioner": "murmur2_random",
            "linger.ms": 5,
            "queue.buffering.max.kbytes": _QUEUE_KIB,
            **topic.configuration,
            **(more or {}),
            "on_delivery": self._delivered,
            "delivery.report.only.error": True,
            "error_cb": self._disturbed,
        }
        with told(topic.error):
            self.client: Producer = Producer(configuration)

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        if error is not None and self.failed is None:
            self.failed = error

    def _disturbed(self, _: KafkaError) -> None:
        self.shaken = True

    def send(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Hand over messages, in order: columns ``key`` and ``value``, and perhaps ``headers`` and ``timestamp``.

        Gives how many.

        :raises KafkaException: of one that cannot be taken.
        """
        sent = 0
        for batch in batches:
            keys, values = batch.column(KEY).to_pylist(), batch.column(VALUE).to_pylist()
            more = self._more(batch)
            if more is None:
                self._send_plain(keys, values)
            else:
                for key, value, others in zip(keys, values, more, strict=True):
                    self._send_one(key, value, others)
            sent += len(keys)
        return sent

    def _more(self, batch: pa.RecordBatch) -> list[dict[str, Any]] | None:
        """What messages have beside key and value, where any do."""
        names = set(batch.schema.names)
        found: list[dict[str, Any]] = [{} for _ in range(batch.num_rows)]
        for name in {HEADERS, TIMESTAMP} & names:
            for more, value in zip(found, batch.column(name).to_pylist(), strict=True):
                if value is not None:
                    more[name] = value
        if self.topic.partitioner == "fixed":
            for more in found:
                more["partition"] = 0
        elif self.topic.partitioner == "round-robin":
            self._partitions = self._partitions or self.topic.partitions()
            for more in found:
                more["partition"] = next(self._turns) % self._partitions
        elif not {HEADERS, TIMESTAMP} & names:
            return None
        return found

    def _send_plain(self, keys: list[bytes | None], values: list[bytes | None]) -> None:
        produce, name = self.client.produce, self.topic.name
        for key, value in zip(keys, values, strict=True):
            try:
                produce(name, value, key)
            except BufferError:
                self._send_one(key, value, {})

    def _send_one(self, key: bytes | None, value: bytes | None, more: dict[str, Any]) -> None:
        """Hand over a message, for which there may be no room yet."""
        last, ends = len(self.client), time.monotonic() + PATIENCE
        while True:
            try:
                self.client.produce(self.topic.name, value, key, **more)
                return
            except BufferError:
                self.client.poll(0.05)
            self.check()
            if len(self.client) < last:
                last, ends = len(self.client), time.monotonic() + PATIENCE
            elif time.monotonic() > ends:
                raise self._no_answer()

    def check(self) -> None:
        """
        :raises KafkaException: where a message was lost.
        """
        from confluent_kafka import KafkaException

        if self.failed is not None:
            raise KafkaException(self.failed)

    def flush(self) -> None:
        """Wait until brokers have all that was sent.

        :raises KafkaException: where a message was lost.
        :raises BergError: CONNECTION, where nobody takes any.
        """
        # By poll: where an error is fatal, flush fails in the middle of telling of messages.
        last, ends = len(self.client), time.monotonic() + PATIENCE
        while left := len(self.client):
            self.client.poll(0.005)
            self.check()
            if left < last:
                last, ends = left, time.monotonic() + PATIENCE
            elif time.monotonic() > ends:
                raise self._no_answer()
        self.check()

    def patiently(self, call: Callable[[float], _T]) -> _T:
        """What a call gives that is to be repeated when its time is over.

        :raises KafkaException: when it fails, or gets no answer.
        """
        from confluent_kafka import KafkaException

        ends = time.monotonic() + PATIENCE
        while True:
            try:
                return call(_STEP)
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > ends:
                    raise

    def in_time(self, call: Callable[[], object]) -> None:
        """A call that librdkafka may never come back from where its coordinator went away: it is left alone then.

        :raises KafkaException: when it fails.
        :raises BergError: CONNECTION, where it takes too long. The producer is of no use any more.
        """
        failures: list[BaseException] = []

        def run() -> None:
            try:
                call()
            except BaseException as error:
                failures.append(error)

        thread = Thread(target=run, daemon=True)
        thread.start()
        thread.join(2 * TIMEOUT)
        if thread.is_alive():
            raise self._no_answer()
        for failure in failures:
            raise failure

    def _no_answer(self) -> BergError:
        return BergError(
            ErrorCode.CONNECTION,
            f"{self.topic.doing} failed: no broker answers at {self.topic.servers}.",
            hint="Is 'properties.bootstrap.servers' right, and is the broker running?",
        )

    def close(self, wait: float = 0.0) -> None:
        """Throw away what is not sent within ``wait`` seconds."""
        from confluent_kafka import KafkaException

        with suppress(KafkaException):
            if wait:
                self.client.flush(wait)
            self.client.purge()
            self.client.flush(0)
