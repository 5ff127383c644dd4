"""Where a scenario runs with real services: Kafka, MariaDB, and a Hive Metastore or a Hadoop catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from bergsql.engine.session import Session, SessionConfig
from tests.scenarios.place import Place
from tests.scenarios.script import read_steps
from tests.support.berg import Berg
from tests.support.jobs import jobs_of
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.shared import shared

USER = "stock_reader"
PASSWORD = "zq9-Geheim_42"
CATALOGS = ("hive", "hadoop")


@dataclass
class RealPlace(Place):
    kafka: Kafka
    mariadb: MariaDB
    hive: Hive
    catalog: str

    @property
    def arguments(self) -> list[str]:
        given = {
            "KAFKA": self.kafka.address,
            "MYSQL_HOST": "127.0.0.1",
            "MYSQL_PORT": str(self.mariadb.port),
            "MYSQL_URL": f"jdbc:mysql://{self.mariadb.address}/stock",
            "MYSQL_USER": USER,
            "MYSQL_PASSWORD": PASSWORD,
            "HMS_URI": self.hive.uri,
        }
        return [word for key, value in given.items() for word in ("-D", f"{key}={value}")]

    def messages(self, *lines: str) -> None:
        """Messages of the scenario's topic."""
        self.kafka.send({"4": "test_pv", "5": "test_pk"}[self.script.name[0]], lines)

    def files_of(self, database: str, table: str) -> int:
        return self.metadata_files(f"{database}{'.db' if self.catalog == 'hive' else ''}/{table}")

    def check_secrets(self) -> None:
        """The password is in nothing that was printed or kept, and in no process's command line."""
        for job in self.jobs.all():
            self.berg.rows(f"DESCRIBE JOB '{job.id}'")
            assert any(job.id in text for text in self.berg.printed)
        for text in self.berg.printed:
            at = text.find(PASSWORD)
            assert at < 0, text[max(0, at - 1000) :]
        kept = [p for place in (self.berg.home, self.berg.warehouse) for p in place.rglob("*") if p.is_file()]
        for path in kept:
            assert path.name == "secrets.json" or PASSWORD.encode() not in path.read_bytes(), path
        for each in psutil.process_iter(["cmdline"]):
            words = each.info["cmdline"] or []
            assert not any(PASSWORD in word and "MYSQL_PASSWORD" not in word for word in words), words
        for path in self.berg.home.rglob("secrets.json"):
            assert path.stat().st_mode & 0o077 == 0


@pytest.fixture
def place_of(
    berg: Berg, tmp_path: Path, kafka: Kafka, mariadb: MariaDB, hive: Hive
) -> Iterator[Callable[[str, str], RealPlace]]:
    """Makes the place of a scenario by its number and the kind of its catalog."""
    session = Session(SessionConfig(home=tmp_path / "home"))
    databases = ("stock_db", "ods_base")

    def made(name: str, catalog: str) -> RealPlace:
        (given,) = shared("scenarios").glob(f"{name}*.sql")
        script = tmp_path / given.name
        text = given.read_text(encoding="utf-8")
        script.write_text(
            text if catalog == "hive" else text.replace("'catalog-type'='hive'", "'catalog-type'='hadoop'")
        )
        own = f"'type'='iceberg', 'catalog-type'='{catalog}', 'warehouse'='{berg.warehouse}', 'uri'='{hive.uri}'"
        session.execute(f"CREATE CATALOG c WITH ({own})").close()
        mariadb.run(
            "DROP DATABASE IF EXISTS stock",
            "CREATE DATABASE stock",
            "CREATE TABLE stock.stock_basic (i INT PRIMARY KEY, ts_code CHAR(10) NOT NULL, symbol CHAR(10) NOT NULL, "
            "name CHAR(10) NOT NULL, area CHAR(20) NOT NULL, industry CHAR(20) NOT NULL, list_date CHAR(10) NOT NULL, "
            "actural_controller CHAR(100)) CHARSET utf8mb4",
            "CREATE TABLE stock.mysql_pv (dt INT NOT NULL PRIMARY KEY, pv INT)",
            f"CREATE OR REPLACE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
            f"GRANT ALL ON *.* TO '{USER}'@'127.0.0.1'",
        )
        return RealPlace(berg, jobs, tmp_path, session, script, read_steps(script), kafka, mariadb, hive, catalog)

    with jobs_of(berg) as jobs:
        yield made
    session.execute("USE CATALOG default_catalog").close()
    for name in databases:
        session.execute(f"DROP DATABASE IF EXISTS c.{name} CASCADE").close()
    session.close()
    for topic in ("test_pv", "test_pk"):
        kafka.drop(topic)
