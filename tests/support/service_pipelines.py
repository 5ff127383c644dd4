"""Jobs between real services: what is in their sources, what must be in their sinks, and how they are killed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, TypeVar

import psutil
import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.faults import NONE, Fault, Faults, Ran, faults
from tests.support.jobs import DEADLINE, Jobs, jobs_of, process
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until
from tests.support.wire_proxy import WireProxy, proxied

KEYED = "id INT NOT NULL, k INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
_PAUSE = 0.05
"""Seconds between two changes of a source while a job runs."""
_names = count()
T = TypeVar("T", bound="Pipeline")


class Place(NamedTuple):
    """Where a pipeline is."""

    berg: Berg
    jobs: Jobs
    session: Session
    faulty: Faults


class Pipeline(ABC):
    """A job between services. ``proxies`` lead to what it writes to, by the name of the protocol."""

    settings: tuple[str, ...] = (
        "SET 'execution.checkpointing.interval' = '50 ms'",
        "SET 'restart-strategy.type' = 'none'",
    )

    def __init__(self, place: Place) -> None:
        self.berg, self.jobs, self.session, self._faulty = place
        self.name = f"services{next(_names)}"
        self._number = 0
        self._forked = False
        self.id = ""

    @abstractmethod
    def statements(self) -> list[str]:
        """Those that make tables and start the job."""

    @abstractmethod
    def load(self) -> None:
        """Change the source."""

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Change the source over and over meanwhile."""
        over = Event()

        def load() -> None:
            while not over.wait(_PAUSE):
                self.load()

        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(load)
            try:
                yield
            finally:
                over.set()
            work.result()

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

    def died(self) -> Ran | None:
        """Wait until the process has gone; how it went, if :meth:`resume` began it."""
        if not self._forked:
            self.jobs.until_state(self.id, JobState.LOST, JobState.FAILED)
            return None
        self._forked = False
        return self._faulty.ended()

    def resume(self, fault: Fault = NONE) -> None:
        """Go on when the process has gone, in one that begins faster than ``bergsql jobs resume``'s."""
        self.died()
        before = self.pid()
        arguments = [str(self.job.directory)]
        self._faulty.start(arguments, Path("/tmp"), fault, module="bergsql.engine.streaming.jobs.process")
        self._forked = True
        self.jobs.until(self.id, lambda job: job.status.pid != before)

    def close(self) -> None:
        if self._forked:
            self.kill()
            self.died()

    def numbers(self, most: int) -> range:
        first = self._number
        self._number += most
        return range(first, self._number)

    def settle(self) -> None:
        def same() -> bool:
            job = self.job
            assert job.state is not JobState.FAILED, job.status.error
            return self.same()

        until("sink that is as the source", same, DEADLINE)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        result = self.session.execute(query)
        try:
            return sorted(tuple(row) for row in result.rows())
        finally:
            result.close()


class ChangesToIceberg(Pipeline):
    """MariaDB → an upsert table of a Hive catalog."""

    def __init__(self, mariadb: MariaDB, hive: Hive, proxy: WireProxy, place: Place) -> None:
        super().__init__(place)
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

    def __init__(self, kafka: Kafka, proxy: WireProxy, place: Place) -> None:
        super().__init__(place)
        self.kafka, self.proxy = kafka, proxy
        kafka.create(self.name, 3)
        self.session.execute(
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{self.berg.warehouse}')"
        ).close()

    def statements(self) -> list[str]:
        options = (
            f"'connector'='kafka', 'topic'='{self.name}', 'properties.bootstrap.servers'='{self.proxy.address}', "
            f"'format'='csv', 'scan.startup.mode'='earliest-offset', 'properties.group.id'='{self.name}'"
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

    def __init__(self, mariadb: MariaDB, proxy: WireProxy, place: Place) -> None:
        super().__init__(place)
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


class MessagesToMessages(Pipeline):
    """Kafka → Kafka; ``proxy`` leads to what it writes to."""

    def __init__(self, kafka: Kafka, proxy: WireProxy, place: Place) -> None:
        super().__init__(place)
        self.kafka, self.proxy = kafka, proxy
        self._in, self._out = f"{self.name}_in", f"{self.name}_out"
        for topic in (self._in, self._out):
            kafka.create(topic, 2)

    def statements(self) -> list[str]:
        given = "'connector'='kafka', 'topic'='{}', 'properties.bootstrap.servers'='{}', 'format'='csv'"
        read = given.format(self._in, self.kafka.address)
        return [
            f"CREATE TABLE a (n INT) WITH ({read}, 'scan.startup.mode'='earliest-offset')",
            f"CREATE TABLE b (n INT, sq BIGINT) WITH ({given.format(self._out, self.proxy.address)})",
            "INSERT INTO b SELECT n, CAST(n AS BIGINT) * n FROM a",
        ]

    def load(self) -> None:
        self.kafka.send(self._in, map(str, self.numbers(200)))

    def same(self) -> bool:
        found = sorted(int((m.value() or b"").split(b",")[0]) for m in self.kafka.messages(self._out))
        assert len(found) == len(set(found)), "messages are there twice"
        return found == list(range(self._number))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture
def place(berg: Berg, faulty: Faults) -> Iterator[Place]:
    session = Session(SessionConfig(home=berg.home))
    with jobs_of(berg) as jobs:
        yield Place(berg, jobs, session, faulty)
    session.close()


@contextmanager
def closed(pipeline: T) -> Iterator[T]:
    try:
        yield pipeline
    finally:
        pipeline.close()


@pytest.fixture
def changes(mariadb: MariaDB, hive: Hive, place: Place) -> Iterator[ChangesToIceberg]:
    with proxied("hive", hive.port) as proxy, closed(ChangesToIceberg(mariadb, hive, proxy, place)) as made:
        yield made


@pytest.fixture
def messages(kafka: Kafka, place: Place) -> Iterator[MessagesToIceberg]:
    with proxied("kafka", kafka.port) as proxy, closed(MessagesToIceberg(kafka, proxy, place)) as made:
        yield made


@pytest.fixture
def counts(mariadb: MariaDB, place: Place) -> Iterator[CountsToMySQL]:
    with proxied("mysql", mariadb.port) as proxy, closed(CountsToMySQL(mariadb, proxy, place)) as made:
        yield made


@pytest.fixture
def topics(kafka: Kafka, place: Place) -> Iterator[MessagesToMessages]:
    with proxied("kafka", kafka.port) as proxy, closed(MessagesToMessages(kafka, proxy, place)) as made:
        yield made
