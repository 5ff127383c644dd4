"""The documents say what the code holds."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.berg import Berg
from tests.support.shared import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_settings_page_is_that_of_the_code() -> None:
    """If this fails: make docs."""
    assert generator().page() == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8")):
        assert "://" in target or (document.parent / target).exists(), target


def test_the_quick_start_runs_twice(berg: Berg) -> None:
    """It leaves what it says, whatever was there."""
    script = str(ROOT / "examples" / "quickstart.sql")
    first, second = berg.run("-f", script), berg.run("-f", script)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.out.count("rows in set") + first.out.count("row in set") >= 5
    assert berg.run("--format", "csv", "--quiet", "-e", "SELECT COUNT(*) AS n FROM quickstart.visits").out.split() == [
        "n",
        "4",
    ]
