"""CREATE, ALTER, DROP, SHOW and DESCRIBE of functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.execute.like import like
from bergsql.engine.execute.procedures import SYSTEM
from bergsql.engine.names import listed_database, require_database, table_name
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.scope import Scope
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, listing, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.functions.registry import function_named, functions
from bergsql.engine.sql.type_names import flink_name, spark_name
from bergsql.engine.user_functions import (
    PythonFunction,
    SqlFunction,
    UserFunction,
    function_key,
    python_function,
    user_function,
)

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_FOR_THE_SESSION = "The definition of a function lasts as long as the session; an init file (-i) makes it anew."


def create(session: Session, statement: st.CreateFunction) -> Result:
    """Keep a function for the session."""
    key = _key(session, statement)
    if key in session.functions:
        if statement.if_not_exists:
            return ok()
        if not statement.replace:
            raise BergError(
                ErrorCode.ALREADY_EXISTS,
                f"Function {'.'.join(key)} already exists.",
                span=statement.name.span,
                hint="CREATE FUNCTION IF NOT EXISTS … leaves it as it is, CREATE OR REPLACE FUNCTION … replaces it.",
            )
    session.functions[key] = _made(session, statement)
    return ok() if statement.temporary else ok(_FOR_THE_SESSION)


def _key(session: Session, statement: st.CreateFunction) -> tuple[str, ...]:
    name, span = statement.name, statement.name.span
    key = function_key(session, name.parts, span, system=statement.system)
    if statement.system or (statement.temporary and session.flavour is Flavour.SPARK):
        if len(name.parts) > 1:
            raise BergError(
                ErrorCode.INVALID,
                "The name of such a function is in no database.",
                span=span,
                hint=f"Call it {key[-1]}.",
            )
        return key[-1:]
    if not statement.temporary:
        home = table_name(session, name.parts, span)
        if not isinstance(home.catalog, DefinitionCatalog):
            if home.catalog.type != "hadoop":
                raise not_supported(f"A function in a catalog of type '{home.catalog.type}'", span)
            raise BergError(
                ErrorCode.INVALID,
                f"Catalog {home.catalog.name} is a Hadoop catalog, which holds no functions.",
                span=span,
                hint="CREATE TEMPORARY FUNCTION makes one for the session; default_catalog holds functions too.",
            )
        require_database(home.catalog, home.ident.namespace, span)
    return key


def _made(session: Session, statement: st.CreateFunction) -> UserFunction:
    name = statement.name.parts[-1]
    if statement.language == "PYTHON":
        return python_function(session, statement, name)
    if statement.language != "SQL" or statement.body is None:
        raise BergError(
            ErrorCode.INVALID,
            f"A function in {statement.language} needs a Java virtual machine, and bergsql runs without one.",
            span=statement.place_span or statement.name.span,
            hint="AS 'module.function' LANGUAGE PYTHON names a function in Python.",
        )
    made = SqlFunction(
        name, statement, session.flavour, session.current_catalog, session.namespace, statement.temporary
    )
    _check_body(session, made)
    return made


def _check_body(session: Session, function: SqlFunction) -> None:
    """Refuse a body that cannot be read, at its place, with parameters that stand for any value."""
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.casts import coerce
    from bergsql.engine.plan.expressions import bind

    statement = function.statement
    assert statement.body is not None
    planner = Planner(SessionRelations(session))
    context = Context(planner, Scope(session.flavour), "a function", aggregates_allowed=False, windows_allowed=False)
    for parameter in statement.parameters:
        if parameter.default is not None:
            coerce(bind(parameter.default.ast, context), parameter.type, context, parameter.default.span)
    context.variables = {context.scope.fold(p.name): Bound("x", p.type, p.name) for p in statement.parameters}
    try:
        bound = bind(statement.body.ast, context)
        if statement.returns is not None:
            coerce(bound, statement.returns, context, statement.body.span)
    except BergError as error:
        raise error.at(statement.body.span) from None


def alter(session: Session, statement: st.AlterFunction) -> Result:
    """Give a function another place; whether it is temporary stays."""
    key = _key(session, statement.create)
    if key not in session.functions:
        if statement.if_exists:
            return ok()
        raise _not_found(session, statement.create.name)
    session.functions[key] = _made(session, replace(statement.create, replace=True))
    return ok()


def drop(session: Session, statement: st.DropFunction) -> Result:
    name = statement.name
    found = user_function(session, name.parts, name.span)
    if found is not None:
        key, function = found
        if statement.temporary and not function.temporary:
            raise BergError(ErrorCode.INVALID, f"Function {name} is not temporary.", span=name.span)
        if function.temporary and not statement.temporary and session.flavour is Flavour.FLINK:
            raise BergError(
                ErrorCode.INVALID,
                f"Function {name} is temporary.",
                span=name.span,
                hint=f"DROP TEMPORARY {'SYSTEM ' if len(key) == 1 else ''}FUNCTION {name}; drops it.",
            )
        del session.functions[key]
    elif not statement.if_exists:
        raise _not_found(session, name)
    return ok()


def _not_found(session: Session, name: st.Name) -> BergError:
    if len(name.parts) == 1 and function_named(name.parts[0], session.flavour) is not None:
        message = f"Function {name} is built in: it cannot be changed or dropped."
        return BergError(ErrorCode.INVALID, message, span=name.span)
    known = [key[-1] for key in session.functions]
    hint = did_you_mean(name.parts[-1], known)
    return BergError(ErrorCode.NOT_FOUND, f"Function {name} was not found.", span=name.span, hint=hint)


def show(session: Session, statement: st.ShowFunctions) -> Result:
    """``SHOW [USER | SYSTEM | ALL] FUNCTIONS [IN database] [LIKE pattern]``: USER are those that were made here.

    Of these, IN leaves the ones of that database and those that are in none.

    IN the database ``system`` of a catalog there are also those that Iceberg adds to every catalog.
    """
    catalogs = statement.database is not None and statement.database.parts[-1].casefold() == SYSTEM
    own = {key[-1] for key in session.functions}
    if statement.database is not None and not catalogs:
        catalog, namespace = listed_database(session, statement.database)
        own = {key[-1] for key in session.functions if len(key) == 1 or key[:-1] == (catalog.name, *namespace)}
    known = functions(session.flavour)
    built_in = {n.removeprefix("system.") for n in known if catalogs or not n.startswith("system.")}
    names = own if statement.kind == "USER" else built_in if statement.kind == "SYSTEM" else own | built_in
    title = "function" if session.flavour is Flavour.SPARK else "function name"
    return listing((title,), [(name,) for name in like(statement.like, names, session.flavour)])


def describe(session: Session, statement: st.DescribeFunction) -> Result:
    """What is known of a function, as the flavour's client tells it."""
    name = statement.name
    found = user_function(session, name.parts, name.span)
    if found is None and (len(name.parts) > 1 or function_named(name.parts[0], session.flavour) is None):
        raise _not_found(session, name)
    pairs = _pairs(session, found[1] if found is not None else None, name, statement.extended)
    if session.flavour is Flavour.SPARK:
        return listing(("function_desc",), [(f"{key}: {value}",) for key, value in pairs])
    return listing(("info name", "info value"), list(pairs))


def _pairs(session: Session, function: UserFunction | None, name: st.Name, extended: bool) -> list[tuple[str, str]]:
    shown = spark_name if session.flavour is Flavour.SPARK else flink_name
    if session.flavour is Flavour.SPARK:
        pairs = [("Function", str(name))]
    else:
        pairs = [
            ("is system function", str(function is None).lower()),
            ("is temporary", str(function is not None and function.temporary).lower()),
        ]
    if function is None:
        return pairs
    if isinstance(function, PythonFunction):
        signature = function.signature
        pairs += [("class name", function.place), ("function language", "PYTHON")]
        parameters, result = [*zip(signature.names, signature.parameters, strict=True)], shown(signature.result)
        text = function.text
    else:
        statement = function.statement
        pairs += [("function language", "SQL")]
        parameters = [(p.name, p.type) for p in statement.parameters]
        result = shown(statement.returns) if statement.returns is not None else ""
        text = statement.comment
    if session.flavour is Flavour.SPARK:
        pairs = [(key.capitalize() if key != "class name" else "Class", value) for key, value in pairs]
    if extended or session.flavour is Flavour.SPARK:
        listed = ", ".join(f"{n} {shown(t)}" for n, t in parameters)
        pairs.append(("Usage" if session.flavour is Flavour.SPARK else "signature", f"({listed}) -> {result or '?'}"))
        if isinstance(function, SqlFunction) and function.statement.body is not None:
            pairs.append(("Body" if session.flavour is Flavour.SPARK else "body", function.statement.body.text))
        if text:
            pairs.append(("Comment" if session.flavour is Flavour.SPARK else "comment", text.splitlines()[0]))
    return pairs
