"""Jobs between real services are killed before and after each request that makes something last, at random moments, and
their services are killed too: at the end the sink is what the source is."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import psutil
import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, Jobs, jobs_of, process
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until
from tests.support.wire_proxy import WireProxy, proxied

KEYED = "id INT NOT NULL, k INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
_names = count()


class Pipeline(ABC):
    """A job between services. ``proxies`` lead to what it writes to, by the name of the protocol."""

    settings: tuple[str, ...] = (
        "SET 'execution.checkpointing.interval' = '50 ms'",
        "SET 'restart-strategy.type' = 'none'",
    )

    def __init__(self, berg: Berg, jobs: Jobs, session: Session) -> None:
        self.berg, self.jobs, self.session = berg, jobs, session
        self.name = f"services{next(_names)}"
        self._number = 0
        self.id = ""

    @abstractmethod
    def statements(self) -> list[str]:
        """Those that make tables and start the job."""

    @abstractmethod
    def load(self) -> None:
        """Change the source."""

    @abstractmethod
    def same(self) -> bool:
        """Whether the sink is what the source is."""

    def start(self) -> None:
        self.id = self.jobs.submit(*self.settings, *self.statements()).id

    @property
    def job(self) -> Job:
        return self.jobs.job(self.id)

    def pid(self) -> int:
        return self.job.status.pid

    def kill(self) -> None:
        with suppress(psutil.NoSuchProcess):
            run = process(self.job)
            run.kill()
            run.wait(DEADLINE)

    def resume(self) -> None:
        """Go on, when the process has gone."""
        self.jobs.until_state(self.id, JobState.LOST, JobState.FAILED)
        done = self.jobs.command("resume", self.id)
        assert done.code == 0, done.err

    def numbers(self, most: int) -> range:
        first = self._number
        self._number += most
        return range(first, self._number)

    def settle(self) -> None:
        until("sink that is as the source", self.same, DEADLINE)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        result = self.session.execute(query)
        try:
            return sorted(tuple(row) for row in result.rows())
        finally:
            result.close()


class ChangesToIceberg(Pipeline):
    """MariaDB → an upsert table of a Hive catalog."""

    def __init__(self, mariadb: MariaDB, hive: Hive, proxy: WireProxy, *more: Any) -> None:
        super().__init__(*more)
        self.mariadb = mariadb
        mariadb.run(
            "CREATE DATABASE IF NOT EXISTS once",
            f"CREATE TABLE once.{self.name} (id INT PRIMARY KEY, k INT, v VARCHAR(20))",
        )
        # The lock of a job that died while it asked for a change is in doubt for a sixth of the time.
        options = f"'warehouse'='{self.berg.warehouse}', 'iceberg.hive.lock-timeout-ms'='18000'"
        self.catalog = f"CREATE CATALOG {{}} WITH ('type'='iceberg', 'catalog-type'='hive', 'uri'='{{}}', {options})"
        self.session.execute(self.catalog.format("h", hive.uri)).close()
        self.session.execute(f"CREATE DATABASE h.{self.name}").close()
        self.proxy = proxy
        self.load()

    def statements(self) -> list[str]:
        options = {
            "connector": "mysql-cdc",
            "hostname": "127.0.0.1",
            "port": self.mariadb.port,
            "username": USER,
            "password": PASSWORD,
            "database-name": "once",
            "table-name": self.name,
            "scan.incremental.snapshot.chunk.size": 10,
        }
        text = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
        return [
            self.catalog.format("p", f"thrift://{self.proxy.address}"),
            f"CREATE TABLE src ({KEYED}) WITH ({text})",
            f"CREATE TABLE p.{self.name}.t ({KEYED}) WITH ('format-version'='2')",
            f"INSERT INTO p.{self.name}.t SELECT * FROM src",
        ]

    def load(self) -> None:
        rows = [(n, n % 5, f"v{n}") for n in self.numbers(40)]
        self.mariadb.run_many(f"INSERT INTO once.{self.name} VALUES (%s, %s, %s)", rows)
        self.mariadb.run(
            f"UPDATE once.{self.name} SET v = concat(v, '+') WHERE k = {self._number % 5}",
            f"DELETE FROM once.{self.name} WHERE id % 7 = {self._number % 7}",
            f"UPDATE once.{self.name} SET id = id + 100000 WHERE id % 11 = 3 AND id < 100000",
        )

    def same(self) -> bool:
        wanted = sorted(self.mariadb.run(f"SELECT id, k, v FROM once.{self.name}"))
        return self.rows(f"SELECT id, k, v FROM h.{self.name}.t") == wanted


class MessagesToIceberg(Pipeline):
    """Kafka → an append table."""

    def __init__(self, kafka: Kafka, proxy: WireProxy, *more: Any) -> None:
        super().__init__(*more)
        self.kafka, self.proxy = kafka, proxy
        kafka.create(self.name, 3)
        self.session.execute(
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{self.berg.warehouse}')"
        ).close()

    def statements(self) -> list[str]:
        options = (
            f"'connector'='kafka', 'topic'='{self.name}', 'properties.bootstrap.servers'='{self.proxy.address}', "
            "'format'='csv', 'scan.startup.mode'='earliest-offset'"
        )
        return [
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{self.berg.warehouse}')",
            f"CREATE TABLE src (id INT, v STRING) WITH ({options})",
            "CREATE DATABASE c.d",
            "CREATE TABLE c.d.t (id INT, v STRING)",
            "INSERT INTO c.d.t SELECT * FROM src",
        ]

    def load(self) -> None:
        self.kafka.send(self.name, [f"{n},v{n}" for n in self.numbers(200)])

    def same(self) -> bool:
        return self.rows("SELECT id, v FROM c.d.t") == [(n, f"v{n}") for n in range(self._number)]


class CountsToMySQL(Pipeline):
    """An Iceberg table → a count → MariaDB; and each row into a table without a key."""

    def __init__(self, mariadb: MariaDB, proxy: WireProxy, *more: Any) -> None:
        super().__init__(*more)
        self.mariadb, self.proxy = mariadb, proxy
        mariadb.run(
            "CREATE DATABASE IF NOT EXISTS once",
            f"CREATE TABLE once.{self.name} (k INT PRIMARY KEY, n BIGINT, s BIGINT)",
            f"CREATE TABLE once.{self.name}_all (id INT)",
        )
        self.catalog = (
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{self.berg.warehouse}')"
        )
        for statement in (self.catalog, "CREATE DATABASE c.d", "CREATE TABLE c.d.src (id INT, k INT)"):
            self.session.execute(statement).close()

    def statements(self) -> list[str]:
        options = f"'connector'='jdbc', 'url'='jdbc:mysql://{self.proxy.address}/once', 'username'='{USER}', 'password'='{PASSWORD}'"
        read = "c.d.src /*+ OPTIONS('streaming'='true', 'monitor-interval'='20 ms') */"
        return [
            self.catalog,
            f"CREATE TABLE counts (k INT NOT NULL, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ({options}, 'table-name'='{self.name}')",
            f"CREATE TABLE seen (id INT) WITH ({options}, 'table-name'='{self.name}_all')",
            "EXECUTE STATEMENT SET BEGIN "
            f"INSERT INTO counts SELECT k, COUNT(*), SUM(id) FROM {read} GROUP BY k; INSERT INTO seen SELECT id FROM {read}; END",
        ]

    def load(self) -> None:
        for _ in range(2):
            values = ", ".join(f"({n}, {n % 7})" for n in self.numbers(30))
            self.session.execute(f"INSERT INTO c.d.src VALUES {values}").close()

    def same(self) -> bool:
        ids = range(self._number)
        counts, sums = Counter(n % 7 for n in ids), Counter[int]()
        for n in ids:
            sums[n % 7] += n
        return self.mariadb.run(f"SELECT * FROM once.{self.name} ORDER BY k") == [
            (k, counts[k], sums[k]) for k in sorted(counts)
        ] and self.mariadb.run(f"SELECT id FROM once.{self.name}_all ORDER BY id") == [(n,) for n in ids]


@pytest.fixture
def place(berg: Berg) -> Iterator[tuple[Berg, Jobs, Session]]:
    session = Session(SessionConfig(home=berg.home))
    with jobs_of(berg) as jobs:
        yield berg, jobs, session
    session.close()


@pytest.fixture
def changes(mariadb: MariaDB, hive: Hive, place: tuple[Berg, Jobs, Session]) -> Iterator[ChangesToIceberg]:
    with proxied("hive", hive.port) as proxy:
        yield ChangesToIceberg(mariadb, hive, proxy, *place)


@pytest.fixture
def messages(kafka: Kafka, place: tuple[Berg, Jobs, Session]) -> Iterator[MessagesToIceberg]:
    with proxied("kafka", kafka.port) as proxy:
        yield MessagesToIceberg(kafka, proxy, *place)


@pytest.fixture
def counts(mariadb: MariaDB, place: tuple[Berg, Jobs, Session]) -> Iterator[CountsToMySQL]:
    with proxied("mysql", mariadb.port) as proxy:
        yield CountsToMySQL(mariadb, proxy, *place)


def killed_at(pipeline: ChangesToIceberg | CountsToMySQL, requests: tuple[str, ...]) -> None:
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


def killed_at_random(pipeline: Pipeline, seed: int, times: int) -> None:
    rng = random.Random(seed)
    pipeline.start()
    for _ in range(times):
        pipeline.load()
        begun = time.monotonic() + rng.random() * 0.6
        until("the moment", lambda begun=begun: time.monotonic() >= begun)
        pipeline.kill()
        pipeline.load()
        pipeline.resume()
    pipeline.load()
    pipeline.settle()


def test_changes_of_a_table_go_to_iceberg_once(changes: ChangesToIceberg) -> None:
    killed_at(changes, ("^lock$", "^alter_table", "^unlock$"))


def test_counts_go_to_mysql_once(counts: CountsToMySQL) -> None:
    killed_at(counts, ("(?i)^insert into .once.*|^insert into", "(?i)^commit"))


@pytest.mark.parametrize("name", ["changes", "messages", "counts"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 7))])
def test_killed_at_random_moments(request: pytest.FixtureRequest, name: str, seed: int) -> None:
    pipeline = request.getfixturevalue(name)
    assert isinstance(pipeline, Pipeline)
    killed_at_random(pipeline, seed, 2)


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


def test_a_metastore_that_is_killed_and_brought_back(mariadb: MariaDB, place: tuple[Berg, Jobs, Session]) -> None:
    own = Hive()
    try:
        own.start()
        with proxied("hive", own.port) as proxy:
            pipeline = ChangesToIceberg(mariadb, own, proxy, *place)
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


def test_a_broker_that_is_killed_and_brought_back(place: tuple[Berg, Jobs, Session]) -> None:
    own = Kafka()
    try:
        own.start()
        with proxied("kafka", own.port) as proxy:
            pipeline = MessagesToIceberg(own, proxy, *place)
            pipeline.settings = RESTARTING
            pipeline.start()
            pipeline.load()
            pipeline.settle()
            own.kill()
            own.start()
            pipeline.load()
            pipeline.settle()
            assert pipeline.job.state is JobState.RUNNING
    finally:
        own.close()
