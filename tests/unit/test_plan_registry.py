"""Functions are found by name, and finding one imports its own subject only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.registry import SUBJECTS, function_named, functions, functions_of
from tests.support.planning import FLINK, SPARK

PROBE = """
import sys
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.registry import function_named
assert function_named("UPPER", Flavour.SPARK)
print(*sorted(m.rpartition(".")[2] for m in sys.modules if m.startswith("bergsql.engine.sql.functions.")))
"""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_subject_has_the_functions_that_are_listed(subject: str) -> None:
    assert sorted(SUBJECTS[subject].split()) == sorted({name for _, name in functions_of(subject)})


def test_no_name_is_listed_twice() -> None:
    names = [name for listed in SUBJECTS.values() for name in listed.split()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_every_function_is_found_by_its_name(flavour: Flavour) -> None:
    assert {name: function_named(name.upper(), flavour) for name in functions(flavour)} == functions(flavour)


def test_what_only_the_other_flavour_has_is_found() -> None:
    assert function_named("split_index", SPARK) == function_named("split_index", FLINK)
    assert function_named("sort_array", FLINK) == function_named("sort_array", SPARK)
    assert function_named("to_base64", SPARK) == function_named("to_base64", FLINK)
    assert function_named("array_sort", SPARK) != function_named("array_sort", FLINK)
    assert function_named("no_such_function", SPARK) is None


def test_finding_one_imports_no_other_subject() -> None:
    found = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True).stdout.split()
    assert set(SUBJECTS) & set(found) == {"strings"}
