"""Functions that a session's person made: SQL expressions, and functions in Python that DuckDB calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.names import table_name
from bergsql.engine.plan.sql_text import FUNCTION_FAILURE
from bergsql.engine.python_types import Signature, signature_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.statements.functions import CreateFunction
from bergsql.engine.sql.type_names import duckdb_name, flink_name

if TYPE_CHECKING:
    from bergsql.engine.names import Standpoint
    from bergsql.engine.session import Session
    from bergsql.engine.sql.flavour import Flavour


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function in Python as DuckDB knows it: ``sql_name`` of one struct that holds the arguments."""

    name: str
    place: str
    signature: Signature
    sql_name: str
    temporary: bool
    text: str | None
    """Its docstring."""


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function whose body is an expression, which means what it meant where the function was made."""

    name: str
    statement: CreateFunction
    flavour: Flavour
    catalog: str
    namespace: tuple[str, ...]
    temporary: bool


UserFunction = PythonFunction | SqlFunction


def python_function(session: Session, statement: CreateFunction, name: str) -> PythonFunction:
    """Import a function, read its annotations and make it known to DuckDB.

    :raises BergError: where it cannot be imported, or is not annotated with types that SQL has.
    """
    span = statement.place_span
    place = statement.place or ""
    function = _imported(place, span)
    try:
        signature = signature_of(function)
    except BergError as error:
        error.message = f"The Python function {place}: {error.message}"
        raise error.at(span) from None
    sql_name = f"berg_function_{session.next_function_number()}"
    members = "".join(f"{identifier(f'a{i}')} {duckdb_name(t)}, " for i, t in enumerate(signature.parameters))
    struct = f"STRUCT({members}given INTEGER)"
    called = row_wise(name, function, signature)
    session.duck.add_function(sql_name, called, struct, duckdb_name(signature.result))
    return PythonFunction(name, place, signature, sql_name, statement.temporary, inspect.getdoc(function))


def _imported(place: str, span: Span | None) -> Callable[..., Any]:
    import sys
    from importlib import import_module
    from pathlib import Path

    module_name, _, name = place.rpartition(".")
    if not module_name or not all(part.isidentifier() for part in place.split(".")):
        raise BergError(ErrorCode.INVALID, f"'{place}' is not 'module.function'.", span=span)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # where `python script.py` would look too
    try:
        found = getattr(import_module(module_name), name)
    except ModuleNotFoundError as error:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"There is no Python module '{error.name}'.",
            span=span,
            hint="Python looks in the current directory and in PYTHONPATH.",
        ) from None
    except AttributeError:
        raise BergError(ErrorCode.NOT_FOUND, f"The Python module '{module_name}' has no '{name}'.", span=span) from None
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise BergError(
            ErrorCode.EXECUTION, f"The Python module '{module_name}' cannot be imported: {told}.", span=span
        ) from error
    if not callable(found):
        raise BergError(ErrorCode.INVALID, f"'{place}' is no function.", span=span)
    function: Callable[..., Any] = found
    return function


def row_wise(name: str, function: Callable[..., Any], signature: Signature) -> Callable[[Any], Any]:
    """What DuckDB calls with an array of structs of arguments: the function for each row, NULL being None.

    ``given`` in the struct is how many arguments the call has: the rest are left to the function's defaults.
    """
    from bergsql.engine.python_types import arrow_type

    result = arrow_type(signature.result)

    def call(arguments: Any) -> Any:
        import pyarrow as pa

        values = []
        for row in arguments.to_pylist():
            try:
                values.append(function(*(row[f"a{i}"] for i in range(row["given"]))))
            except Exception as error:
                raise ValueError(f"{FUNCTION_FAILURE} {name}: {type(error).__name__}: {error}") from error
        try:
            return pa.array(values, result)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            raise ValueError(f"{FUNCTION_FAILURE} {name}: {_misfit(values, result, signature)}") from None

    return call


def _misfit(values: Sequence[object], result: Any, signature: Signature) -> str:
    """Which value is not of the type that the function is annotated with."""
    import pyarrow as pa

    for value in values:
        try:
            pa.array([value], result)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return f"it gave {value!r}, which is not {flink_name(signature.result)}"
    return f"what it gave is not {flink_name(signature.result)}"


# --- by name ----------------------------------------------------------------------------------------------------------


def function_key(
    session: Standpoint, parts: tuple[str, ...], span: Span | None, *, system: bool = False
) -> tuple[str, ...]:
    """What a function of that name is kept under: its bare name if it is a system function, else the full one.

    Names of functions are the same in either case.
    """
    if system:
        return (parts[-1].casefold(),)
    return (*table_name(session, parts, span).parts[:-1], parts[-1].casefold())


def user_function(
    session: Standpoint, parts: tuple[str, ...], span: Span | None
) -> tuple[tuple[str, ...], UserFunction] | None:
    """The function that a name leads to, and what it is kept under."""
    if not session.functions:
        return None
    keys = [(parts[0].casefold(),)] if len(parts) == 1 else []
    for key in (*keys, function_key(session, parts, span)):
        found = session.functions.get(key)
        if isinstance(found, UserFunction):
            return key, found
    return None
