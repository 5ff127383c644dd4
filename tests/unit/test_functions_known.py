"""Every function that the engines have is known; each that is supported plans and runs with a call.

A call is made of the function's parameters, or stands in ``data/function_calls.txt`` (``name: call``, with ``@f`` or ``@s``
behind the name for one flavour only).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.known_names import known_names, sections
from bergsql.engine.sql.functions.model import Aggregate, Scalar
from bergsql.engine.sql.functions.registry import function_named, functions
from tests.support.planning import FLINK, SPARK, ask

EXTENSIONS = ("system.",)
EXAMPLES = {
    "t": "'abc'", "i": "1", "l": "1", "d": "1.5", "b": "TRUE", "x": "X'41'", "n": "1", "N": "1", "I": "1", "D": "DATE '2024-02-03'",
    "S": "TIMESTAMP '2024-02-03 04:05:06'", "T": "TIME '04:05:06'", "a": "1", "c": "1", "o": "'abc'", "h": "1", "A": "array(1, 2)",
    "C": "array(1, 2)", "M": "map('a', 1)", "z": "array(1, 2)",
}  # fmt: skip
CALLS = dict(
    line.split(": ", 1)
    for line in (Path(__file__).parent / "data/function_calls.txt").read_text().splitlines()
    if line and not line.startswith("#")
)
GRAMMAR = {"cast", "collate", "ilike", "like", "time"}
"""Names that the grammar takes for its own."""
ALL = [(f, name) for f in Flavour for name in sorted(functions(f)) if not name.startswith(EXTENSIONS)]


def call(name: str, flavour: Flavour) -> str:
    written = CALLS.get(f"{name}@{flavour.value[0]}") or CALLS.get(name)
    if written:
        return written
    function = function_named(name, flavour)
    assert isinstance(function, Scalar | Aggregate), f"{name}: no call in data/function_calls.txt"
    codes = re.sub(r".[?*]", "", function.parameters).replace("+", "")
    over = " OVER (ORDER BY x)" if isinstance(function, Aggregate) and function.window_only else ""
    return f"{name}({', '.join(EXAMPLES[c] for c in codes)}){over}"


@pytest.mark.parametrize(("flavour", "name"), ALL, ids=lambda v: v if isinstance(v, str) else v.value)
def test_what_is_supported_runs(flavour: Flavour, name: str) -> None:
    written = call(name, flavour)
    answer = ask(f"SELECT {written} AS r FROM (VALUES (1, 'a'), (2, 'b')) AS t(x, s)", flavour)
    assert answer.rows


@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_what_is_known_and_not_supported_says_so(flavour: Flavour) -> None:
    for name in sorted(known_names(flavour) - set(functions(flavour)) - GRAMMAR):
        with pytest.raises(BergError, match="is not supported") as refused:
            ask(f"SELECT {name}(1)", flavour)
        assert refused.value.code is ErrorCode.UNSUPPORTED, name


@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_what_only_the_other_engine_has_is_there_too(flavour: Flavour) -> None:
    other = FLINK if flavour is SPARK else SPARK
    assert set(functions(other)) - set(functions(flavour)) <= known_names(flavour)


def test_a_name_stands_once_for_an_engine() -> None:
    found = Counter((letter, k.name) for table in sections().values() for k in table for letter in k.engines)
    assert [name for name, times in found.items() if times > 1] == []


def test_every_function_of_ours_is_in_the_list() -> None:
    names = known_names(FLINK) | known_names(SPARK)
    assert [n for f in Flavour for n in functions(f) if n not in names and not n.startswith(EXTENSIONS)] == []
