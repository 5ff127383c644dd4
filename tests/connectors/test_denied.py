"""Servers that do not let us in: one exit code and one kind of error, whatever connector asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.shell.exits import ExitCode, exit_code_of
from tests.support.services.mariadb import MariaDB
from tests.support.services.postgres import Postgres

PACKAGE = "package is required for ed25519"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(SessionConfig(home=tmp_path / "home"))
    yield made
    made.close()


def check(session: Session, options: dict[str, str], said: str) -> None:
    """A table with these options cannot be read, for a reason that lasts."""
    given = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
    session.execute(f"CREATE TEMPORARY TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ({given})").close()
    with pytest.raises(BergError, match=said) as told:
        list(session.execute("SELECT * FROM t").rows())
    session.execute("DROP TEMPORARY TABLE t").close()
    assert told.value.code == "CONFIG"
    assert exit_code_of(told.value) is ExitCode.CONFIGURATION


@pytest.mark.parametrize(
    ("user", "said"),
    [("cdc", "Access denied"), ("locked", "locked"), ("new", PACKAGE), ("poor", "Access denied|may not read")],
)
def test_users_whom_mysql_refuses(mariadb: MariaDB, session: Session, user: str, said: str) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS denied",
        "CREATE TABLE IF NOT EXISTS denied.t (a INT PRIMARY KEY)",
        "INSTALL PLUGIN IF NOT EXISTS ed25519 SONAME 'auth_ed25519'",
        "CREATE OR REPLACE USER locked@127.0.0.1 IDENTIFIED BY 'falsch' ACCOUNT LOCK",
        "CREATE OR REPLACE USER new@127.0.0.1 IDENTIFIED VIA ed25519 USING PASSWORD('falsch')",
        "CREATE OR REPLACE USER poor@127.0.0.1 IDENTIFIED BY 'falsch'",
    )
    login = {"username": user, "password": "falsch"}
    check(
        session,
        {"connector": "jdbc", "url": f"jdbc:mysql://{mariadb.address}/denied", "table-name": "t", **login},
        said,
    )
    place = {"hostname": "127.0.0.1", "port": str(mariadb.port), "database-name": "denied", "table-name": "t"}
    check(session, {"connector": "mysql-cdc", **place, **login}, said)


def test_a_password_in_any_script(mariadb: MariaDB, session: Session) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS let_in",
        "CREATE TABLE IF NOT EXISTS let_in.t (a INT PRIMARY KEY)",
        "CREATE OR REPLACE USER let_in@127.0.0.1 IDENTIFIED BY 'pä密'",
        "GRANT ALL ON *.* TO let_in@127.0.0.1",
    )
    login = "'username'='let_in', 'password'='pä密', 'table-name'='t'"
    url = f"jdbc:mysql://{mariadb.address}/let_in"
    place = f"'hostname'='127.0.0.1', 'port'='{mariadb.port}', 'database-name'='let_in'"
    for n, given in enumerate((f"'connector'='jdbc', 'url'='{url}'", f"'connector'='mysql-cdc', {place}")):
        table = f"t{n} (a INT, PRIMARY KEY (a) NOT ENFORCED)"
        session.execute(f"CREATE TEMPORARY TABLE {table} WITH ({given}, {login})").close()
        session.execute(f"EXPLAIN SELECT * FROM t{n}").close()


@pytest.mark.parametrize(("user", "said"), [("x_nobody", "role .* does not exist"), ("x_bar", "not permitted to log")])
def test_users_whom_postgres_refuses(postgres: Postgres, session: Session, user: str, said: str) -> None:
    """Whatever the password is that is masked in what the server says."""
    postgres.run("DROP ROLE IF EXISTS x_bar", "CREATE ROLE x_bar NOLOGIN")
    login = {"username": user, "password": "x"}
    url = f"jdbc:postgresql://{postgres.address}/postgres"
    check(session, {"connector": "jdbc", "url": url, "table-name": "t", **login}, said)
    place = {"hostname": "127.0.0.1", "port": str(postgres.port), "database-name": "postgres", "schema-name": "public"}
    more = {"table-name": "t", "slot.name": "denied"}
    check(session, {"connector": "postgres-cdc", **place, **more, **login}, "does not let us in")


def test_users_whom_kafka_refuses() -> None:
    """The tests' broker asks nobody who he is: the client's errors alone."""
    from confluent_kafka import KafkaError

    from bergsql.engine.connectors.kafka.client import translated

    for code in (
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    ):
        assert translated(KafkaError(code), "host:9092", "Reading topic t").code == "CONFIG"
