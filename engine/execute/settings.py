"""SET and RESET."""

from __future__ import annotations

from bergsql.engine.result import Column, Result, ResultKind, Row, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.settings import as_statement, shown
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements import Reset, Set
from bergsql.engine.sql.types import STRING


def set_value(session: Session, statement: Set) -> Result:
    """``SET;`` lists what is set as statements that can be run again, ``SET 'k';`` one value, else sets."""
    if statement.key is None:
        lines: list[Row] = [(as_statement(key, value),) for key, value in session.settings.items()]
        return Result(ResultKind.SCRIPT, (Column("statement", STRING),), [lines])
    key = statement.key
    if statement.value is None:
        value = session.setting(key)
        value = session.variables.get(key) if value is None else value
        return listing(("key", "value"), [(key, shown(key, value) if value is not None else None)])
    flavour = session.flavour
    note = session.settings.set(key, statement.value, statement.span)
    if note:
        session.notes.append(note)
    elif key in session.variables and session.variables[key] != statement.value:
        session.notes.append(f"-D gave '{key}' a value, which goes before: ${{{key}}} stays as it was.")
    if flavour is Flavour.SPARK and session.flavour is Flavour.SPARK:
        return listing(("key", "value"), [(key, shown(key, statement.value))])
    return ok()


def reset(session: Session, statement: Reset) -> Result:
    """``RESET 'k';`` gives a setting its default back, ``RESET;`` all of them but the flavour."""
    if statement.key is not None:
        session.settings.reset(statement.key, statement.span)
        return ok()
    flavour = session.flavour
    session.settings.reset()
    if flavour is not Flavour.FLINK:
        session.settings.set("sql.dialect", flavour.value)
    if not session.has_catalog(session.current_catalog):
        session.notes.append(f"Catalog {session.current_catalog} is gone with its settings.")
        session.use_default_catalog()
    return ok()
