"""Catalogs that are kept in a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.store import CatalogStore, Definition

LAKE = Definition({"type": "iceberg", "uri": "${env:URI}", "token": "${env:TOKEN}"}, "a comment")


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / "store")
    assert (store.names(), store.load("lake")) == ([], None)
    store.save("lake", LAKE)
    store.save("中 a/b..", Definition({}))
    path = tmp_path / "store" / "lake.json"
    assert store.names() == ["lake", "中 a/b.."]
    assert store.load("lake") == LAKE._replace(origin=str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(list(path.parent.iterdir())) == 2
    store.save("lake", Definition({"type": "x"}))
    store.remove("中 a/b..")
    store.remove("nothing")
    assert store.names() == ["lake"]


@pytest.mark.parametrize(
    ("key", "value"), [("password", "hunter2"), ("uri", "jdbc:x://u:hunter2@h/d"), ("uri", "https://h/?token=hunter2")]
)
def test_no_secret_is_kept(key: str, value: str, tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / "store")
    with pytest.raises(BergError) as error:
        store.save("lake", Definition({"type": "iceberg", key: value}))
    assert error.value.code is ErrorCode.OPTION
    assert "hunter2" not in error.value.message + str(error.value.hint)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"options": {"a": 1}}', '{"options": {}, "comment": 1}', "{"])
def test_what_is_no_definition_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text(text)
    with pytest.raises(BergError) as error:
        CatalogStore(tmp_path).load("lake")
    assert error.value.message == f"{tmp_path / 'lake.json'} is not the definition of a catalog."


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for use in (CatalogStore.names, lambda store: store.load("x"), lambda store: store.save("x", LAKE)):
        with pytest.raises(BergError) as error:
            use(CatalogStore(tmp_path / "file"))
        assert error.value.code is ErrorCode.CONFIG
