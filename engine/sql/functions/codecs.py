"""Bytes: character sets, base64, digests, URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.cast_text import utf8_text
from bergsql.engine.plan.sql_text import each, failure, let
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.types import BIGINT, BINARIES, BOOLEAN, BYTES, STRING

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Maker

CHARSETS = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16")
_ASIDE = {"UTF8": "UTF-8", "LATIN1": "ISO-8859-1", "ASCII": "US-ASCII"}


def _charset(name: str, given: Bound) -> str:
    if not isinstance(given.constant, str):
        raise not_supported(f"{name} with a character set that is not a literal")
    upper = given.constant.upper()
    if _ASIDE.get(upper, upper) not in CHARSETS:
        message = f"{name} knows no character set '{given.constant}'."
        raise BergError(ErrorCode.INVALID, message, hint=f"There are {', '.join(CHARSETS)}.")
    return _ASIDE.get(upper, upper)


def _units(text: str, order: str) -> str:
    """The UTF-16 units of a text as hexadecimal digits; ``order``: ``be`` or ``le``."""

    def unit(number: str) -> str:
        digits = f"lpad(to_hex({number}), 4, '0')"
        return digits if order == "be" else let(digits, lambda d: f"(substr({d}, 3, 2) || substr({d}, 1, 2))")

    def digits(c: str) -> str:
        high, low = f"(55296 + (({c} - 65536) >> 10))", f"(56320 + (({c} - 65536) & 1023))"
        return f"CASE WHEN {c} < 65536 THEN {unit(c)} ELSE {unit(high)} || {unit(low)} END"

    codes = f"list_transform(list_filter(string_split({text}, ''), lambda c: c <> ''), lambda c: unicode(c))"
    return f"array_to_string({each(codes, digits)}, '')"


def _bytes_of(text: str, charset: str) -> str:
    if charset == "UTF-8":
        return f"encode({text})"
    if charset.startswith("UTF-16"):
        order = "le" if charset.endswith("LE") else "be"
        mark = "FEFF" if charset == "UTF-16" else ""

        def marked(x: str) -> str:
            digits = f"unhex('{mark}' || {_units(x, order)})"
            return f"CASE WHEN {x} = '' THEN BLOB '' WHEN {x} IS NOT NULL THEN {digits} END"

        return let(text, marked)
    top = 127 if charset == "US-ASCII" else 255
    codes = f"list_transform(list_filter(string_split({text}, ''), lambda c: c <> ''), lambda c: unicode(c))"
    one = each(codes, lambda c: f"lpad(to_hex(CASE WHEN {c} > {top} THEN 63 ELSE {c} END), 2, '0')")
    return f"CASE WHEN {text} IS NOT NULL THEN unhex(array_to_string({one}, '')) END"


def _encode(arguments: list[Bound], context: Context) -> str:
    if arguments[1].is_null:
        return "CAST(NULL AS BLOB)"
    return let(arguments[0].sql, lambda x: _bytes_of(x, _charset("ENCODE", arguments[1])))


def _text_of(value: str, charset: str) -> str:
    if charset == "UTF-8":
        return utf8_text(value)
    if charset.startswith("UTF-16"):
        raise not_supported(f"DECODE from {charset}")
    top = "CASE WHEN c > 127 THEN chr(65533) ELSE chr(CAST(c AS INTEGER)) END"
    char = top if charset == "US-ASCII" else "chr(CAST(c AS INTEGER))"
    numbers = byte_numbers(value)
    chars = f"array_to_string(list_transform({numbers}, lambda c: {char}), '')"
    return f"CASE WHEN {value} IS NOT NULL THEN {chars} END"


def byte_numbers(value: str) -> str:
    """SQL for the list of a BLOB's bytes as numbers."""
    digits = f"hex({value})"
    return let(
        digits,
        lambda h: (
            f"list_transform(range(CAST(length({h}) // 2 AS BIGINT)), "
            f"lambda n: CAST('0x' || substr({h}, 2 * n + 1, 2) AS BIGINT))"
        ),
    )


def _decode(node: exp.Expr, context: Context) -> Bound:
    """Bytes and a character set; in Spark with more arguments a CASE: there NULL equals NULL."""
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.case import one_type
    from bergsql.engine.plan.comparison import comparable
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    bound = [bind(a, context) for a in node.expressions]
    text = f"decode({', '.join(b.text for b in bound)})"
    if len(bound) <= 2:
        value, charset = fit_arguments("xt", "decode", bound, context, span_of(node))
        if charset.is_null:
            return Bound("CAST(NULL AS VARCHAR)", STRING, text)
        try:
            sql = let(value.sql, lambda x: _text_of(x, _charset("DECODE", charset)))
        except BergError as error:
            raise error.at(span_of(node)) from None
        return Bound.of(sql, STRING, text, value, nullable=True)
    subject, rest = bound[0], bound[1:]
    default = rest.pop() if len(rest) % 2 else None
    results = one_type([*rest[1::2], *([default] if default else [])], context, node, "DECODE")
    cases = []
    for wanted, result in zip(rest[::2], results, strict=False):
        a, b = comparable(subject, wanted, context, node)
        cases.append(f"WHEN {a.sql} IS NOT DISTINCT FROM {b.sql} THEN {result.sql}")
    last = f" ELSE {results[-1].sql}" if default else ""
    return Bound.of(f"(CASE {' '.join(cases)}{last} END)", results[0].type, text, *bound, nullable=True)


def _base64(arguments: list[Bound], context: Context) -> str:
    """As MIME has it: lines of 76 characters."""
    return let(
        f"base64({arguments[0].sql})",
        lambda b: (
            f"CASE WHEN length({b}) > 76 THEN rtrim(regexp_replace({b}, '(.{{76}})', '\\1' || chr(13) || chr(10), "
            f"'g'), chr(13) || chr(10)) ELSE {b} END"
        ),
    )


def _binary(word: str) -> Maker:
    """TO_BINARY and TRY_TO_BINARY, whose format is ``hex`` unless it is said."""
    tried = word.startswith("TRY")

    def made(arguments: list[Bound], context: Context) -> str:
        given = arguments[1] if len(arguments) > 1 else None
        if given is not None and given.is_null:
            return "CAST(NULL AS BLOB)"
        if given is not None and not isinstance(given.constant, str):
            raise not_supported(f"{word} with a format that is not a literal")
        format_ = "hex" if given is None else str(given.constant).lower()
        if format_ in ("utf-8", "utf8"):
            return f"encode({arguments[0].sql})"
        if format_ not in ("hex", "base64"):
            raise BergError(ErrorCode.INVALID, f"{word} takes the formats hex, utf-8 and base64.")

        def read(x: str) -> str:
            if format_ == "hex":
                valid = f"regexp_full_match({x}, '[0-9a-fA-F]*')"
                value = f"TRY(unhex({x}))"
            else:
                d = "[A-Za-z0-9+/]"
                valid = f"regexp_full_match({x}, '(?:{d}{{4}})*(?:{d}{{2}}==|{d}{{3}}=)?')"
                value = f"TRY(from_base64({x}))"
            wrong = "NULL" if tried else failure(f"{word}: '%s' is no {format_}.", x)
            return f"CASE WHEN {x} IS NULL THEN NULL WHEN {valid} THEN {value} ELSE {wrong} END"

        return let(arguments[0].sql, read)

    return made


def _crc32(arguments: list[Bound], context: Context) -> str:
    """By the usual table of 256 remainders."""
    table = ", ".join(str(_crc_of(n)) for n in range(256))

    def made(x: str) -> str:
        folded = (
            f"list_reduce({byte_numbers(x)}, lambda c, b: "
            f"xor(c >> 8, list_extract([{table}]::BIGINT[], (xor(c, b) & 255) + 1)), CAST(4294967295 AS BIGINT))"
        )
        return f"CASE WHEN {x} IS NOT NULL THEN xor({folded}, 4294967295) END"

    return let(arguments[0].sql, made)


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0xEDB88320 if byte & 1 else 0)
    return byte


def _url_encoded(arguments: list[Bound], context: Context) -> str:
    """As forms are: a blank is a plus, a star stays, a tilde does not."""
    encoded = f"url_encode({arguments[0].sql})"
    for old, new in (("%20", "+"), ("%2A", "*"), ("~", "%7E")):
        encoded = f"replace({encoded}, '{old}', '{new}')"
    return encoded


def _url_decoded(strict: bool) -> Maker:
    def made(arguments: list[Bound], context: Context) -> str:
        def read(x: str) -> str:
            valid = f"regexp_full_match({x}, '(?:[^%]|%[0-9a-fA-F]{{2}})*')"
            wrong = failure("URL_DECODE: '%s' is no encoded text.", x) if strict and context.spark else "NULL"
            decoded = f"url_decode(replace({x}, '+', ' '))"
            return f"CASE WHEN {x} IS NULL THEN NULL WHEN {valid} THEN {decoded} ELSE {wrong} END"

        return let(arguments[0].sql, read)

    return made


_DEPTH = 10
"""How often URL_DECODE_RECURSIVE decodes unless it is said."""
_DEEPEST = 1000


def _url_decoded_again(arguments: list[Bound], context: Context) -> str:
    """Until nothing changes; what cannot be decoded a second time stays as it is."""
    once = _url_decoded(strict=False)
    depth = f"CAST({arguments[1].sql} AS BIGINT)" if len(arguments) > 1 else str(_DEPTH)
    text = once(arguments[:1], context)
    again = once([Bound("s", STRING, "")], context)
    times = f"list_transform(range(CASE WHEN {depth} > {_DEEPEST} THEN {_DEEPEST} ELSE {depth} END - 1), lambda i: '')"
    return f"list_reduce({times}, lambda s, i: coalesce({again}, s), {text})"


_URL = r"^(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$"
_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")


def _parse_url(arguments: list[Bound], context: Context) -> str:
    """RFC 3986's pattern; a part that is not there is NULL, and so is a part that has no such name."""
    part = arguments[1]
    if any(a.is_null for a in arguments):
        return "CAST(NULL AS VARCHAR)"
    if not isinstance(part.constant, str):
        raise not_supported("PARSE_URL of a part that is not a literal")
    if part.constant not in _PARTS or (len(arguments) > 2 and part.constant != "QUERY"):
        return "CAST(NULL AS VARCHAR)"

    def group(x: str, n: int) -> str:
        return f"regexp_extract({x}, '{_URL}', {n})"

    def given(x: str, n: int, mark: str) -> str:
        return f"CASE WHEN regexp_matches({x}, '{mark}') THEN {group(x, n)} END"

    def made(x: str) -> str:
        authority = f"nullif({group(x, 2)}, '')"
        query, path = given(x, 4, r"^[^#]*\?"), group(x, 3)
        hierarchical = f"({group(x, 1)} = '' OR {authority} IS NOT NULL OR starts_with({path}, '/'))"
        host = f"regexp_replace(regexp_replace({authority}, '^.*@', ''), ':[0-9]*$', '')"
        if len(arguments) > 2:
            key = f"regexp_escape({arguments[2].sql})"
            found = f"regexp_extract('&' || {query}, '&' || {key} || '=([^&]*)', 1)"
            sql = f"CASE WHEN regexp_matches('&' || {query}, '&' || {key} || '=') THEN {found} END"
        else:
            sql = {
                "HOST": host,
                "PATH": path,
                "QUERY": query,
                "REF": given(x, 5, "#"),
                "PROTOCOL": f"nullif({group(x, 1)}, '')",
                "FILE": f"({path} || coalesce('?' || {query}, ''))",
                "AUTHORITY": authority,
                "USERINFO": f"CASE WHEN contains({authority}, '@') THEN regexp_extract({authority}, '^(.*)@', 1) END",
            }[str(part.constant)]
        opaque = sql if part.constant in ("PROTOCOL", "REF") else f"CASE WHEN {hierarchical} THEN {sql} END"
        return f"CASE WHEN NOT regexp_matches({x}, '[\\x00-\\x20<>\"{{}}|\\\\^`]') THEN {opaque} END"

    return let(arguments[0].sql, made)


def _valid(arguments: list[Bound], context: Context) -> Bound:
    a = arguments[0]
    if a.type.kind not in BINARIES:
        return Bound(f"CASE WHEN {a.sql} IS NOT NULL THEN TRUE END", BOOLEAN, "")
    return Bound(let(a.sql, lambda x: f"CASE WHEN {x} IS NOT NULL THEN TRY(decode({x})) IS NOT NULL END"), BOOLEAN, "")


def _validated(word: str) -> Maker:
    def made(arguments: list[Bound], context: Context) -> str:
        a = arguments[0]
        if a.type.kind not in BINARIES:
            return a.sql
        if word == "make":
            return utf8_text(a.sql)
        if word == "try":
            return f"TRY(decode({a.sql}))"
        wrong = failure("VALIDATE_UTF8: the bytes are not UTF-8.")
        return let(a.sql, lambda x: f"coalesce(TRY(decode({x})), CASE WHEN {x} IS NOT NULL THEN {wrong} END)")

    return made


FUNCTIONS: tuple[Function, ...] = (
    Scalar("encode", "fs", "tt", BYTES, _encode),
    Special("decode", "fs", _decode),
    Scalar("base64", "s", "x", STRING, _base64),
    Scalar("to_binary", "s", "tt?", BYTES, _binary("TO_BINARY")),
    Scalar("try_to_binary", "s", "tt?", BYTES, _binary("TRY_TO_BINARY")),
    Scalar("crc32", "s", "x", BIGINT, _crc32),
    Scalar("url_encode", "fs", "t", STRING, _url_encoded),
    Scalar("url_decode", "fs", "t", STRING, _url_decoded(True)),
    Scalar("url_decode_recursive", "f", "ti?", STRING, _url_decoded_again),
    Scalar("try_url_decode", "s", "t", STRING, _url_decoded(False)),
    Scalar("parse_url try_parse_url", "s", "ttt?", STRING, _parse_url),
    Scalar("parse_url", "f", "ttt?", STRING, _parse_url),
    Scalar("is_valid_utf8", "s", "o", BOOLEAN, _valid),
    Scalar("make_valid_utf8", "s", "o", STRING, _validated("make")),
    Scalar("validate_utf8", "s", "o", STRING, _validated("check")),
    Scalar("try_validate_utf8", "s", "o", STRING, _validated("try")),
)
