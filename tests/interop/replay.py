"""The statements of an oracle again: the real Spark seeds each state, and bergsql reads it where a statement reads.

Ids of snapshots and moments in time are those of the run; a :class:`Replay` maps the recorded ones to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.render.json_values import object_lines
from tests.support.oracle import comparable
from tests.support.spark import Spark, SparkAnswer

CHANCE = (
    (re.compile(r"file:/*(?=\$\{WAREHOUSE\})"), ""),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"/\d{5}-\d+-<uuid>"), "/<file>-<uuid>"),
    (re.compile(r"local-\d{13}"), "<application>"),
    (re.compile(r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"), "<time>"),
)
"""What differs by run, with what stands for it. Only commits have times after 2024."""
ID = re.compile(r"\b\d{15,19}\b")
"""An id of a snapshot."""


@dataclass
class Replay:
    """``catalog`` is what both engines call the oracle's ``hadoop_prod``: a name for each replay.

    ``ids`` and ``moments`` map recorded ids of snapshots and recorded times to this run's.
    """

    spark: Spark
    session: Session
    catalog: str
    warehouse: Path
    ids: dict[str, str] = field(default_factory=dict)
    moments: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def start(spark: Spark, home: Path, warehouse: Path, catalog: str) -> Replay:
        warehouse.mkdir()
        spark.add_catalog(catalog, warehouse)
        session = Session(SessionConfig(home=home, flavour=Flavour.SPARK))
        for statement in (
            f"CREATE CATALOG {catalog} WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{warehouse}')",
            "SET spark.sql.session.timeZone = UTC",
        ):
            session.execute(statement)
        return Replay(spark, session, catalog, warehouse)

    def now(self, sql: str) -> str:
        """A recorded statement for this run."""
        sql = sql.replace("hadoop_prod", self.catalog).replace("${WAREHOUSE}", str(self.warehouse))
        for recorded, mine in {**self.ids, **self.moments}.items():
            sql = sql.replace(recorded, mine)
        return sql

    def seed(self, sql: str) -> SparkAnswer:
        """Let Spark do a recorded statement."""
        return self.spark.sql(self.now(sql))

    def read(self, sql: str) -> list[list[object]] | BergError:
        """What bergsql answers to a recorded statement."""
        return self.ask(self.now(sql))

    def ask(self, sql: str) -> list[list[object]] | BergError:
        """What bergsql answers to a statement of this run."""
        try:
            result = self.session.execute(sql)
            return [list(json.loads(line).values()) for lines in object_lines(result) for line in lines]
        except BergError as error:
            return error

    def rows(self, sql: str) -> list[list[object]]:
        """The rows of a query that must succeed."""
        answer = self.ask(sql)
        assert not isinstance(answer, BergError), f"{sql}\n{answer}"
        return answer

    def types(self, sql: str) -> list[tuple[str, str]]:
        """Names and types of the columns of a recorded query."""
        return [(str(row[0]), str(row[1])) for row in self.rows(f"DESCRIBE QUERY {self.now(sql)}")]

    def map_commits(self, table: str, recorded: Sequence[tuple[int, str]]) -> None:
        """Map recorded snapshots of a table, ``(id, time)`` in their order, to the table's."""
        query = f"SELECT snapshot_id, committed_at FROM {self.catalog}.{table}.snapshots ORDER BY committed_at"
        mine = self.rows(query)
        for (snapshot_id, time), (own_id, own_time) in zip(recorded, mine, strict=False):
            self.ids[str(snapshot_id)] = str(own_id)
            self.moments[time] = str(own_time)

    def without_chance(self, rows: Sequence[object]) -> list[str]:
        """Rows as texts, mapped ids as the recorded ones, without what else differs by run."""
        recorded = {mine: was for was, mine in self.ids.items()}
        texts = []
        for row in rows:
            text = json.dumps(comparable(row), ensure_ascii=False, sort_keys=True)
            text = text.replace(str(self.warehouse), "${WAREHOUSE}").replace(self.catalog, "hadoop_prod")
            for pattern, instead in CHANCE:
                text = pattern.sub(instead, text)
            text = ID.sub(lambda found: recorded.get(found[0], found[0] if found[0] in self.ids else "<id>"), text)
            texts.append(text)
        return sorted(texts)


def utc(millis: int) -> str:
    """A time in milliseconds as the oracles write it."""
    return datetime.fromtimestamp(millis / 1000, UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def between(earlier: str, later: str) -> str:
    """The middle of two times."""
    first, second = (datetime.fromisoformat(text) for text in (earlier, later))
    return (first + (second - first) / 2).isoformat(sep=" ", timespec="microseconds")


Recorded = Mapping[str, Any]
"""A statement of an oracle: ``sql``, ``columns``, ``types``, ``rows`` or ``error``."""
