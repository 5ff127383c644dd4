"""A topic of csv messages into an Iceberg table as a stream, against a bare loop: consume, parse, write Parquet.

    python benchmarks/kafka_append.py [--rows N] [--runs N]

Both by turns in one run, beside the broker of examples/services. Figures are CPU seconds of this process, the client's
threads included; the broker's are not. The goal: at least 400,000 rows a CPU second.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from bergsql.engine.execute.stream_insert import plan_insert_jobs
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.parser import parse
from bergsql.engine.streaming.runner import Runner
from bergsql.engine.streaming.state.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import HEADER, by_turns
from tests.support.services.kafka import Kafka

TOPIC = "visits"
GOAL = 400_000
"""Rows a CPU second."""
PARTITIONS = 4


class Bench:
    """A topic, a session, and a table for each run."""

    def __init__(self, place: Path, kafka: Kafka, rows: int) -> None:
        self.place, self.kafka, self.rows = place, kafka, rows
        self.session = Session(SessionConfig(home=place / "home", warehouse=str(place / "wh")))
        kafka.create(TOPIC, PARTITIONS)
        each = rows // PARTITIONS
        for partition in range(PARTITIONS):
            kafka.send(TOPIC, (f"page {n % 1000},{20220600 + n % 30}" for n in range(each)), partition=partition)
        self._run(
            f"CREATE TEMPORARY TABLE src (page STRING, dt INT) WITH ('connector'='kafka', 'topic'='{TOPIC}', "
            f"'properties.bootstrap.servers'='{kafka.address}', 'format'='csv', 'csv.ignore-parse-errors'='true', "
            "'scan.startup.mode'='earliest-offset', 'scan.bounded.mode'='latest-offset')"
        )
        self._number = 0

    def _run(self, sql: str) -> None:
        list(self.session.execute(sql).rows())

    def ours(self) -> None:
        """Run a job to its end."""
        self._number += 1
        name = f"t{self._number}"
        self._run(f"CREATE TABLE {name} (page STRING, dt INT)")
        insert = parse(f"INSERT INTO {name} SELECT * FROM src", self.session.flavour)
        assert isinstance(insert, st.Insert)
        plan = plan_insert_jobs(self.session, [insert])
        store = Store.open(self.place / "state" / name)
        runner = Runner(
            plan,
            self.session.duck,
            store,
            job_id=f"{self._number:032x}",
            setting=self.session.setting,
            time_zone="UTC",
            note=print,
        )
        runner.open()
        runner.run(lambda: None)
        runner.close()
        store.close()
        (count,) = next(iter(self.session.execute(f"SELECT COUNT(*) FROM {name}").rows()))
        assert count == self.rows
        self._run(f"DROP TABLE {name}")

    def theirs(self) -> None:
        """What anybody would write: batches of messages, read as one csv, into one Parquet file."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {"bootstrap.servers": self.kafka.address, "group.id": "bench", "enable.partition.eof": True, "log_level": 0}
        )
        consumer.assign([TopicPartition(TOPIC, p, 0) for p in range(PARTITIONS)])
        target = self.place / "bare.parquet"
        schema = pa.schema([("page", pa.string()), ("dt", pa.int32())])
        ended = rows = 0
        options = csv.ReadOptions(column_names=schema.names)
        convert = csv.ConvertOptions(column_types=schema)
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            while ended < PARTITIONS:
                messages = consumer.consume(100_000, 0.2)
                values = [m.value() or b"" for m in messages if m.error() is None]
                errors = [error for m in messages if (error := m.error()) is not None]
                ended += sum(error.code() == KafkaError._PARTITION_EOF for error in errors)
                if values:
                    text = pa.BufferReader(b"\n".join(values))
                    writer.write_table(csv.read_csv(text, read_options=options, convert_options=convert))
                rows += len(values)
        consumer.close()
        assert rows == self.rows
        target.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    kafka = Kafka()
    place = Path(tempfile.mkdtemp())
    try:
        kafka.start()
        bench = Bench(place, kafka, args.rows)
        print(HEADER)
        whole = by_turns("kafka to iceberg", bench.ours, bench.theirs, 2.0, args.runs)
        ours, theirs = args.rows / whole.ours.cpu, args.rows / whole.theirs.cpu
        print(whole)
        print(f"{ours:,.0f} rows a CPU second, the bare loop {theirs:,.0f}; goal {GOAL:,}", flush=True)
        return 0 if ours >= GOAL else 1
    finally:
        kafka.close()
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
