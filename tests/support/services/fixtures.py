"""One of each service for all tests of a worker that ask for it. A test uses names of its own (databases; topics are removed behind it).

A test that kills a service starts one of its own instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres
from tests.support.services.server import Server


def _running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def broker() -> Iterator[Server]:
    yield from _running(Kafka())


@pytest.fixture
def kafka(broker: Kafka) -> Iterator[Kafka]:
    """Topics are gone behind each test: examples and pages of the docs call theirs alike."""
    yield broker
    broker.clear()


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    yield from _running(MariaDB())


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    yield from _running(Postgres())


@pytest.fixture(scope="session")
def hive() -> Iterator[Server]:
    yield from _running(Hive())
