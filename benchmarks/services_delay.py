"""How long a message of Kafka takes into an Iceberg table, and what jobs between services cost that have nothing to do.

    python benchmarks/services_delay.py [--messages N] [--idle SECONDS]

A job reads a topic and commits every 100 ms. One message after the other is sent; the delay is from the moment at which the
broker has it to that at which a read of the table gives it. A first one, with which the job begins, is not counted. Goals: the 99th percentile is the interval and 300 ms at most
with a Hadoop catalog, 600 ms with Hive's. Then the jobs idle, and one from MySQL with them: 160 MiB at most, 220 with Hive.
(The broker of examples/services answers a fetch at once where Kafka waits for messages: jobs that read it are never idle.)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.registry import job as job_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.streaming_delay import PATIENCE, idle, verdict
from tests.support.services.hive import Hive
from tests.support.services.kafka import Kafka
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

INTERVAL_MS = 100
MOST_MS = {"hadoop": INTERVAL_MS + 300, "hive": INTERVAL_MS + 600}
MOST_MIB = {"hadoop": 160, "hive": 220}


def job_to(session: Session, catalog: str, source: str, table: str) -> str:
    """Start a job; its id."""
    before = {str(row[0]) for row in session.execute("SHOW JOBS").rows()}
    session.execute(f"INSERT INTO {catalog}.d.{table} SELECT * FROM {source}").close()
    (made,) = {str(row[0]) for row in session.execute("SHOW JOBS").rows()} - before
    return made


def delay(session: Session, kafka: Kafka, topic: str, table: str, number: int) -> float:
    """Milliseconds from a message to its row in the table."""
    time.sleep(INTERVAL_MS / 1000 * (number % 7) / 7)
    kafka.send(topic, [str(number)])
    sent = time.monotonic()
    while not list(session.execute(f"SELECT 1 FROM {table} WHERE id = {number}").rows()):
        if time.monotonic() - sent > PATIENCE:
            raise TimeoutError(f"{number} never came")
        time.sleep(0.005)
    return (time.monotonic() - sent) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=60)
    parser.add_argument("--idle", type=float, default=10)
    asked = parser.parse_args()
    kafka, hive, mariadb = Kafka(), Hive(), MariaDB()
    with tempfile.TemporaryDirectory() as directory:
        session = Session(SessionConfig(home=Path(directory)))
        try:
            for server in (kafka, hive, mariadb):
                server.start()
            return measured(session, kafka, hive, mariadb, Path(directory), asked.messages, asked.idle)
        finally:
            for row in session.execute("SHOW JOBS").rows():
                session.execute(f"STOP JOB '{row[0]}'").close()
            session.close()
            for server in (kafka, hive, mariadb):
                server.close()


def measured(
    session: Session, kafka: Kafka, hive: Hive, mariadb: MariaDB, place: Path, messages: int, seconds: float
) -> int:
    missed = 0
    session.execute(f"SET 'execution.checkpointing.interval' = '{INTERVAL_MS} ms'").close()
    mariadb.run(
        "CREATE DATABASE bench", "CREATE TABLE bench.t (id BIGINT PRIMARY KEY)", "INSERT INTO bench.t VALUES (1)"
    )
    jobs: dict[str, tuple[str, str]] = {}
    for kind in ("hadoop", "hive"):
        kafka.create(kind)
        options = f"'type'='iceberg', 'catalog-type'='{kind}', 'warehouse'='{place}/{kind}', 'uri'='{hive.uri}'"
        for statement in (
            f"CREATE CATALOG c_{kind} WITH ({options})",
            f"CREATE DATABASE c_{kind}.d",
            f"CREATE TABLE c_{kind}.d.t (id BIGINT)",
            f"CREATE TABLE src_{kind} (id BIGINT) WITH ('connector'='kafka', 'topic'='{kind}', 'format'='csv', "
            f"'properties.bootstrap.servers'='{kafka.address}', 'scan.startup.mode'='earliest-offset')",
        ):
            session.execute(statement).close()
        jobs[f"kafka to {kind}"] = (kind, job_to(session, f"c_{kind}", f"src_{kind}", "t"))
        delay(session, kafka, kind, f"c_{kind}.d.t", -1)
        delays = sorted(delay(session, kafka, kind, f"c_{kind}.d.t", n) for n in range(messages))
        p99 = delays[min(len(delays) - 1, int(len(delays) * 0.99))]
        missed += p99 > MOST_MS[kind]
        told = verdict(p99, MOST_MS[kind])
        print(f"{kind:<16} median {delays[len(delays) // 2]:6.0f} ms   p99 {p99:6.0f} ms   {told} ms", flush=True)
    session.execute(
        "CREATE TABLE rows_there (id BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='mysql-cdc', "
        f"'hostname'='127.0.0.1', 'port'='{mariadb.port}', 'username'='{USER}', 'password'='{PASSWORD}', "
        "'database-name'='bench', 'table-name'='t')"
    ).close()
    keyed = "(id BIGINT NOT NULL, PRIMARY KEY (id) NOT ENFORCED) WITH ('format-version'='2')"
    session.execute(f"CREATE TABLE c_hive.d.u {keyed}").close()
    jobs["mysql to hive"] = ("hive", job_to(session, "c_hive", "rows_there", "u"))
    for name, (kind, id_) in jobs.items():
        memory, core = idle(psutil.Process(int(str(job_of(session.home, id_).status.pid))), seconds)
        missed += memory > MOST_MIB[kind]
        print(
            f"idle {name:<16} {memory:6.0f} MiB   {verdict(memory, MOST_MIB[kind])} MiB; {core:.2%} of a core",
            flush=True,
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
