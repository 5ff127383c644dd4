"""Finding a function by name in a flavour."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.model import Function

SUBJECTS = tuple("conditional numeric strings times collections aggregates windows system iceberg higher".split())


@lru_cache(maxsize=2)
def functions(flavour: Flavour) -> dict[str, Function]:
    """All functions of a flavour, by lower-case name."""
    code = flavour.value[0]
    found: dict[str, Function] = {}
    for subject in SUBJECTS:
        table: tuple[Function, ...] = import_module(f"bergsql.engine.sql.functions.{subject}").FUNCTIONS
        for function in table:
            if code in function.flavours:
                for name in function.name.split():
                    found[name] = function
    return found
