"""Listings of tables some of which are damaged or go away meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.engine.session import Session, SessionConfig


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh")))
    for name in ("a", "b"):
        made.execute(f"CREATE TABLE {name} (id INT)")
    return made


def listed(session: Session) -> dict[object, str]:
    result = session.execute("SHOW TABLE EXTENDED LIKE '%'")
    return {row[1]: str(row[3]) for row in result.rows()}


def test_a_damaged_table_does_not_hide_the_others(session: Session, tmp_path: Path) -> None:
    (tmp_path / "wh/default_database/a/metadata/v1.metadata.json").write_text("{")
    told = listed(session)
    assert told["a"].startswith("Cannot be read: ")
    assert "v1.metadata.json" in told["a"]
    assert "Provider: iceberg" in told["b"]


def test_a_table_that_is_dropped_meanwhile_is_left_out(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    original = HadoopCatalog.list_tables

    def late(catalog: HadoopCatalog, namespace: tuple[str, ...]) -> object:
        found = original(catalog, namespace)
        monkeypatch.undo()
        session.execute("DROP TABLE a")
        return found

    monkeypatch.setattr(HadoopCatalog, "list_tables", late)
    assert list(listed(session)) == ["b"]
