"""The example of a pipeline between services: what is written to Kafka is counted in MariaDB."""

from __future__ import annotations

from tests.support.berg import Berg
from tests.support.jobs import jobs_of
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import MariaDB
from tests.support.services.server import until
from tests.support.shared import ROOT


def test_the_example_of_a_pipeline(berg: Berg, kafka: Kafka, mariadb: MariaDB) -> None:
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE OR REPLACE TABLE shop.page_visits (page INT PRIMARY KEY, visits BIGINT)",
    )
    kafka.create("visits")
    variables = ("-D", f"KAFKA={kafka.address}", "-D", f"MYSQL={mariadb.address}")
    with jobs_of(berg):
        done = berg.run("--detach", "-f", str(ROOT / "examples" / "pipeline.sql"), *variables)
        assert done.code == 0, done.err
        for lines, counts in (
            (["zhang_san,7", "li_si,7", "no visit", "wang_wu,8"], [(7, 2), (8, 1)]),
            (["li_si,8"], [(7, 2), (8, 2)]),
        ):
            kafka.send("visits", lines)
            until("counts", lambda c=counts: mariadb.run("SELECT * FROM shop.page_visits ORDER BY page") == c, 60)
