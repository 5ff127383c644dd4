"""DROP TABLE … PURGE takes the files that stand outside of the table's directory, and only those of the table."""

from __future__ import annotations

from pathlib import Path

from tests.support.berg import Berg


def fill(berg: Berg, options: str = "") -> Path:
    """Make the tables t and other, whose data stand in t and other below the directory that is given back."""
    out = berg.warehouse / "out"
    for name in ("t", "other"):
        script = (
            f"CREATE TABLE {name} (id INT, p STRING) PARTITIONED BY (p) "
            f"WITH ('write.data.path'='{out}/{name}'{options}); "
            f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'); INSERT OVERWRITE {name} VALUES (3, 'a');"
        )
        done = berg.run("-e", script)
        assert done.code == 0, done.err
    return out


def test_purge_deletes_data_elsewhere_of_all_snapshots(berg: Berg) -> None:
    out = fill(berg)
    assert len(list((out / "t").rglob("*.parquet"))) == 3  # one of them of an earlier snapshot only
    assert berg.run("-e", "DROP TABLE t PURGE").code == 0
    assert not (out / "t").exists()
    assert len(list((out / "other").rglob("*.parquet"))) == 3


def test_drop_without_purge_and_a_table_without_gc_keep_them(berg: Berg) -> None:
    out = fill(berg, ", 'gc.enabled'='false'")
    assert berg.run("-e", "DROP TABLE other").code == 0
    done = berg.run("-e", "DROP TABLE t PURGE")
    assert done.code == 1
    assert "'gc.enabled' is false" in done.err
    assert len(list(out.rglob("*.parquet"))) == 6
