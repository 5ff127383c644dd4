"""What a bounded memory keeps and what it lets go."""

from __future__ import annotations

from pathlib import Path

from bergsql.catalog.base import TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.lru import Lru
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED


def kept(memory: Lru[str, int], keys: str) -> str:
    return "".join(k for k in keys if memory.get(k) is not None)


def test_the_least_recently_used_goes_first() -> None:
    memory: Lru[str, int] = Lru(4)
    for i, key in enumerate("abcd"):
        memory.put(key, i)
    assert memory.get("a") == 0
    memory.put("e", 4)
    memory.put("c", 5)
    memory.put("f", 6)
    assert kept(memory, "abcdef") == "acef"
    assert memory.get("c") == 5


def test_heavy_values_push_out_more_and_the_heaviest_are_not_kept() -> None:
    memory: Lru[str, int] = Lru(100)
    for key in "abcd":
        memory.put(key, 1, 25)
    memory.put("e", 1, 1)
    assert kept(memory, "abcde") == "bcde"
    memory.put("f", 1, 26)
    assert kept(memory, "bcdef") == "bcde"
    memory.put("c", 1, 26)  # what was under the key is not true any more
    assert kept(memory, "bcde") == "bde"
    memory.put("b", 1, 1)
    for key in "gh":
        memory.put(key, 1, 24)
    assert kept(memory, "bdegh") == "bdegh"


def test_a_table_in_use_stays_parsed_while_others_pass_by(tmp_path: Path) -> None:
    catalog = HadoopCatalog("h", str(tmp_path))
    idents = [TableIdent(("db",), f"t{n}") for n in range(70)]
    for ident in idents:
        location = catalog.default_table_location(ident)
        catalog.create_table(ident, new_table_metadata(Schema(0, ()), UNPARTITIONED, UNSORTED, location, {}))
    used = catalog.load_table(idents[0]).metadata
    for ident in idents[1:]:
        catalog.load_table(ident)
        assert catalog.load_table(idents[0]).metadata is used
