"""Functions of text and bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import at_least, failure, joined, let, let_all
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.types import BINARIES, BOOLEAN, BYTES, INT, STRING, DataType, Field, Kind

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.context import Context

_CAPITALS = {
    "ß": "SS", "ŉ": "ʼN", "ǰ": "J̌", "ﬀ": "FF", "ﬁ": "FI", "ﬂ": "FL", "ﬃ": "FFI", "ﬄ": "FFL", "ﬅ": "ST", "ﬆ": "ST",
}  # fmt: skip
"""Letters that Java writes as two capitals."""


def _upper(arguments: list[Bound], context: Context) -> str:
    def made(x: str) -> str:
        spelt = x
        for letter, capitals in _CAPITALS.items():
            spelt = f"replace({spelt}, '{letter}', '{capitals}')"
        return f"CASE WHEN regexp_matches({x}, '[ßŉǰﬀ-ﬆ]') THEN upper({spelt}) ELSE upper({x}) END"

    return let(arguments[0].sql, made)


def _lower(arguments: list[Bound], context: Context) -> str:
    """Java's: a sigma at the end of a word has a form of its own, and İ keeps its dot."""

    def made(x: str) -> str:
        spelt = f"regexp_replace(replace({x}, 'İ', 'i̇'), '(\\pL\\pM*)Σ([^\\pL]|$)', '\\1ς\\2', 'g')"
        return f"CASE WHEN regexp_matches({x}, '[Σİ]') THEN lower({spelt}) ELSE lower({x}) END"

    return let(arguments[0].sql, made)


MOST_CHARACTERS = 1 << 28
"""Of a text whose length an argument says. JVM engines stop at 2 GiB, mostly with their memory."""


def _concat(node: exp.Expr, context: Context) -> Bound:
    """CONCAT: NULL when any part is (DuckDB's own skips NULLs); in Spark also of arrays."""
    from bergsql.engine.plan.case import one_type
    from bergsql.engine.plan.comparison import as_text
    from bergsql.engine.plan.expressions import bind

    bound = [bind(a, context) for a in node.expressions]
    text = f"concat({', '.join(b.text for b in bound)})"
    if not bound:
        return Bound("''", STRING, text, False, "")
    if any(b.type.kind is Kind.ARRAY for b in bound):
        arrays = one_type(bound, context, node, "CONCAT")
        tests = " AND ".join(f"{a.sql} IS NOT NULL" for a in arrays)
        joined = f"list_concat({', '.join(a.sql for a in arrays)})" if len(arrays) > 1 else arrays[0].sql
        return Bound.of(f"CASE WHEN {tests} THEN {joined} END", arrays[0].type, text, *arrays)
    if all(b.type.kind in BINARIES for b in bound):
        return Bound.of(f"({' || '.join(b.sql for b in bound)})", BYTES, text, *bound)
    parts = [as_text(b, context, node) for b in bound]
    sql = f"({' || '.join(p.sql for p in parts)})" if len(parts) > 1 else parts[0].sql
    return Bound.of(sql, STRING, text, *parts)


def _substring(arguments: list[Bound], context: Context) -> Bound:
    """From 1; 0 means 1; a negative start counts from the end."""
    value, start = arguments[0], arguments[1]
    length = arguments[2] if len(arguments) > 2 else None
    binary = value.type.kind in BINARIES
    if not binary:
        from bergsql.engine.plan.casts import coerce

        value = coerce(value, STRING, context)
    if isinstance(start.constant, int) and start.constant >= 0:
        count = None
        if length is not None:
            known = isinstance(length.constant, int)
            count = str(max(int(str(length.constant)), 0)) if known else at_least(length.sql, 0)
        sql = _piece(value.sql, str(max(start.constant, 1)), count, binary=binary)
    else:
        wanted = length.sql if length else None
        sql = _from_end(value.sql, start.sql, wanted, binary=binary, clipped=context.spark)
    nullable = value.nullable or start.nullable or (length is not None and length.nullable)
    if length is not None and not context.spark:
        sql, nullable = f"CASE WHEN {length.sql} >= 0 THEN {sql} END", True
    return Bound(sql, BYTES if binary else STRING, "", nullable)


def _piece(value: str, first: str, count: str | None, *, binary: bool) -> str:
    """``count`` characters or bytes from ``first`` on (from 1), the rest without ``count``."""
    if binary:
        return f"({value})[{first}:{'' if count is None else f'{first} + {count} - 1'}]"
    return f"substr({value}, {first})" if count is None else f"substr({value}, {first}, {count})"


def _from_end(value: str, start: str, length: str | None, *, binary: bool, clipped: bool) -> str:
    """A start that may be negative, and then may lie before the first character.

    Then what lies before it counts for the length (``clipped``, Spark), or there is no piece at all (Flink).
    """
    size = "octet_length" if binary else "length"

    def made(x: str) -> str:
        first = let(
            start,
            lambda s: f"CASE WHEN {s} > 0 THEN {s} WHEN {s} < 0 THEN {size}({x}) + {s} + 1 WHEN {s} = 0 THEN 1 END",
        )
        if not clipped:
            empty = "BLOB ''" if binary else "''"
            return let(
                first, lambda f: f"CASE WHEN {f} < 1 THEN {empty} ELSE {_piece(x, f, length, binary=binary)} END"
            )
        if length is None:
            return _piece(x, at_least(first, 1), None, binary=binary)

        def cut(f: str) -> str:
            return _piece(x, at_least(f, 1), at_least(f"({length} + least({f} - 1, 0))", 0), binary=binary)

        return let(first, cut)

    return let(value, made)


def _length(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    if a.type.kind in BINARIES:
        return f"CAST(octet_length({a.sql}) AS INTEGER)"
    from bergsql.engine.plan.casts import coerce

    return f"CAST(length({coerce(a, STRING, context).sql}) AS INTEGER)"


def _octet_length(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    return f"CAST({'octet_length' if a.type.kind in BINARIES else 'strlen'}({a.sql}) AS INTEGER)"


def _trim(duck: str) -> Callable[[list[Bound], Context], str]:
    def made(arguments: list[Bound], context: Context) -> str:
        value = arguments[0].sql
        return f"{duck}({value}, {arguments[1].sql if len(arguments) > 1 else repr(' ')})"

    return made


def _spark_trim(duck: str) -> Callable[[list[Bound], Context], str]:
    """Spark's older form has the characters first: TRIM(characters, text)."""

    def made(arguments: list[Bound], context: Context) -> str:
        if context.spark and len(arguments) > 1:
            return f"{duck}({arguments[1].sql}, {arguments[0].sql})"
        return _trim(duck)(arguments, context)

    return made


def _split_index(arguments: list[Bound], context: Context) -> str:
    value, separator, index = arguments
    parts = f"string_split({value.sql}, {separator.sql})"
    return f"CASE WHEN {index.sql} >= 0 THEN {parts}[{index.sql} + 1] END"


def _bounded(word: str, length: str, number: str, make: Callable[[str], str]) -> str:
    """SQL for a text of ``length`` characters, unless one value would take the memory of all.

    ``make`` makes it from ``number``, which is 0 for a text too long: DuckDB computes constants that no branch reaches.
    """
    too_long = f"{length} > {MOST_CHARACTERS}"
    wrong = failure(f"{word.upper()} would make a text of %s characters: more than {MOST_CHARACTERS}.", length)
    made = make(f"CASE WHEN {too_long} THEN 0 ELSE {at_least(number, 0)} END")
    return f"CASE WHEN {too_long} THEN {wrong} ELSE {made} END"


def _repeat(arguments: list[Bound], context: Context) -> str:
    value, times = (a.sql for a in arguments)
    length = f"(length({value}) * CAST({times} AS BIGINT))"
    return _bounded("repeat", length, times, lambda n: f"repeat({value}, {n})")


def _space(arguments: list[Bound], context: Context) -> str:
    return _bounded("space", arguments[0].sql, arguments[0].sql, lambda n: f"repeat(' ', {n})")


def _pad(word: str) -> Callable[[list[Bound], Context], Bound]:
    def made(arguments: list[Bound], context: Context) -> Bound:
        value, length = arguments[0], arguments[1]
        if value.type.kind in BINARIES and context.spark:
            return _padded_bytes(word, arguments, context)
        from bergsql.engine.plan.casts import coerce

        text = coerce(value, STRING, context).sql
        fill = coerce(arguments[2], STRING, context).sql if len(arguments) > 2 else "' '"
        padded = _bounded(word, length.sql, length.sql, lambda n: f"{word}({text}, {n}, {fill})")
        if context.spark:
            sql = f"CASE WHEN {fill} = '' THEN left({text}, {at_least(length.sql, 0)}) ELSE {padded} END"
        else:
            sql = f"CASE WHEN {length.sql} >= 0 AND {fill} <> '' THEN {padded} END"
        return Bound(sql, STRING, "")

    return made


def _padded_bytes(word: str, arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce

    fill = coerce(arguments[2], BYTES, context).sql if len(arguments) > 2 else "BLOB '\\x00'"

    def made(given: list[str]) -> str:
        x, n, f = given
        missing = f"({n} - octet_length({x}))"
        times = f"CASE WHEN {missing} > 0 THEN {missing} ELSE 0 END"
        filled = f"repeat({f}, CASE WHEN {n} > {MOST_CHARACTERS} THEN 0 ELSE {times} END)[1:{times}]"
        both = f"{filled} || {x}" if word == "lpad" else f"{x} || {filled}"
        return f"CASE WHEN {n} <= octet_length({x}) THEN {x}[1:{at_least(n, 0)}] ELSE {both} END"

    sql = let_all([arguments[0].sql, arguments[1].sql, fill], made)
    length = arguments[1].sql
    wrong = failure(f"{word.upper()} would make %s bytes: more than {MOST_CHARACTERS}.", length)
    return Bound(f"CASE WHEN {length} > {MOST_CHARACTERS} THEN {wrong} ELSE {sql} END", BYTES, "")


def _locate(arguments: list[Bound], context: Context) -> str:
    part, value = arguments[0].sql, arguments[1].sql
    if len(arguments) < 3:
        return f"CAST(strpos({value}, {part}) AS INTEGER)"

    def made(given: list[str]) -> str:
        p, x, start = given
        found = let(
            f"strpos(substr({x}, {start}), {p})", lambda f: f"CASE WHEN {f} > 0 THEN {f} + {start} - 1 ELSE {f} END"
        )
        unknown = f"WHEN {start} IS NULL THEN 0 " if context.spark else f"WHEN {start} IS NULL THEN NULL "
        return (
            f"CAST(CASE WHEN {p} IS NULL OR {x} IS NULL THEN NULL {unknown}WHEN {start} < 1 THEN 0 "
            f"WHEN {p} = '' THEN 1 ELSE {found} END AS INTEGER)"
        )

    return let_all([part, value, arguments[2].sql], made)


def _position(arguments: list[Bound], context: Context) -> Bound:
    start = arguments[2].text if len(arguments) > 2 else "1"
    text = f"locate({arguments[0].text}, {arguments[1].text}, {start})"
    return Bound(_locate(arguments, context), INT, text)


def _overlay(arguments: list[Bound], context: Context) -> Bound:
    """Spark takes what stands before the place and what follows the replaced part, each as SUBSTRING does."""
    from bergsql.engine.plan.casts import coerce

    binary = arguments[0].type.kind in BINARIES and arguments[1].type.kind in BINARIES
    type_ = BYTES if binary else STRING
    size = "octet_length" if binary else "length"
    values = [coerce(a, type_, context).sql for a in arguments[:2]]
    places = [f"CAST({a.sql} AS BIGINT)" for a in arguments[2:]]

    def made(given: list[str]) -> str:
        x, new, start = given[:3]
        length = f"{size}({new})"
        if len(given) > 3:
            length = f"CASE WHEN {given[3]} < 0 THEN {length} ELSE {given[3]} END"

        def rest(behind: str) -> str:
            from_end = at_least(f"({size}({x}) + {behind} + 1)", 1)
            first = f"CASE WHEN {behind} < 0 THEN {from_end} ELSE {at_least(behind, 1)} END"
            return f"{x}[{first}:]" if binary else f"substr({x}, {first})"

        before = f"{x}[1:{start} - 1]" if binary else f"left({x}, {at_least(f'({start} - 1)', 0)})"
        empty = "BLOB ''" if binary else "''"
        before = f"CASE WHEN {start} < 2 THEN {empty} ELSE {before} END"
        whole = f"({before} || {new} || {let(f'({start} + {length})', rest)})"
        if context.spark:
            return whole
        return f"CASE WHEN {start} < 1 OR {start} > {size}({x}) THEN {x} ELSE {whole} END"

    return Bound(let_all([*values, *places], made), type_, "")


def _side(word: str) -> Callable[[list[Bound], Context], Bound]:
    """LEFT and RIGHT; Spark's LEFT of bytes gives bytes."""

    def made(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.casts import coerce

        value, length = arguments[0], at_least(arguments[1].sql, 0)
        if word == "left" and value.type.kind in BINARIES:
            return Bound(f"{value.sql}[1:{length}]", BYTES, "")
        return Bound(f"{word}({coerce(value, STRING, context).sql}, {length})", STRING, "")

    return made


def _concat_ws(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    separator = coerce(arguments[0], STRING, context).sql
    parts = []
    for a in arguments[1:]:
        if a.type.kind is Kind.ARRAY:
            parts.append(f"coalesce({coerce(a, _texts(arguments), context).sql}, [])")
        else:
            parts.append(f"[{coerce(a, STRING, context).sql}]")
    if not parts:
        return f"CASE WHEN {separator} IS NOT NULL THEN '' END"
    every = f"list_concat({', '.join(parts)})" if len(parts) > 1 else parts[0]
    kept = joined(f"list_filter({every}, lambda e: e IS NOT NULL)", separator)
    return f"CASE WHEN {separator} IS NOT NULL THEN coalesce({kept}, '') END"


def _from_base64(text: str) -> str:
    """Java's decoder does without the padding that DuckDB's asks for."""

    def made(x: str) -> str:
        digits = f"rtrim({x}, '=')"
        padded = f"rpad({digits}, CAST(ceil(length({digits}) / 4) * 4 AS INTEGER), '=')"
        valid = f"regexp_full_match({digits}, '[A-Za-z0-9+/]*') AND length({digits}) % 4 <> 1"
        wrong = failure("'%s' is no base64.", x)
        return f"CASE WHEN {valid} THEN from_base64({padded}) WHEN {x} IS NOT NULL THEN {wrong} END"

    return let(text, made)


def _unbase64(arguments: list[Bound], context: Context) -> str:
    """As MIME has it: what is no digit is skipped."""
    return _from_base64(f"regexp_replace({arguments[0].sql}, '[^A-Za-z0-9+/=]', '', 'g')")


def _held(word: str) -> Callable[[list[Bound], Context], str]:
    """CONTAINS and its like; of bytes by their digits, whose pairs must line up."""

    def made(arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.casts import coerce

        a, b = arguments
        if a.type.kind not in BINARIES or b.type.kind not in BINARIES:
            return f"{word}({coerce(a, STRING, context).sql}, {coerce(b, STRING, context).sql})"
        pairs = (f"regexp_replace(hex({x.sql}), '(..)', '\\1,', 'g')" for x in (a, b))
        return f"{word}({', '.join(pairs)})"

    return made


def _reverse(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce

    a = arguments[0]
    if a.type.kind is Kind.ARRAY:
        return Bound(f"list_reverse({a.sql})", a.type, "")
    return Bound(f"reverse({coerce(a, STRING, context).sql})", STRING, "")


def _initcap(sql: str) -> str:
    return (
        f"array_to_string(list_transform(string_split(lower({sql}), ' '), "
        f"lambda w: upper(left(w, 1)) || substr(w, 2)), ' ')"
    )


def _texts(arguments: Sequence[Bound]) -> DataType:
    return DataType(Kind.ARRAY, children=(Field("element", STRING),))


def _replace(arguments: list[Bound], context: Context) -> str:
    old = arguments[1].sql
    new = arguments[2].sql if len(arguments) > 2 else "''"
    return f"replace({arguments[0].sql}, {old}, {new})"


FUNCTIONS: tuple[Function, ...] = (
    Special("concat", "fs", _concat),
    Scalar("concat_ws", "fs", "aa*", STRING, _concat_ws),
    Scalar("upper", "fs", "t", STRING, _upper),
    Scalar("ucase", "s", "t", STRING, _upper),
    Scalar("lower", "fs", "t", STRING, _lower),
    Scalar("lcase", "s", "t", STRING, _lower),
    Scalar("length char_length character_length len", "s", "o", INT, _length),
    Scalar("char_length character_length", "f", "t", INT, _length),
    Scalar("bit_length", "s", "o", INT, lambda a, c: f"({_octet_length(a, c)} * 8)"),
    Scalar("octet_length", "s", "o", INT, _octet_length),
    Scalar("substring substr", "fs", "aii?", STRING, _substring),
    Scalar("left", "fs", "oi", STRING, _side("left")),
    Scalar("right", "fs", "ti", STRING, _side("right")),
    Scalar("trim", "fs", "tt?", STRING, _spark_trim("trim")),
    Scalar("btrim", "fs", "tt?", STRING, _trim("trim")),
    Scalar("ltrim", "fs", "tt?", STRING, _spark_trim("ltrim")),
    Scalar("rtrim", "fs", "tt?", STRING, _spark_trim("rtrim")),
    Scalar("lpad", "fs", "oio?", STRING, _pad("lpad"), defaults=("", "", " ")),
    Scalar("rpad", "fs", "oio?", STRING, _pad("rpad"), defaults=("", "", " ")),
    Scalar("repeat", "fs", "ti", STRING, _repeat),
    Scalar("reverse", "f", "t", STRING, "reverse({0})"),
    Scalar("reverse", "s", "a", 0, _reverse),
    Scalar("replace", "fs", "ttt?", STRING, _replace, defaults=("", "", "")),
    Scalar("translate", "fs", "ttt", STRING, "translate({0}, {1}, {2})"),
    Scalar("initcap", "fs", "t", STRING, lambda a, c: _initcap(a[0].sql)),
    Scalar("ascii", "fs", "t", INT, "CAST(ascii({0}) AS INTEGER)"),
    Scalar("chr char", "s", "l", STRING, "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END"),
    Scalar("chr", "f", "l", STRING, "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END"),
    Scalar("position", "fs", "tti?", INT, _position),
    Scalar("locate", "fs", "tti?", INT, _locate, defaults=("", "", "1")),
    Scalar("charindex", "s", "tti?", INT, _locate, defaults=("", "", "1")),
    Scalar("instr", "fs", "tt", INT, "CAST(strpos({0}, {1}) AS INTEGER)"),
    Scalar("contains", "s", "oo", BOOLEAN, _held("contains")),
    Scalar("startswith", "fs", "oo", BOOLEAN, _held("starts_with")),
    Scalar("endswith", "fs", "oo", BOOLEAN, _held("ends_with")),
    Scalar("overlay", "fs", "ooii?", STRING, _overlay, defaults=("", "", "", "-1")),
    Scalar("split_index", "f", "tti", STRING, _split_index),
    Scalar("unbase64", "s", "t", BYTES, _unbase64),
    Scalar("to_base64", "f", "t", STRING, "base64(encode({0}))"),
    Scalar("from_base64", "f", "t", STRING, lambda a, c: f"decode({_from_base64(a[0].sql)})"),
    Scalar("space", "s", "i", STRING, _space),
    Scalar("uuid", "fs", "", STRING, "CAST(uuid() AS VARCHAR)", volatile=True),
)
