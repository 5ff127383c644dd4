"""Table properties that switch what statements do: what is neither true nor false is refused, not taken for a no."""

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.execute.upsert import is_enabled
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.properties import SWITCHES, PropertyError, check_switches


def test_wrong_upsert_switch_of_a_table_made_elsewhere() -> None:
    with pytest.raises(PropertyError, match="is 'ja': it takes true or false"):
        is_enabled({"write.upsert.enabled": "ja"}, Flavour.FLINK)
    assert not is_enabled({"write.upsert.enabled": "ja"}, Flavour.SPARK)
    assert is_enabled({"write.upsert.enabled": "True"}, Flavour.FLINK)


@pytest.mark.parametrize("key", SWITCHES)
def test_each_switch_is_looked_at(key: str) -> None:
    check_switches({key: "FALSE", "other": "ja"})
    with pytest.raises(BergError, match=f"'{key}' is ''"):
        check_switches({key: ""})
