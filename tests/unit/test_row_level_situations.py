"""What random statements found, small: each over tables of all format versions, copy-on-write and merge-on-read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bergsql.engine.session import Session
from tests.support.statements.player import Player, open_session
from tests.support.statements.story import ALL_SETUPS, Setup


@dataclass(frozen=True)
class Situation:
    """``columns`` and what follows them in CREATE TABLE; ``@t`` is the table. ``rows``: what it holds at last.

    ``least``: the lowest format version that has what it is about.
    """

    name: str
    columns: str
    by: str
    statements: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    least: int = 1


UPSERT = "INSERT INTO @t /*+ OPTIONS('upsert-enabled'='true') */ VALUES"
SITUATIONS = (
    Situation(
        "a partition of NULLs is not below all values",
        "id INT, c INT",
        "PARTITIONED BY (truncate(4, c))",
        ("INSERT INTO @t VALUES (1, NULL), (2, 0), (3, 9)", "DELETE FROM @t WHERE c < 5"),
        ((1, None), (3, 9)),
    ),
    Situation(
        "a file of NULLs differs from no value",
        "id INT, c DECIMAL(7, 2)",
        "",
        ("INSERT INTO @t VALUES (1, NULL)", "INSERT INTO @t VALUES (2, 1.5)", "DELETE FROM @t WHERE c <> 2.5"),
        ((1, None),),
    ),
    Situation(
        "NOT IN is NULL of a file of NULLs",
        "id INT, c DECIMAL(7, 2)",
        "",
        ("INSERT INTO @t VALUES (1, NULL)", "INSERT INTO @t VALUES (2, 1.5)", "DELETE FROM @t WHERE c NOT IN (2.5)"),
        ((1, None),),
    ),
    Situation(
        "rows that two rows match stay one where nothing is WHEN MATCHED",
        "id INT, c INT",
        "",
        (
            "INSERT INTO @t VALUES (1, 1), (1, 2), (NULL, 3)",
            "MERGE INTO @t AS t USING @t AS s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.c = 7",
        ),
        ((None, 7), (1, 1), (1, 2)),
    ),
    Situation(
        "NULL among what a field of a struct is compared with",
        "id INT, c STRUCT<a: INT, b: INT>",
        "",
        (
            "INSERT INTO @t VALUES (1, named_struct('a', 5, 'b', 1)), (2, NULL), (3, named_struct('a', 6, 'b', 1))",
            "DELETE FROM @t WHERE c.a IN (NULL, -1, 5)",
            "DELETE FROM @t WHERE c.a NOT IN (7, NULLIF(1, 1))",
            "UPDATE @t SET c.b = 8 WHERE c.a <=> CAST(NULL AS INT)",
        ),
        ((2, {"a": None, "b": 8}), (3, {"a": 6, "b": 1})),
    ),
    Situation(
        "upserts and other changes in turn",
        "id INT NOT NULL, v STRING, n INT, PRIMARY KEY (id) NOT ENFORCED",
        "",
        (
            "SET 'sql.dialect' = 'flink'",
            "INSERT INTO @t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)",
            f"{UPSERT} (2, 'B', 22), (5, 'e', 5)",
            f"{UPSERT} (3, 'C', 33), (2, 'BB', 222)",
            "SET 'sql.dialect' = 'spark'",
            "UPDATE @t SET n = n + 1 WHERE id IN (1, 2)",
            "DELETE FROM @t WHERE v = 'c' OR v = 'C' OR n = 22",
            "MERGE INTO @t AS t USING (SELECT * FROM VALUES (2, 'm', 1), (3, 'n', 2), (5, 'o', 3) AS x(id, v, n)) AS s"
            " ON t.id = s.id WHEN MATCHED AND s.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN UPDATE SET n = 0",
            "SET 'sql.dialect' = 'flink'",
            f"{UPSERT} (3, 'z', 9), (4, 'y', 8)",
            "SET 'sql.dialect' = 'spark'",
            "ALTER TABLE @t SET TBLPROPERTIES ('format-version' = '3')",
            "DELETE FROM @t WHERE id = 3",
            "UPDATE @t SET v = 'q' WHERE id = 4",
        ),
        ((1, "a", 2), (2, "m", 1), (4, "q", 8)),
        least=2,
    ),
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with TemporaryDirectory() as folder:
        session = open_session(Path(folder) / "home", Path(folder) / "warehouse")
        session.execute("CREATE DATABASE both.s")
        yield session
        session.close()


CASES = [
    pytest.param(situation, setup, id=f"{situation.name}: {setup}")
    for situation in SITUATIONS
    for setup in ALL_SETUPS
    if setup.version >= situation.least
]


@pytest.mark.parametrize(("situation", "setup"), CASES)
def test_situations(session: Session, situation: Situation, setup: Setup) -> None:
    table = f"both.s.t{SITUATIONS.index(situation)}_{ALL_SETUPS.index(setup)}"
    player = Player(session, table, setup, situation.name)
    player.ask(
        f"CREATE TABLE {table} ({situation.columns}) USING iceberg {situation.by} TBLPROPERTIES ({setup.properties})"
    )
    for statement in situation.statements:
        player.script.append(statement.replace("@t", table))
        player.ask(player.script[-1])
    player.check("rows", player.rows(), [list(row) for row in situation.rows])
