"""MIN, MAX, FIRST_VALUE, ARRAY_AGG and the like: results that are values of the group.

Over inserts only the result so far is enough. Where rows may be taken back, the values are kept one by one
(:class:`Kept`) and the state's column holds what they last gave.
"""

from __future__ import annotations

from typing import Final

from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import Kind
from bergsql.engine.streaming.operators.accumulators.layout import PLUS, Result, State, Term

BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}


def least(term: Term) -> Result:
    return _extreme(term, "min", "least", "least")


def greatest(term: Term) -> Result:
    return _extreme(term, "max", "greatest", "greatest")


def _extreme(term: Term, aggregate: str, of_two: str, kind: str) -> Result:
    type_ = duckdb_name(term.type)
    come = (PLUS,) if term.retracts else ()
    delta = term.delta(f"{aggregate}({term.x})", *come)
    better = f"{of_two}(OLD, {delta})"  # of two, one of them NULL, it is the other
    if term.retracts:
        kept = term.layout.values(kind, term.call.arguments[0], term.stage, term.where(f"{term.x} IS NOT NULL")).alias
        better = f"CASE WHEN {kept}.told THEN {kept}.x ELSE {better} END"
    value = term.layout.state(type_, f"CAST({better} AS {type_})", delta)
    return lambda s: s(value)


def bool_and(term: Term) -> Result:
    return _truth(term, "least", "bool_and", "NOT")


def bool_or(term: Term) -> Result:
    return _truth(term, "greatest", "bool_or", "")


def _truth(term: Term, of_two: str, aggregate: str, mark: str) -> Result:
    """Where rows may be taken back: how many values decide, of how many."""
    if not term.retracts:
        delta = term.delta(f"{aggregate}({term.x})")
        value = term.layout.state("BOOLEAN", f"{of_two}(OLD, {delta})", delta)
        return lambda s: s(value)
    n = term.total("count(*)", "BIGINT", f"{term.x} IS NOT NULL")
    decide = term.total("count(*)", "BIGINT", f"{mark} {term.x}")
    return lambda s: f"CASE WHEN {s(n)} > 0 THEN {s(decide)} {'=' if mark else '>'} 0 END"


def bit_and(term: Term) -> Result:
    return _bits(term, "bit_and", "OLD & {delta}", "= {n}")


def bit_or(term: Term) -> Result:
    return _bits(term, "bit_or", "OLD | {delta}", "> 0")


def bit_xor(term: Term) -> Result:
    return _bits(term, "bit_xor", "xor(OLD, {delta})", "% 2 = 1")


def _bits(term: Term, aggregate: str, of_two: str, test: str) -> Result:
    """Where rows may be taken back: how many values have each bit."""
    type_ = duckdb_name(term.type)
    if not term.retracts:
        delta = term.delta(f"{aggregate}({term.x})")
        value = term.merged(type_, delta, f"({of_two.format(delta=delta)})")
        return lambda s: s(value)
    n = term.total("count(*)", "BIGINT", f"{term.x} IS NOT NULL")
    width = BITS[term.type.kind]
    sign = f"CASE WHEN {term.x} < 0 THEN 1 ELSE 0 END"
    ones = [
        term.total(f"sum({sign if bit == width - 1 else f'(({term.x} >> {bit}) & 1)'})", "BIGINT")
        for bit in range(width)
    ]

    def result(s: State) -> str:
        def part(bit: int) -> str:
            value = -(1 << bit) if bit == width - 1 else 1 << bit
            return f"CASE WHEN {s(ones[bit])} {test.format(n=s(n))} THEN CAST({value} AS HUGEINT) ELSE 0 END"

        return f"CASE WHEN {s(n)} > 0 THEN {' + '.join(part(bit) for bit in range(width))} END"

    return result


def first(term: Term) -> Result:
    """The first value, NULL too: where NULLs do not count, the call's filter leaves them out."""
    return _end(term, "first", "o.{has} THEN OLD ELSE {value}")


def last(term: Term) -> Result:
    return _end(term, "last", "{here} THEN {value} ELSE OLD")


def any_value(term: Term) -> Result:
    """The first value that is not NULL."""
    term.condition = term.where(f"{term.x} IS NOT NULL")
    return first(term)


def _end(term: Term, kind: str, choice: str) -> Result:
    type_ = duckdb_name(term.type)
    if term.retracts:
        kept = term.layout.values(kind, term.call.arguments[0], term.stage, term.where()).alias
        value = term.layout.state(type_, f"CASE WHEN {kept}.told THEN {kept}.x ELSE OLD END")
        return lambda s: s(value)
    here = term.stage.delta(f"{term.over('count(*)')} > 0")
    delta = term.delta(f"{kind}({term.x} ORDER BY i.rowid)")
    has = term.layout.state("BOOLEAN", f"coalesce(OLD, FALSE) OR coalesce({here}, FALSE)", here)
    sql = f"CASE WHEN {choice.format(has=has, here=here, value=delta)} END"
    value = term.layout.state(type_, sql, delta)
    return lambda s: s(value)


def array(term: Term) -> Result:
    """The values in the order in which they came; NULL for none."""
    return _list(term)


def collected(term: Term) -> Result:
    """Spark's COLLECT_LIST: without NULLs, empty for none."""
    term.condition = term.where(f"{term.x} IS NOT NULL")
    values = _list(term)
    return lambda s: f"coalesce({values(s)}, [])"


def listed(term: Term) -> Result:
    """Texts with separators between; NULL for none."""
    term.condition = term.where(f"{term.x} IS NOT NULL")
    values = _list(term)
    separator = string_literal("," if term.call.separator is None else term.call.separator)
    return lambda s: f"array_to_string({values(s)}, {separator})"


def _list(term: Term) -> Result:
    type_ = f"{duckdb_name(term.type)}[]"
    if term.retracts:
        kept = term.layout.values("all", term.call.arguments[0], term.stage, term.where()).alias
        value = term.layout.state(type_, f"CASE WHEN {kept}.told THEN {kept}.x ELSE OLD END")
    else:
        delta = term.delta(f"list({term.x} ORDER BY i.rowid)")
        value = term.merged(type_, delta, f"list_concat(OLD, {delta})")
    return lambda s: s(value)


def single(term: Term) -> Result:
    """SINGLE_VALUE: an error where there are several rows."""
    from bergsql.engine.plan.sql_text import failure

    n = term.total("count(*)", "BIGINT")
    value = first(term)

    def result(s: State) -> str:
        several = failure("SINGLE_VALUE is of one row, and there are %s.", s(n))
        return f"CASE WHEN {s(n)} > 1 THEN {several} ELSE {value(s)} END"

    return result
