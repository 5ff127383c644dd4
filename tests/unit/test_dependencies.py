"""What the code imports is what the package asks for."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator

from tests.support.shared import ROOT

MODULES = {
    "prompt_toolkit": "prompt-toolkit",
    "_duckdb": "duckdb",
    "confluent_kafka": "confluent-kafka",
    "pymysqlreplication": "mysql-replication",
    "hive_metastore": "pyiceberg",
}
"""Modules that are not called as their distribution is."""


def imported() -> Iterator[str]:
    for room in ("shell", "engine", "catalog"):
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                yield from (n.partition(".")[0] for n in names)


def test_imports_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {extra: named for extra, named in project["optional-dependencies"].items() if extra not in ("dev", "all")}
    asked = [*project["dependencies"], *(d for named in extras.values() for d in named)]
    declared = {re.split(r"[<>=!~\[; ]", d)[0] for d in asked}
    foreign = {m for m in imported() if m not in sys.stdlib_module_names and m != "bergsql"}
    assert {MODULES.get(m, m) for m in foreign} <= declared


def test_every_folder_is_packaged() -> None:
    """What is not listed is there in a checkout, and missing where bergsql is installed."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = {
        file.parent.relative_to(ROOT) for room in ("shell", "engine", "catalog") for file in (ROOT / room).rglob("*.py")
    }
    assert sorted(listed) == sorted(".".join(("bergsql", *folder.parts)) for folder in folders)
