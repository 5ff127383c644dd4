"""SQL's JSON functions as Flink has them: JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY and their kin.

The clauses of a call are arguments that begin with JSON_MARK (:mod:`bergsql.engine.sql.parser.json_clauses`).

A path is strict unless it begins with ``lax``. In strict mode it is an error that the text is no JSON, that nothing
stands at the path, or that what stands there is of the wrong kind; in lax mode all of that is empty. A JSON null is
empty in both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.json_texts import json_text, literal_path, value_of
from bergsql.engine.sql.functions.model import Aggregate, Function, Scalar
from bergsql.engine.sql.parser.json_clauses import JSON_MARK
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import BOOLEAN, NUMBERS, STRING, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call


class _Clauses(NamedTuple):
    """``on``: what to do ON EMPTY, ERROR and NULL, with the value of a DEFAULT."""

    plain: list[Bound]
    on: dict[str, tuple[str, Bound | None]]
    returning: DataType
    wrapper: str


def _clauses(word: str, arguments: list[Bound], most: int | None = None) -> _Clauses:
    """The arguments of a call, and its clauses.

    :raises BergError: ARITY, or SYNTAX where a clause stands twice.
    """
    found = _Clauses([], {}, STRING, "")
    returning, wrapper = None, ""
    rest = iter(arguments)
    for a in rest:
        clause = a.constant[1:] if isinstance(a.constant, str) and a.constant.startswith(JSON_MARK) else ""
        default = None
        if not clause:
            found.plain.append(a)
            continue
        if clause == "RETURNING":
            twice, returning = returning is not None, next(rest).type
        elif clause.endswith("WRAPPER"):
            twice, wrapper = bool(wrapper), clause.split()[0]
        else:
            if clause == "DEFAULT":
                default = next(rest)
                behind = next(rest, None)
                if behind is None or not str(behind.constant).startswith(f"{JSON_MARK}ON "):
                    raise BergError(ErrorCode.SYNTAX, f"In {word}, ON EMPTY or ON ERROR follows a DEFAULT.")
                clause = f"DEFAULT {str(behind.constant)[1:]}"
            what, on, when = clause.rpartition("ON ")
            if not what:
                raise BergError(ErrorCode.SYNTAX, f"In {word}, something must stand before {on}{when}.")
            twice = when in found.on
            found.on[when] = (what.strip(), default)
        if twice:
            raise BergError(ErrorCode.SYNTAX, f"{word} has a clause twice.")
    if most is not None and len(found.plain) != most:
        raise BergError(ErrorCode.ARITY, f"{word} takes {most} arguments, not {len(found.plain)}.")
    return found._replace(returning=returning or STRING, wrapper=wrapper or "WITHOUT")


# --- read -------------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """What stands at a path. ``many``: a list of several. ``missing``: SQL that holds where the path leads nowhere."""

    value: str
    many: bool
    missing: str
    strict: bool


def _place(word: str, x: str, path: Bound) -> _Place:
    found = literal_path(word, path)
    if found is None:
        raise BergError(ErrorCode.INVALID, f"'{path.constant}' is no JSON path: it begins with $.")
    at, many = found
    value = f"json_extract({x}, {string_literal(at)})"
    strict = re.match(r"\s*lax\s", str(path.constant), re.IGNORECASE) is None
    if many:
        fixed = at[: at.index("[*]")]
        return _Place(value, True, f"json_extract({x}, {string_literal(fixed)}) IS NULL", strict)
    return _Place(value, False, f"{value} IS NULL", strict)


def _read(
    word: str, arguments: list[Bound], type_: DataType, picked: Callable[[str, bool, _Answers], str], answers: _Answers
) -> str:
    """``picked`` of what stands at the path: of its SQL, and whether that is a list of several."""
    text, path = arguments
    if text.is_null or path.is_null:
        return f"CAST(NULL AS {duckdb_name(type_)})"

    def made(x: str) -> str:
        place = _place(word, x, path)
        wrong = answers.error if place.strict else answers.empty
        ours = answers._replace(wrong=wrong)
        there = let(place.value, lambda v: picked(v, place.many, ours))
        if place.strict:
            there = f"CASE WHEN {place.missing} THEN {wrong} ELSE {there} END"
        return f"CASE WHEN {x} IS NULL THEN NULL WHEN json_valid({x}) THEN {there} ELSE {wrong} END"

    return let(text.sql, made)


class _Answers(NamedTuple):
    """SQL for what is empty and for what is an error; ``wrong``: for what is of the wrong kind."""

    empty: str
    error: str
    wrong: str = ""


def _answers(word: str, clauses: _Clauses, answer: Callable[[str, Bound | None], str]) -> _Answers:
    def of(when: str, message: str) -> str:
        what, default = clauses.on.get(when, ("NULL", None))
        return failure(message) if what == "ERROR" else answer(what, default)

    return _Answers(of("EMPTY", f"{word} finds nothing."), of("ERROR", f"{word} cannot be answered."))


def _json_value(arguments: list[Bound], context: Context) -> Bound:
    """A scalar."""
    from bergsql.engine.plan.casts import coerce

    clauses = _clauses("JSON_VALUE", arguments, 2)
    type_ = clauses.returning
    if type_.kind not in (*TEXTS, *NUMBERS, Kind.BOOLEAN):
        raise BergError(
            ErrorCode.TYPE,
            f"JSON_VALUE does not return {type_.kind.value}.",
            hint="RETURNING STRING, BOOLEAN, INT or DOUBLE.",
        )
    name = duckdb_name(type_)

    def answer(what: str, default: Bound | None) -> str:
        return f"CAST(NULL AS {name})" if default is None else coerce(default, type_, context).sql

    def picked(v: str, many: bool, to: _Answers) -> str:
        if many:
            return to.wrong
        read = value_of(v, type_, context)
        if type_.kind not in TEXTS:
            read = f"coalesce({read}, {to.error})"
        kind = f"json_type({v})"
        empty = f"WHEN {v} IS NULL OR {kind} = 'NULL' THEN {to.empty}"
        return f"CASE {empty} WHEN {kind} IN ('ARRAY', 'OBJECT') THEN {to.wrong} ELSE {read} END"

    sql = _read("JSON_VALUE", clauses.plain, type_, picked, _answers("JSON_VALUE", clauses, answer))
    return Bound(sql, type_, _text("json_value", clauses))


def _text(name: str, clauses: _Clauses) -> str:
    return f"{name}({', '.join(a.text for a in clauses.plain)})"


def _json_query(arguments: list[Bound], context: Context) -> Bound:
    """An array or an object as text, or an array of the elements' texts."""
    clauses = _clauses("JSON_QUERY", arguments, 2)
    type_ = clauses.returning
    listed = type_.kind is Kind.ARRAY and type_.children[0].type.kind in TEXTS
    if type_.kind not in TEXTS and not listed:
        raise BergError(ErrorCode.TYPE, "JSON_QUERY returns STRING or ARRAY<STRING>.")
    type_ = array_of(STRING) if listed else STRING

    def answer(what: str, default: Bound | None) -> str:
        if what == "EMPTY ARRAY":
            return "CAST([] AS VARCHAR[])" if listed else "'[]'"
        if what == "EMPTY OBJECT":
            if listed:
                raise BergError(ErrorCode.INVALID, "EMPTY OBJECT is no ARRAY<STRING>.")
            return "'{}'"
        return f"CAST(NULL AS {duckdb_name(type_)})"

    def picked(v: str, many: bool, to: _Answers) -> str:
        return _queried(v, many, to, clauses.wrapper, listed)

    sql = _read("JSON_QUERY", clauses.plain, type_, picked, _answers("JSON_QUERY", clauses, answer))
    return Bound(sql, type_, _text("json_query", clauses))


def _queried(v: str, many: bool, to: _Answers, wrapper: str, listed: bool) -> str:
    """What JSON_QUERY gives of ``v``: JSON, or a list of JSON where there are ``many``."""
    array = f"'[' || array_to_string(list_transform({v}, lambda e: CAST(e AS VARCHAR)), ',') || ']'"
    text = array if many else f"CAST({v} AS VARCHAR)"
    wrapped = f"('[' || {text} || ']')"
    strings = "list_transform({0}, lambda e: json_extract_string(e, '$'))"
    if listed:
        items = v if many else f"json_extract({v}, '$[*]')"
        text = strings.format(items)
        wrapped = f"[{array}]" if many else f"[json_extract_string({v}, '$')]"
    if many:
        return wrapped if wrapper == "UNCONDITIONAL" else text
    kind = f"json_type({v})"
    empty = f"WHEN {v} IS NULL OR {kind} = 'NULL' THEN {to.empty}"
    if wrapper == "UNCONDITIONAL":
        return f"CASE {empty} ELSE {wrapped} END"
    if wrapper == "CONDITIONAL":
        return f"CASE {empty} WHEN {kind} = 'ARRAY' THEN {text} ELSE {wrapped} END"
    kinds = "('ARRAY')" if listed else "('ARRAY', 'OBJECT')"
    scalar = f"WHEN {kind} NOT IN ('ARRAY', 'OBJECT') THEN {to.wrong}"
    return f"CASE {empty} {scalar} WHEN {kind} IN {kinds} THEN {text} ELSE {to.error} END"


def _json_exists(arguments: list[Bound], context: Context) -> Bound:
    clauses = _clauses("JSON_EXISTS", arguments, 2)
    words = {"TRUE": "TRUE", "UNKNOWN": "CAST(NULL AS BOOLEAN)"}
    what, _ = clauses.on.get("ERROR", ("FALSE", None))
    error = failure("JSON_EXISTS cannot be answered.") if what == "ERROR" else words.get(what, "FALSE")

    def picked(v: str, many: bool, to: _Answers) -> str:
        return "TRUE" if many else f"coalesce(json_type({v}) <> 'NULL', FALSE)"

    sql = _read("JSON_EXISTS", clauses.plain, BOOLEAN, picked, _Answers("FALSE", error))
    return Bound(sql, BOOLEAN, _text("json_exists", clauses))


# --- written ----------------------------------------------------------------------------------------------------------


def _json_string(arguments: list[Bound], context: Context) -> str:
    return json_text(arguments[0].sql, arguments[0].type, context)


def _is_json(argument: Bound) -> bool:
    """Whether a value is JSON already: what JSON, JSON_OBJECT and JSON_ARRAY made is put in as it is."""
    return argument.text.lower().startswith(("json_object(", "json_array(", "json("))


def _element_text(a: Bound, context: Context) -> str:
    return a.sql if _is_json(a) else json_text(a.sql, a.type, context)


def _keeps_nulls(clauses: _Clauses, unless: str) -> bool:
    return clauses.on.get("NULL", (unless, None))[0] == "NULL"


def _json_array(arguments: list[Bound], context: Context) -> Bound:
    """NULLs are left out unless NULL ON NULL keeps them."""
    clauses = _clauses("JSON_ARRAY", arguments)
    texts = [_element_text(a, context) for a in clauses.plain]
    listed = _listed(texts, keeps_nulls=_keeps_nulls(clauses, "ABSENT"))
    return Bound(f"('[' || array_to_string({listed}, ',') || ']')", STRING, _text("json_array", clauses), False)


def _listed(texts: list[str], *, keeps_nulls: bool) -> str:
    if keeps_nulls:
        nulls = ", ".join(f"coalesce({t}, 'null')" for t in texts)
        return f"CAST([{nulls}] AS VARCHAR[])"
    return f"list_filter(CAST([{', '.join(texts)}] AS VARCHAR[]), lambda part: part IS NOT NULL)"


def _json_object(arguments: list[Bound], context: Context) -> Bound:
    """Its keys are in order, as Flink writes them; of a key that stands twice the last value counts."""
    clauses = _clauses("JSON_OBJECT", arguments)
    pairs = clauses.plain
    if len(pairs) % 2:
        raise BergError(ErrorCode.ARITY, "JSON_OBJECT takes keys and values in turn.")
    keeps = _keeps_nulls(clauses, "NULL")
    members: dict[str, str] = {}
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not isinstance(key.constant, str):
            raise BergError(ErrorCode.INVALID, "The keys of JSON_OBJECT are text literals.")
        text = _element_text(value, context)
        text = f"coalesce({text}, 'null')" if keeps else text
        members[key.constant] = f"{string_literal(json.dumps(key.constant, ensure_ascii=False) + ':')} || {text}"
    ordered = [members[k] for k in sorted(members, key=lambda k: k.encode("utf-16-be"))]
    listed = _listed(ordered, keeps_nulls=False)
    shown = f"('{{' || array_to_string({listed}, ',') || '}}')"
    return Bound(shown, STRING, _text("json_object", clauses), False)


def _json(arguments: list[Bound], context: Context) -> str:
    """The text without its blanks; NULL where there is nothing else."""

    def made(x: str) -> str:
        wrong = failure("JSON: '%s' is no JSON.", x)
        valid = f"WHEN json_valid({x}) THEN CAST(json({x}) AS VARCHAR)"
        return f"CASE WHEN trim({x}) = '' THEN NULL {valid} WHEN {x} IS NOT NULL THEN {wrong} END"

    return let(arguments[0].sql, made)


def _json_arrayagg(call: Call, arguments: list[Bound], context: Context) -> str:
    clauses = _clauses("JSON_ARRAYAGG", arguments, 1)
    text = _element_text(clauses.plain[0], context)
    if _keeps_nulls(clauses, "ABSENT"):
        items = call("list", f"coalesce({text}, 'null')")
    else:
        items = f"list_filter({call('list', text)}, lambda part: part IS NOT NULL)"
    return f"('[' || array_to_string(coalesce({items}, []), ',') || ']')"


def _json_objectagg(call: Call, arguments: list[Bound], context: Context) -> str:
    """Its keys are in order; of a key that comes twice the last value counts."""
    clauses = _clauses("JSON_OBJECTAGG", arguments, 2)
    key, value = clauses.plain
    if key.type.kind not in TEXTS:
        raise BergError(ErrorCode.TYPE, "The keys of JSON_OBJECTAGG are texts.")
    text = _element_text(value, context)
    keeps = _keeps_nulls(clauses, "NULL")
    name = f"coalesce({key.sql}, {failure('JSON_OBJECTAGG takes no NULL as a key.')})"
    pairs = call("list", f"struct_pack(k := {name}, v := {text})")

    def made(all_: str) -> str:
        numbered = f"list_sort(list_transform({all_}, lambda e, n: struct_pack(k := e.k, n := n, v := e.v)))"
        return let(numbered, written)

    def written(s: str) -> str:
        last = f"list_filter({s}, lambda e, n: n = len({s}) OR {s}[n + 1].k <> e.k)"
        kept = last if keeps else f"list_filter({last}, lambda e: e.v IS NOT NULL)"
        members = f"list_transform({kept}, lambda e: CAST(to_json(e.k) AS VARCHAR) || ':' || coalesce(e.v, 'null'))"
        return f"coalesce('{{' || array_to_string({members}, ',') || '}}', '{{}}')"

    return let(pairs, made)


# --- quotes -----------------------------------------------------------------------------------------------------------


def _json_quote(arguments: list[Bound], context: Context) -> str:
    """A slash is escaped too."""
    return f"replace(CAST(to_json({arguments[0].sql}) AS VARCHAR), '/', '\\/')"


def _json_unquote(arguments: list[Bound], context: Context) -> str:
    def made(x: str) -> str:
        quoted = f"regexp_full_match({x}, '(?s)\".*\"') AND json_valid({x})"
        return f"CASE WHEN {quoted} THEN json_extract_string({x}, '$') ELSE {x} END"

    return let(arguments[0].sql, made)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("json", "f", "t", STRING, _json),
    Scalar("json_string", "f", "a", STRING, _json_string),
    Scalar("json_array", "f", "a*", STRING, _json_array),
    Scalar("json_object", "f", "a*", STRING, _json_object),
    Scalar("json_value", "f", "tta*", STRING, _json_value),
    Scalar("json_query", "f", "tta*", STRING, _json_query),
    Scalar("json_exists", "f", "tta*", BOOLEAN, _json_exists),
    Scalar("json_quote", "f", "t", STRING, _json_quote),
    Scalar("json_unquote", "f", "t", STRING, _json_unquote),
    Aggregate("json_arrayagg", "f", "aa*", STRING, _json_arrayagg),
    Aggregate("json_objectagg", "f", "aaa*", STRING, _json_objectagg),
)
