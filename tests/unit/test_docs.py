"""The documents say what the code holds."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import Unsupported
from tests.support.berg import Berg
from tests.support.shared import ROOT
from tests.unit.test_sql_unsupported import FORMS

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


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


def test_the_page_of_statements_is_that_of_the_code() -> None:
    """If this fails: make docs."""
    assert generator().statements_page() == (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")


def test_each_family_of_statements_has_its_page() -> None:
    """If this fails: make docs."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "statements").glob("*.md")}
    assert pages == {family: generator().family_page(family) for family in generator().families()}
    index = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
    for page, anchor in re.findall(r"\(statements/(\w+)\.md#([^)]+)\)", index):
        assert anchor in [generator().anchor(title) for title in re.findall(r"(?m)^## (.*)$", pages[page])]


def test_the_page_of_functions_is_that_of_the_code() -> None:
    """If this fails: make docs."""
    assert generator().functions_page() == (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")


def test_the_page_of_connectors_is_that_of_the_code() -> None:
    """If this fails: make docs."""
    assert generator().connectors_page() == (ROOT / "docs" / "connectors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8")):
        assert "://" in target or (document.parent / target).exists(), target


def refused_forms() -> set[str]:
    """The names that stand as they are in the parser's refusals."""
    found = set()
    for path in sorted((ROOT / "engine" / "sql" / "parser").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called in ("UnsupportedForm", "Unsupported", "later", "refused", "RefusedAction"):
                found.add(str(node.args[0].value).removeprefix("ALTER TABLE … "))
    return found


def test_what_is_refused_is_in_the_list() -> None:
    page = " ".join((ROOT / "docs" / "not-yet.md").read_text(encoding="utf-8").split())
    forms = refused_forms()
    assert {"RENAME CONSTRAINT", "MATCH_RECOGNIZE"} <= forms
    assert [form for form in sorted(forms) if form not in page] == []


@pytest.mark.parametrize("sql", FORMS)
def test_every_word_of_a_refused_form_is_in_the_list(sql: str) -> None:
    statement = parse(sql, Flavour.FLINK)
    assert isinstance(statement, Unsupported)
    page = set(re.findall(r"\w+", (ROOT / "docs" / "not-yet.md").read_text(encoding="utf-8")))
    assert set(re.findall(r"[A-Z_]{2,}", statement.form)) - page - {"FULL", "USER"} == set()


def test_the_readme_leads_to_the_list() -> None:
    assert "(docs/not-yet.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


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
