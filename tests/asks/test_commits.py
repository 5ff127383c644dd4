"""What people reported of commits elsewhere; the numbers are those of the list of reports.

Row 57 is in test_catalogs.py; row 60, a commit whose outcome is not known, in tests/crash/test_every_step.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.support.berg import Berg

CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}');"
WRITERS, COMMITS = 5, 10


def test_56_writers_at_once_publish_no_version_twice(berg: Berg) -> None:
    retries = "WITH ('commit.retry.num-retries' = '100')"
    made = berg.run(stdin=f"{CATALOG} CREATE DATABASE c.db; CREATE TABLE c.db.t (writer INT, n INT) {retries};")
    assert made.code == 0, made.err

    def write(writer: int) -> str:
        inserts = " ".join(f"INSERT INTO c.db.t VALUES ({writer}, {n});" for n in range(COMMITS))
        done = berg.run(stdin=f"{CATALOG} {inserts}")
        return done.err if done.code else ""

    with ThreadPoolExecutor(WRITERS) as pool:
        assert list(pool.map(write, range(WRITERS))) == [""] * WRITERS
    query = "SELECT COUNT(*), (SELECT COUNT(*) FROM c.db.`t$snapshots`) FROM (SELECT DISTINCT writer, n FROM c.db.t)"
    done = berg.run("--format", "csv", stdin=f"{CATALOG} {query};")
    assert done.out.splitlines()[1:] == ["50,50"], done.err
