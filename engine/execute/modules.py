"""Flink's modules and jars, which a shell without a JVM has no use for: statements on them succeed and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.options import OptionSpec, check_options
from bergsql.engine.execute.options import at_option, options_of
from bergsql.engine.result import Column, Result, ResultKind, listing, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.types import BOOLEAN, STRING

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_OPTIONS: dict[str, tuple[OptionSpec, ...]] = {
    "core": (),
    "hive": (OptionSpec("hive-version", doc="The version of Hive whose functions the module brings."),),
}
"""The modules that Flink has, and their options."""

_NO_EFFECT = "Modules change no function here: Flink's and Spark's are all built in."
_NO_JARS = "bergsql runs without a JVM: no jar is needed, and none is read."


def show(session: Session, statement: st.ShowModules) -> Result:
    """``SHOW MODULES``: those in use, in the order in which names are looked up; FULL: those loaded."""
    if not statement.full:
        return listing(("module name",), [(name,) for name, used in session.modules.items() if used])
    columns = (Column("module name", STRING), Column("used", BOOLEAN))
    return Result(ResultKind.LISTING, columns, [list(session.modules.items())])


def load(session: Session, statement: st.LoadModule) -> Result:
    name, span = statement.name.casefold(), statement.span
    if name not in _OPTIONS:
        hint = did_you_mean(name, _OPTIONS) or f"It is one of {', '.join(_OPTIONS)}."
        raise BergError(ErrorCode.NOT_FOUND, f"There is no module '{statement.name}'.", span=span, hint=hint)
    if name in session.modules:
        raise BergError(ErrorCode.ALREADY_EXISTS, f"Module {name} is loaded already.", span=span)
    options, spans = options_of(statement.options)
    try:
        check_options(options, _OPTIONS[name], f"Module {name}")
    except BergError as error:
        raise at_option(error, spans, span) from None
    session.modules[name] = True
    return ok(_NO_EFFECT)


def unload(session: Session, statement: st.UnloadModule) -> Result:
    del session.modules[_loaded(session, statement.name, statement.span)]
    return ok(_NO_EFFECT)


def use(session: Session, statement: st.UseModules) -> Result:
    """``USE MODULES a, b``: these, in this order; the others stay loaded."""
    used: dict[str, bool] = {}
    for written, span in statement.modules:
        name = _loaded(session, written, span)
        if name in used:
            raise BergError(ErrorCode.INVALID, f"Module {name} is named twice.", span=span)
        used[name] = True
    session.modules = {**used, **{name: False for name in session.modules if name not in used}}
    return ok(_NO_EFFECT)


def _loaded(session: Session, written: str, span: Span) -> str:
    name = written.casefold()
    if name not in session.modules:
        hint = did_you_mean(name, session.modules) or "SHOW FULL MODULES; lists those that are loaded."
        raise BergError(ErrorCode.NOT_FOUND, f"Module {written} is not loaded.", span=span, hint=hint)
    return name


def show_jars(_session: Session, _statement: st.ShowJars) -> Result:
    return listing(("jars",), [])


def change_jars(_session: Session, _statement: st.ChangeJars) -> Result:
    return ok(_NO_JARS)
