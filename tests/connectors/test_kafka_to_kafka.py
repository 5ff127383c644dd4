"""A job from topic to topic writes each message once: killed around each request of its transactions, and at any time."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import count

import pytest

from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.jobs import FAST, Jobs, jobs_of, process
from tests.support.services.kafka import Kafka
from tests.support.services.server import until
from tests.support.wire_proxy import WireProxy, proxied

_topics = count()
_REQUESTS = ("InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")


class _Pipeline:
    """Numbers go into one topic, and a job writes them to another, through a proxy."""

    def __init__(self, jobs: Jobs, kafka: Kafka, proxy: WireProxy) -> None:
        number = next(_topics)
        self._in, self._out = f"pipe_in{number}", f"pipe_out{number}"
        self._jobs, self._kafka, self._sent = jobs, kafka, 0
        kafka.create(self._in, 2)
        kafka.create(self._out, 2)
        given = "'connector'='kafka', 'topic'='{}', 'properties.bootstrap.servers'='{}', 'format'='csv'"
        self.job = jobs.submit(
            FAST,
            f"CREATE TABLE a (n INT) WITH ({given.format(self._in, kafka.address)},"
            " 'scan.startup.mode'='earliest-offset')",
            f"CREATE TABLE b (n INT, sq BIGINT) WITH ({given.format(self._out, proxy.address)})",
            "INSERT INTO b SELECT n, CAST(n AS BIGINT) * n FROM a",
        )

    def running(self) -> Job:
        return self._jobs.until_state(self.job.id, JobState.RUNNING)

    def pid(self) -> int:
        return int(process(self._jobs.job(self.job.id)).pid)

    def send(self, count: int) -> None:
        numbers = range(self._sent, self._sent + count)
        self._kafka.send(self._in, map(str, numbers))
        self._sent += count

    def kill(self) -> None:
        process(self._jobs.job(self.job.id)).kill()

    def start(self) -> None:
        """Let the job go on; it may be killed before it runs."""
        self._jobs.until_state(self.job.id, JobState.LOST)
        self._jobs.command("resume", self.job.id)

    def resume(self) -> None:
        self.start()
        self.running()

    def arrive(self) -> None:
        """Wait until what was sent is there: nothing of it twice."""

        def there() -> bool:
            return len(self._kafka.messages(self._out)) >= self._sent

        until("the messages", there, 60)
        found = sorted(int((m.value() or b"").split(b",")[0]) for m in self._kafka.messages(self._out))
        assert found == list(range(self._sent))


@pytest.fixture
def proxy(kafka: Kafka) -> Iterator[WireProxy]:
    with proxied("kafka", int(kafka.address.rpartition(":")[2])) as made:
        yield made


@pytest.fixture
def pipeline(berg: Berg, kafka: Kafka, proxy: WireProxy) -> Iterator[_Pipeline]:
    with jobs_of(berg) as jobs:
        made = _Pipeline(jobs, kafka, proxy)
        made.running()
        yield made


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_job_is_killed_around_each_request(pipeline: _Pipeline, proxy: WireProxy, after: bool) -> None:
    pipeline.send(10)
    pipeline.arrive()
    for request in _REQUESTS:
        if request == "InitProducerId":  # only a start asks for it
            pipeline.kill()
        fault = proxy.arm(f"^{request}$", after=after, kill=pipeline.pid)
        if request == "InitProducerId":
            pipeline.start()
        pipeline.send(50)
        assert fault.fired.wait(30), request
        pipeline.resume()
        pipeline.arrive()


@pytest.mark.long
def test_a_job_is_killed_at_any_time(pipeline: _Pipeline) -> None:
    moments = random.Random(7)
    for _ in range(10):
        pipeline.send(300)
        time.sleep(moments.uniform(0.0, 0.6))
        pipeline.send(300)
        pipeline.kill()
        pipeline.resume()
    pipeline.arrive()


def test_connections_are_cut_at_any_request(pipeline: _Pipeline, proxy: WireProxy) -> None:
    for request in _REQUESTS[1:]:
        for after in (False, True):
            fault = proxy.arm(f"^{request}$", after=after)
            pipeline.send(20)
            assert fault.fired.wait(30), request
            pipeline.arrive()
