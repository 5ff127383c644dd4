"""A checkpoint is written to Kafka once, wherever its writer stops and whoever goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.kafka.writer import ExactlyOnceWriter
from bergsql.engine.duck import Duck
from bergsql.engine.streaming.changelog import ChangelogMode
from tests.support.connector_tables import sink
from tests.support.services.kafka import Kafka
from tests.support.sinks import JOB, SINK, HandContext, changes, checkpoint

_topics = count()
_STEPS = ("begin_transaction", "produce", "poll", "send_offsets_to_transaction", "commit_transaction")


class _Stopped(BaseException):
    """A process that is killed."""


class _Client:
    """A producer that stops for good before or after one of its calls, as one whose process is killed."""

    def __init__(self, client: Any, step: str, *, after: bool) -> None:
        self._client, self._step, self._after, self._stopped = client, step, after, False

    def __len__(self) -> int:
        return len(self._client)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if self._stopped:
                raise _Stopped
            self._stopped = name == self._step
            if self._stopped and not self._after:
                raise _Stopped
            found = getattr(self._client, name)(*arguments, **more)
            if self._stopped:
                raise _Stopped
            return found

        return call


class _Sink:
    """A topic as the sink of a job, and the job's directory."""

    def __init__(self, duck: Duck, kafka: Kafka, directory: Path, *, upserts: bool = False) -> None:
        self.kafka, self.topic = kafka, f"once{next(_topics)}"
        kafka.create(self.topic, 2)
        self._duck, self._directory = duck, directory
        kind = "upsert-kafka' , 'key.format'='csv', 'value.format'='csv" if upserts else "kafka', 'format'='csv"
        key = ", PRIMARY KEY (a) NOT ENFORCED" if upserts else ""
        self._table = (
            f"CREATE TABLE t (a INT, b STRING{key}) WITH ('connector'='{kind}', 'topic'='{self.topic}', "
            f"'properties.bootstrap.servers'='{kafka.address}', 'properties.transaction.timeout.ms'='60000')"
        )
        self._writers: list[ExactlyOnceWriter] = []
        self._upserts = upserts

    def writer(self, restored: int = 0, directory: Path | None = None) -> ExactlyOnceWriter:
        made = sink(self._table)
        made.check(ChangelogMode.RETRACT if self._upserts else ChangelogMode.INSERT_ONLY, made.key)
        context = HandContext(self._duck)
        context.directory = directory or self._directory
        writer = made.writer(context, restored)
        assert isinstance(writer, ExactlyOnceWriter)
        self._writers.append(writer)
        return writer

    def values(self, *, committed: bool = True) -> list[str]:
        return sorted((m.value() or b"").decode() for m in self.kafka.messages(self.topic, committed=committed))

    def told(self) -> list[tuple[bytes | None, bytes | None]]:
        return sorted(((m.key(), m.value()) for m in self.kafka.messages(self.topic)), key=repr)

    def close(self) -> None:
        for writer in self._writers:
            with suppress(_Stopped):
                writer.close()


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck(threads=1)
    yield made
    made.close()


@pytest.fixture
def to(kafka: Kafka, duck: Duck, tmp_path: Path) -> Iterator[_Sink]:
    made = _Sink(duck, kafka, tmp_path / "prepared")
    yield made
    made.close()


def _stop(writer: ExactlyOnceWriter, step: str, *, after: bool) -> None:
    """Let the process of a writer be killed at a step."""
    producer = writer._transactions._producer
    producer.client = cast("Any", _Client(producer.client, step, after=after))


def test_nothing_is_visible_before_its_commit(to: _Sink) -> None:
    writer = to.writer()
    assert writer.prepare(1) is None
    assert writer.write(changes(("+I", 1, "a"), ("+I", 2, "b"))) == 2
    prepared = writer.prepare(1)
    assert to.values(committed=False) == []
    writer.commit(1, prepared)
    writer.commit(1, prepared)
    assert to.values() == ["1,a", "2,b"]
    writer.write(changes(("+I", 3, "c")))
    writer.discard()
    assert writer.prepare(2) is None
    writer.write(changes(("+I", 4, "d")))
    assert checkpoint(writer, 2)
    assert to.values() == ["1,a", "2,b", "4,d"]
    assert len(list(writer._context.directory.iterdir())) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", _STEPS)
def test_a_checkpoint_is_there_once_wherever_it_stopped(to: _Sink, step: str, after: bool) -> None:
    old = to.writer()
    old.write(changes(("+I", 1, "a")))
    checkpoint(old, 1)
    old.write(changes(("+I", 2, "b"), ("+I", 3, "c")))
    prepared = old.prepare(2)
    _stop(old, step, after=after)
    with pytest.raises(_Stopped):
        old.commit(2, prepared)
    assert to.values() in (["1,a"], ["1,a", "2,b", "3,c"])
    new = to.writer(restored=2)
    new.commit(2, prepared)
    assert to.values() == ["1,a", "2,b", "3,c"]
    new.write(changes(("+I", 4, "d")))
    checkpoint(new, 3)
    assert to.values() == ["1,a", "2,b", "3,c", "4,d"]


def test_what_was_prepared_and_not_kept_is_written_by_the_next(to: _Sink) -> None:
    old = to.writer()
    old.write(changes(("+I", 1, "a")))
    old.prepare(1)
    new = to.writer()
    new.write(changes(("+I", 1, "a")))
    checkpoint(new, 1)
    assert to.values() == ["1,a"]
    assert len(list(new._context.directory.iterdir())) == 1


@pytest.mark.parametrize("begun", [False, True], ids=["between", "inside"])
def test_a_writer_that_was_taken_over_commits_nothing(to: _Sink, tmp_path: Path, begun: bool) -> None:
    old = to.writer(directory=tmp_path / "old")
    old.write(changes(("+I", 1, "a")))
    checkpoint(old, 1)
    old.write(changes(("+I", 2, "old")))
    prepared = old.prepare(2)
    if begun:
        client = old._transactions._producer.client
        client.begin_transaction()
        client.produce(to.topic, b"half")
        client.flush()
    new = to.writer(restored=1)
    new.write(changes(("+I", 2, "new")))
    checkpoint(new, 2)
    if begun:
        with pytest.raises(Exception, match="fenced"):
            client.commit_transaction(10)
    with pytest.raises(BergError, match="another process has taken over") as error:
        old.commit(2, prepared)
    assert error.value.code is ErrorCode.INVALID
    new.write(changes(("+I", 3, "c")))
    checkpoint(new, 3)
    assert to.values() == ["1,a", "2,new", "3,c"]


def test_a_job_that_was_set_back_is_refused(to: _Sink) -> None:
    old = to.writer()
    for n in (1, 2):
        old.write(changes(("+I", n, "a")))
        checkpoint(old, n)
    with pytest.raises(BergError, match=f"Topic {to.topic} has checkpoint 2 of this job"):
        to.writer(restored=1)
    assert f"bergsql.{JOB}.{SINK}" in (old._transactions.name,)


@pytest.mark.parametrize("step", ["begin_transaction", "commit_transaction"])
def test_brokers_come_back(duck: Duck, tmp_path: Path, step: str) -> None:
    """Where nothing is in an open transaction: those the broker of the tests forgets when it stops, and says that it
    has committed them, which no Kafka does."""
    kafka = Kafka()
    kafka.start()
    to = _Sink(duck, kafka, tmp_path / "prepared")
    try:
        writer = to.writer()
        writer.write(changes(("+I", 1, "a")))
        checkpoint(writer, 1)
        producer = writer._transactions._producer
        client, done = producer.client, iter([False])

        class Cut(_Client):
            def __getattr__(self, name: str) -> Callable[..., Any]:
                def call(*arguments: Any, **more: Any) -> Any:
                    found = getattr(client, name)(*arguments, **more)
                    if name == step and next(done, True) is False:
                        kafka.kill()
                        kafka.start()
                    return found

                return call

        producer.client = cast("Any", Cut(client, step, after=True))
        writer.write(changes(*(("+I", n, "b") for n in range(2, 100))))
        checkpoint(writer, 2)
        writer.write(changes(("+I", 100, "c")))
        checkpoint(writer, 3)
        assert sorted(int(v.split(",")[0]) for v in to.values()) == list(range(1, 101))
    finally:
        to.close()
        kafka.close()


def test_only_the_last_change_of_a_key_is_written(kafka: Kafka, duck: Duck, tmp_path: Path) -> None:
    to = _Sink(duck, kafka, tmp_path / "prepared", upserts=True)
    try:
        writer = to.writer()
        writer.write(changes(("+I", 1, "a"), ("+I", 2, "a"), ("+I", 3, "a")))
        writer.write(changes(("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, "a")))
        checkpoint(writer, 1)
        assert to.told() == [(b"1", b"1,b"), (b"2", None), (b"3", b"3,a")]
        writer.write(changes(("-U", 3, "a"), ("+U", 3, "b"), ("-D", 3, "b"), ("+I", 3, "c")))
        checkpoint(writer, 2)
        assert to.told() == [(b"1", b"1,b"), (b"2", None), (b"3", b"3,a"), (b"3", b"3,c")]
    finally:
        to.close()
