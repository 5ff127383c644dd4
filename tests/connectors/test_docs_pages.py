"""The pipelines in docs/connectors run: their blocks, in order, beside real services.

``mysql``, ``postgres``: statements that somebody gives there. ``kafka topic=NAME``: a new topic, a message a line. ``sql``: bergsql, all
blocks of a page in one session; of the block before a ``text`` the last statement is a query, which gives that result in
the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.splitter import Splitter
from tests.support.berg import Berg
from tests.support.jobs import jobs_of
from tests.support.services import mariadb as mariadb_of
from tests.support.services import postgres as postgres_of
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres
from tests.support.services.server import until
from tests.support.shared import ROOT

PAGES = sorted((ROOT / "docs" / "connectors").glob("*.md"))
T = TypeVar("T")


class Block(NamedTuple):
    kind: str
    about: str
    text: str


def blocks(page: Path) -> list[Block]:
    found = re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [Block(*parts) for parts in found]


class Told:
    """What ``${NAME}`` stands for, and what does the work of each kind of block; services start when they are named."""

    def __init__(self, request: pytest.FixtureRequest, berg: Berg, session: Session) -> None:
        self._request, self._berg, self._session = request, berg, session

    def value(self, name: str) -> str:
        if name == "WAREHOUSE":
            return str(self._berg.warehouse)
        if name in _KAFKA:
            return _KAFKA[name](self.service("kafka", Kafka))
        if name in _MYSQL:
            return _MYSQL[name](self.service("mariadb", MariaDB))
        if name in _POSTGRES:
            return _POSTGRES[name](self.service("postgres", Postgres))
        return _HIVE[name](self.service("hive", Hive))

    def service(self, name: str, kind: type[T]) -> T:
        found = self._request.getfixturevalue(name)
        assert isinstance(found, kind)
        return found

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda m: self.value(m[1]), text)

    def do(self, block: Block) -> str | None:
        """Do what a block says; of bergsql's the last statement is given back."""
        match block.kind:
            case "mysql":
                self.service("mariadb", MariaDB).run(*statements(block.text))
            case "postgres":
                self.service("postgres", Postgres).run(*statements(block.text))
            case "kafka":
                kafka, topic = self.service("kafka", Kafka), block.about.removeprefix("topic=")
                kafka.create(topic)
                kafka.send(topic, block.text.splitlines())
            case "sql":
                given = statements(self.filled(block.text))
                for statement in given[:-1]:
                    self._session.execute(statement).close()
                return given[-1]
        return None

    def run(self, statement: str) -> None:
        self._session.execute(statement).close()

    def becomes(self, query: str, table: str) -> None:
        """A query gives the rows of a drawn table, in the end."""
        cells = [[c.strip() for c in line.strip("|").split(" | ")] for line in table.splitlines() if line[:1] == "|"]
        wanted = [[cell.strip() for cell in row] for row in cells[1:]]
        assert wanted, table
        seen: list[list[str]] = []

        def holds() -> bool:
            result = self._session.execute(query)
            try:
                seen[:] = [["<NULL>" if v is None else str(v) for v in row] for row in result.rows()]
            finally:
                result.close()
            return seen == wanted

        try:
            until(query, holds, 60)
        except AssertionError:
            assert seen == wanted, query


_KAFKA: Mapping[str, Callable[[Kafka], str]] = {"KAFKA": lambda s: s.address}
_MYSQL: Mapping[str, Callable[[MariaDB], str]] = {
    "MYSQL_HOST": lambda _: "127.0.0.1",
    "MYSQL_PORT": lambda s: str(s.port),
    "MYSQL_USER": lambda _: mariadb_of.USER,
    "MYSQL_PASSWORD": lambda _: mariadb_of.PASSWORD,
    "MYSQL_URL": lambda s: f"jdbc:mysql://{s.address}",
}
_POSTGRES: Mapping[str, Callable[[Postgres], str]] = {
    "PG_HOST": lambda _: "127.0.0.1",
    "PG_PORT": lambda s: str(s.port),
    "PG_USER": lambda _: postgres_of.USER,
    "PG_URL": lambda s: f"jdbc:postgresql://{s.address}/postgres",
}
_HIVE: Mapping[str, Callable[[Hive], str]] = {"HMS_URI": lambda s: s.uri}


def statements(text: str) -> list[str]:
    splitter = Splitter(lambda: Flavour.FLINK)
    return [statement.text for statement in (*splitter.feed(text), *splitter.finish())]


@pytest.fixture
def session(berg: Berg) -> Iterator[Session]:
    made = Session(SessionConfig(home=berg.home))
    with jobs_of(berg):
        try:
            yield made
        finally:
            made.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_pipelines_of_a_page(page: Path, request: pytest.FixtureRequest, berg: Berg, session: Session) -> None:
    told = Told(request, berg, session)
    told.run("SET 'execution.checkpointing.interval' = '200 ms'")
    last: str | None = None
    for block in blocks(page):
        if block.kind == "text":
            assert last is not None, "a result stands behind its query"
            told.becomes(last, block.text)
            last = None
            continue
        if last is not None:
            told.run(last)
        last = told.do(block)
    if last is not None:
        told.run(last)
