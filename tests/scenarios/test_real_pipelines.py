"""Scenarios 4 and 5 as they are, with a real Kafka, MariaDB and Hive Metastore; and with a Hadoop catalog for Hive's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.connectors.logged_changes import logged_changes
from tests.scenarios.place import one_way, running, until
from tests.scenarios.real_place import CATALOGS, RealPlace, place_of

# --- 4: a running count ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("catalog", CATALOGS)
@pytest.mark.parametrize("way", one_way(1))
def test_only_keys_that_changed_go_to_mysql(place_of: Callable[[str, str], RealPlace], way: str, catalog: str) -> None:
    place = place_of("4", catalog)
    place.kafka.create("test_pv")
    place.run(way)
    running(place, "IcebergSink", "mysql_pv")
    with logged_changes(place.mariadb, "stock", "mysql_pv") as changes:

        def comes(*wanted: Sequence[Any]) -> None:
            until(lambda: len(changes()) >= len(wanted), bool)
            assert changes() == list(wanted)

        place.messages("a,20220617")
        comes(("insert", (20220617, 1)))
        place.messages("b,20220617")
        told = [("insert", (20220617, 1)), ("update", (20220617, 1), (20220617, 2))]
        comes(*told)
        place.messages("broken")
        job = place.job("IcebergSink")
        place.jobs.until(job.id, lambda job: job.status.metrics.get("rows_skipped") == 1)
        place.messages("c,20220616")
        comes(*told, ("insert", (20220616, 1)))
    described = place.berg.rows(f"DESCRIBE JOB '{job.id}'")
    assert {str(row["key"]): row["value"] for row in described}["rows skipped"] == "1"
    running(place, "IcebergSink", "mysql_pv")
    wanted = [("a", 20220617), ("b", 20220617), ("c", 20220616)]
    assert place.rows("SELECT * FROM c.ods_base.`IcebergSink`") == wanted
    place.check_secrets()


# --- 5: primary keys ------------------------------------------------------------------------------------------------------

MESSAGES = "1,abc 2,bb 3,cc 4,dd 5,ee 3,cccc 6,666 4,ddddd".split()
ROWS = [(int(number), text) for number, _, text in (each.partition(",") for each in MESSAGES)]


@pytest.mark.parametrize("catalog", CATALOGS)
@pytest.mark.parametrize("way", one_way(2))
def test_a_key_updates_where_it_is_asked_to(place_of: Callable[[str, str], RealPlace], way: str, catalog: str) -> None:
    place = place_of("5", catalog)
    place.kafka.create("test_pk")
    outcome = place.run(way)
    (refused,) = outcome.errors.values()
    assert "does not own the data" in f"{refused}"
    running(place, "append_table", "upsert_table")
    place.messages(*MESSAGES[:5])
    place.becomes("SELECT * FROM c.ods_base.upsert_table", ROWS[:5])
    place.messages(*MESSAGES[5:])
    place.becomes("SELECT * FROM c.ods_base.append_table", ROWS)
    place.becomes("SELECT * FROM c.ods_base.upsert_table", list(dict(ROWS).items()))
    kinds = place.rows("SELECT DISTINCT content FROM c.ods_base.upsert_table.delete_files")
    assert kinds == [(2,)]  # equality deletes
    place.check_secrets()


__all__ = ["place_of"]  # a fixture
