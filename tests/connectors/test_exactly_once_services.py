"""Jobs between real services are killed before and after each step and each request that makes something last, at random
moments, and their services are killed too: at the end the sink is what the source is."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bergsql.engine.streaming.jobs.status import JobState
from tests.support.faults import Fault, Kind, Mode
from tests.support.jobs import DEADLINE
from tests.support.service_pipelines import (
    ChangesToIceberg,
    CountsToMySQL,
    MessagesToIceberg,
    MessagesToMessages,
    Pipeline,
    Place,
    changes,
    closed,
    counts,
    faulty,
    messages,
    place,
    topics,
)
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.server import until
from tests.support.wire_proxy import proxied

Proxied = ChangesToIceberg | CountsToMySQL | MessagesToIceberg | MessagesToMessages


def killed_at(pipeline: Proxied, requests: tuple[str, ...]) -> None:
    """Kill the job before and after each of the requests, with changes coming, and resume it each time."""
    pipeline.start()
    pipeline.load()
    pipeline.settle()
    for request in requests:
        for after in (False, True):
            fault = pipeline.proxy.arm(request, after=after, kill=pipeline.pid)
            pipeline.load()
            assert fault.fired.wait(DEADLINE), f"nobody asked for {request}"
            pipeline.load()
            pipeline.resume()
            pipeline.settle()


def killed_at_steps(pipeline: Pipeline, steps: tuple[tuple[Kind, str, int], ...]) -> None:
    """Kill the job before and behind each of the steps, told by what they do to which file, in whose path ``{job}`` is
    the job's, and the how manieth of a process it is; with changes there that it has not read."""
    pipeline.start()
    pipeline.load()
    pipeline.settle()
    pipeline.kill()
    for kind, path, at in steps:
        for mode in (Mode.KILL, Mode.TEAR):
            pipeline.load()
            pipeline.resume(Fault(mode, at, kinds=frozenset({kind}), path=path.format(job=pipeline.id)))
            ran = pipeline.died()
            assert ran is not None
            assert (ran.code, ran.fired) == (-9, True), f"{path}: {ran}"
    pipeline.resume()
    pipeline.load()
    pipeline.settle()


def killed_at_random(pipeline: Pipeline, seed: int, times: int) -> None:
    """Kill the job while its source changes all the time, in turns shortly after it has made checkpoints and shortly
    after it began to run; each has to go on from the checkpoints of those before."""
    rng = random.Random(seed)
    made = 0
    pipeline.start()
    with pipeline.loading():
        for turn in range(times):
            pipeline.jobs.until_state(pipeline.id, JobState.RUNNING)
            if turn % 2 == 0:
                figures = pipeline.jobs.until_checkpoint(pipeline.id).status.metrics
                assert figures["checkpoint"] > made
                made = figures["checkpoint"]
            moment = time.monotonic() + rng.random() * 0.6
            until("the moment", lambda moment=moment: time.monotonic() >= moment)
            assert pipeline.job.state is JobState.RUNNING, pipeline.job.status.error
            pipeline.kill()
            pipeline.resume()
    pipeline.load()
    pipeline.settle()


STATE = (Kind.SYNC, "/state/data.mdb", 0), (Kind.SYNC, "/state/data.mdb", 1)
"""A checkpoint; and the next, or the note that sinks have the one before."""
FILES = (
    (Kind.SYNC, "/files-m0.avro", 0),
    (Kind.SYNC, "/files.json", 0),
    (Kind.RENAME, "/data/staging-", 0),
    (Kind.SYNC, ".parquet", 0),
)
"""What is prepared for a table."""
ROWS = ((Kind.SYNC, ".rows", 0),)
"""What is prepared for another sink."""
SNAPSHOT = (Kind.SYNC, "/metadata/{job}-", 0), (Kind.SYNC, "/metadata/snap-", 0)
"""A manifest of a snapshot, and its list of them."""
DIRECTORY = (Kind.LINK, ".metadata.json", 0), (Kind.RENAME, "version-hint", 0)
"""The commit of a table that is a directory."""
METASTORE = ((Kind.SYNC, ".metadata.json", 0),)
"""What is made before a metastore is asked for the commit of a table."""
TRANSACTION = ("AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")


def test_changes_of_a_table_go_to_iceberg_once(changes: ChangesToIceberg) -> None:
    killed_at(changes, ("^lock$", "^alter_table", "^unlock$"))


def test_changes_go_to_iceberg_once_at_steps(changes: ChangesToIceberg) -> None:
    killed_at_steps(changes, (*FILES, *STATE, *SNAPSHOT, *METASTORE))


def test_messages_go_to_iceberg_once(messages: MessagesToIceberg) -> None:
    killed_at_steps(messages, (*FILES, *STATE, *SNAPSHOT, *DIRECTORY))


def test_offsets_of_a_group_are_no_step(messages: MessagesToIceberg) -> None:
    killed_at(messages, ("^OffsetCommit$",))


def test_counts_go_to_mysql_once(counts: CountsToMySQL) -> None:
    killed_at(counts, ("(?i)^insert into .once.*|^insert into", "(?i)^commit"))


def test_counts_go_to_mysql_once_at_steps(counts: CountsToMySQL) -> None:
    killed_at_steps(counts, (*ROWS, *STATE))


def test_messages_go_to_messages_once(topics: MessagesToMessages) -> None:
    killed_at(topics, tuple(f"^{request}$" for request in TRANSACTION))
    for after in (False, True):
        topics.kill()
        fault = topics.proxy.arm("^InitProducerId$", after=after, kill=topics.pid)  # only a start asks for it
        topics.resume()
        topics.load()
        assert fault.fired.wait(DEADLINE)
    topics.resume()
    topics.settle()


def test_messages_go_to_messages_once_at_steps(topics: MessagesToMessages) -> None:
    killed_at_steps(topics, (*ROWS, *STATE))


@pytest.mark.parametrize("name", ["changes", "messages", "counts", "topics"])
@pytest.mark.parametrize(
    "times", [3, pytest.param(10, marks=pytest.mark.long), pytest.param(11, marks=pytest.mark.long)]
)
def test_killed_at_random_moments(request: pytest.FixtureRequest, name: str, times: int) -> None:
    pipeline = request.getfixturevalue(name)
    assert isinstance(pipeline, Pipeline)
    killed_at_random(pipeline, times, times)


RESTARTING = (
    "SET 'execution.checkpointing.interval' = '50 ms'",
    "SET 'restart-strategy.type' = 'fixed-delay'",
    "SET 'restart-strategy.fixed-delay.delay' = '50 ms'",
    "SET 'restart-strategy.fixed-delay.attempts' = '10000'",
)
"""The job begins again by itself."""


def test_a_connection_that_is_cut_again_and_again(counts: CountsToMySQL) -> None:
    counts.settings = RESTARTING
    counts.start()
    counts.load()
    counts.settle()
    for after in (False, True):
        fault = counts.proxy.arm("(?i)^commit", after=after)
        counts.load()
        assert fault.fired.wait(DEADLINE)
        counts.settle()
    assert counts.job.state is JobState.RUNNING


def test_connections_that_are_cut_around_each_request(topics: MessagesToMessages) -> None:
    topics.start()
    for request in TRANSACTION:
        for after in (False, True):
            fault = topics.proxy.arm(f"^{request}$", after=after)
            topics.load()
            assert fault.fired.wait(DEADLINE), request
            topics.settle()


def test_a_metastore_that_is_killed_and_brought_back(mariadb: MariaDB, place: Place) -> None:
    own = Hive()
    try:
        own.start()
        with proxied("hive", own.port) as proxy, closed(ChangesToIceberg(mariadb, own, proxy, place)) as pipeline:
            pipeline.settings = RESTARTING
            pipeline.start()
            pipeline.load()
            pipeline.settle()
            own.kill()
            pipeline.load()
            pipeline.jobs.until_state(pipeline.id, JobState.RESTARTING)
            own.start()
            pipeline.settle()
    finally:
        own.close()


@pytest.mark.parametrize("kind", [MessagesToIceberg, MessagesToMessages])
def test_a_broker_that_is_killed_and_brought_back(
    place: Place, kind: type[MessagesToIceberg] | type[MessagesToMessages]
) -> None:
    """Messages are sent while it is away. No transaction is open then: the broker of the tests would not know of it
    any more, and show nothing that comes behind it."""
    own = Kafka()
    try:
        own.start()
        with proxied("kafka", own.port) as proxy, closed(kind(own, proxy, place)) as pipeline:
            pipeline.settings = RESTARTING
            pipeline.start()
            pipeline.load()
            pipeline.settle()
            own.kill()
            with ThreadPoolExecutor() as pool:
                sent = pool.submit(pipeline.load)
                until(
                    "note of the job that no broker answers",
                    lambda: "No broker answers" in pipeline.job.log.read_text(),
                )
                assert not sent.done()
                own.start()
                sent.result()
            pipeline.settle()
            pipeline.load()
            pipeline.settle()
            assert pipeline.job.state is JobState.RUNNING
    finally:
        own.close()


__all__ = ["changes", "counts", "faulty", "messages", "place", "topics"]  # fixtures
