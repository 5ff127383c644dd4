"""A job from an Iceberg table into two, killed; the real Spark expires what it has read; it goes on."""

from __future__ import annotations

import pytest

from tests.interop.conftest import Both
from tests.support.faults import Fault, Mode, faults
from tests.support.pipelines import PIPELINES, Site

pytestmark = pytest.mark.interop

EXPIRE = (
    "CALL {c}.system.expire_snapshots(table => 'default_database.iced',"
    " older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => {keep})"
)


@pytest.mark.parametrize("part", [1, 2])
def test_what_was_read_may_expire(both: Both, tmp_path_factory: pytest.TempPathFactory, part: int) -> None:
    """Killed at a quarter and at a half of its commits; the snapshots that it has read are gone then."""
    with faults(tmp_path_factory.mktemp("faults")) as server:
        site = Site(tmp_path_factory.mktemp("site"), server, PIPELINES["two sinks"])
        site.restore()
        hints = [n for n, step in enumerate(site.clean.steps) if step.path.endswith("version-hint.text")]
        ran = site.run(Fault(Mode.KILL, hints[len(hints) * part // 4]))
        assert ran.code == -9, site.told(ran)
        before = len(site.load("iced").metadata.snapshots)
        read = len(site.load("t").metadata.snapshots)
        assert 0 < read < before
        catalog = f"expired{part}"
        both.spark.add_catalog(catalog, site.place / "wh")
        both.spark.sql(EXPIRE.format(c=catalog, keep=before - read + 1))
        assert len(site.load("iced").metadata.snapshots) == before - read + 1
        again = site.run()
        assert again.code == 0, site.told(ran, again)
        site.check(f"killed at {part} quarters, its source expired")
