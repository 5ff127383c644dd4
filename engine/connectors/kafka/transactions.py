"""A checkpoint is one transaction of Kafka, once: in this run of a job, or in a later one.

The transactional id is the same in every run of a sink: a run that opens it fences the one before, and aborts what that
left open. The transaction of a checkpoint also commits an "offset" of a group of the same name that nobody is member
of: the number of the checkpoint, with a token of what was prepared for it. So whoever comes later can tell whether it
was committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.kafka.client import TIMEOUT, told
from bergsql.engine.connectors.kafka.producer import PATIENCE, Topic, TopicProducer

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import KafkaError

_TIMEOUT_KEY: Final = "transaction.timeout.ms"
_LONGEST: Final = 900_000
"""Milliseconds that a transaction may take: the most that brokers allow unless they are told otherwise. It lasts only
as long as a checkpoint's messages are sent."""
_TRIES: Final = 3
"""How often a transaction is begun that no broker was there for all the time."""


class Done(NamedTuple):
    """The last checkpoint that was committed. ``token`` is empty where the brokers did not keep it."""

    checkpoint: int
    token: str


class Transactions:
    """The transactions of a sink, one after the other."""

    def __init__(self, topic: Topic, name: str, restored: int) -> None:
        """
        :param name: the transactional id.
        :param restored: the last durable checkpoint of the job.
        :raises BergError: INVALID where a later checkpoint was committed already; CONNECTION.
        """
        limited = {_TIMEOUT_KEY: _LONGEST, **topic.configuration}
        self._topic = topic._replace(configuration=limited)
        self.name = name
        self._group: Any = None
        self._unsure = True
        self._last: Done | None = None
        self._producer = self._begin()
        with told(topic.error):
            done = self._done()
        if done is not None and done.checkpoint > restored:
            raise self._gone_on(done, restored)

    def _begin(self) -> TopicProducer:
        """A producer that alone may write as this sink from now on; what was open before is aborted."""
        producer = TopicProducer(self._topic, {"transactional.id": self.name})
        with told(self._topic.error):
            producer.patiently(producer.client.init_transactions)
        return producer

    def _done(self) -> Done | None:
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = Consumer(
            {
                **self._topic.configuration,
                "group.id": self.name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        try:
            (found,) = self._producer.patiently(
                lambda _: consumer.committed([TopicPartition(self._topic.name, 0)], TIMEOUT)
            )
            if found.error is not None:
                raise KafkaException(found.error)
            self._group = consumer.consumer_group_metadata()
        finally:
            consumer.close()
        return None if found.offset < 0 else Done(found.offset, found.metadata or "")

    def _has(self, checkpoint: int, token: str) -> bool:
        """Whether a checkpoint was committed."""
        done = self._done()
        if done is None or done.checkpoint < checkpoint:
            return False
        if done.checkpoint > checkpoint or done.token not in ("", token):
            raise self._gone_on(done, checkpoint)
        return True

    def commit(self, checkpoint: int, token: str, messages: Callable[[], Iterable[pa.RecordBatch]]) -> None:
        """Write the messages of a checkpoint, unless they are there already.

        :raises BergError: CONNECTION, or what is wrong with a message; then none of them is visible.
        """
        from confluent_kafka import KafkaException

        if self._last == (checkpoint, token):
            return
        ends, tries = time.monotonic() + PATIENCE, 0
        while True:
            try:
                if self._unsure and self._has(checkpoint, token):
                    break
                self._unsure, tries = True, tries + 1
                if self._write(checkpoint, token, messages(), last=tries >= _TRIES):
                    break
            except (KafkaException, BergError) as error:
                self._consider(error, late=time.monotonic() > ends)
            except BaseException:
                self._abort()
                raise
            self._producer.close()
            self._producer = self._begin()
        self._unsure, self._last = False, Done(checkpoint, token)

    def _write(self, checkpoint: int, token: str, messages: Iterable[pa.RecordBatch], *, last: bool) -> bool:
        """One transaction. False where the brokers were all away meanwhile, or since the last one: they may have lost
        a part of it, or what they knew of the producer.

        ``last``: take their word for it all the same.

        :raises KafkaException: it failed, or nobody knows.
        """
        from confluent_kafka import TopicPartition

        producer, client = self._producer, self._producer.client
        client.poll(0)
        if producer.shaken and not last:
            return False
        producer.shaken, producer.failed = False, None
        client.begin_transaction()
        producer.send(messages)
        producer.flush()
        client.poll(0)
        if producer.shaken and not last:
            self._abort()
            return False
        mark = TopicPartition(self._topic.name, 0, checkpoint, token)
        producer.in_time(lambda: client.send_offsets_to_transaction([mark], self._group, TIMEOUT))
        client.poll(0)
        if producer.shaken and not last:
            self._abort()
            return False
        producer.patiently(client.commit_transaction)
        client.poll(0)
        return last or not producer.shaken

    def _consider(self, failure: Exception, *, late: bool) -> None:
        """Abort a transaction that failed, and return where it may be begun again.

        :raises BergError: where it may not.
        """
        from confluent_kafka import KafkaError

        lost = self._producer.failed
        aborting = self._abort()  # a fatal error says what it is only to the call behind it
        errors = [e for e in (failure.args[0], lost, aborting) if isinstance(e, KafkaError)]
        if any(e.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, _PRODUCER_FENCED) for e in errors):
            raise BergError(
                ErrorCode.INVALID,
                f"{self._topic.doing} failed: another process has taken over as '{self.name}', or the brokers ended "
                "the transaction, which took too long.",
                hint="If this job runs nowhere else, go on with it: nothing is lost or written twice. "
                f"'properties.{_TIMEOUT_KEY}' is how long a transaction may take.",
            ) from failure
        told_as = failure if isinstance(failure, BergError) else self._topic.error(lost or failure.args[0])
        if late or told_as.code is not ErrorCode.CONNECTION:
            raise told_as from failure

    def _abort(self) -> KafkaError | None:
        """Leave nothing open, if the brokers can be told now: the next one that begins does it in any case.

        Gives why it could not be done.
        """
        from confluent_kafka import KafkaException

        try:
            self._producer.client.abort_transaction(TIMEOUT)
        except KafkaException as error:
            found: KafkaError = error.args[0]
            return found
        return None

    def _gone_on(self, done: Done, checkpoint: int) -> BergError:
        return BergError(
            ErrorCode.INVALID,
            f"Topic {self._topic.name} has checkpoint {done.checkpoint} of this job, which would go on with checkpoint "
            f"{checkpoint}: another process has run it on.",
            hint="Go on from the latest state of the job. To write messages again on purpose, give the table another "
            "'sink.transactional-id-prefix'.",
        )

    def forget(self) -> None:
        """Remove the group: nobody will ask again."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with suppress(KafkaException):
            admin = AdminClient(dict(self._topic.configuration))
            for future in admin.delete_consumer_groups([self.name], request_timeout=TIMEOUT).values():
                future.exception(TIMEOUT)

    def close(self) -> None:
        self._producer.close()


_PRODUCER_FENCED: Final = 90
"""The brokers' own word for it, of which the client has no name."""
