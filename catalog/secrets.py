"""Keeping secrets out of everything that is shown, logged or written to a history.

What a secret is, is told by its key, by its place in a URL, or by the word Bearer before it. In doubt it is one: that
too much is masked does less harm.
"""

from __future__ import annotations

import re
from functools import cache

MASK = "******"

_ANYWHERE = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "authorization"),
    *("apikey", "accesskey", "accountkey", "privatekey", "sharedkey", "signingkey", "encryptionkey", "masterkey"),
    *("keystorekey", "ssekey", "sharedaccesssignature", "userinfo", "jaasconfig", "cookie"),
)
"""In a key without its dots and dashes."""
_AS_A_WORD = frozenset({"pass", "pw", "sas", "sig", "signature", "jwt"})
"""As one of a key's words."""
_IN_A_QUERY = frozenset({"auth", "code", "key", "session", "sessionid", "sid"})
"""As the whole name of a URL's parameter."""

# What holds one of those and is no secret: it is cut out of a key before that is looked at.
_HARMLESS = r"""(?xi)
    token[-_.](?:expires|expiration|refresh|exchange|endpoint|type|uri|url) | oauth2-server-uri
    | (?:key|token)[-_.](?:format|fields|prefix) | credentials?[-_.](?:provider|type|source)
    | (?:access|encryption|signing|master)[-_.]?key[-_.]?(?:id|name) (?![a-z]) | account[-_.]?key[-_.]?provider
    | signature[-_.](?:version|type|algorithm)"""


def is_secret_key(key: str) -> bool:
    """Whether the value of an option called ``key`` must not be shown."""
    if not _may_be_secret(key):
        return False
    left = re.sub(_HARMLESS, "", key)
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", left)
    return _may_be_secret(left) and (_holds_secret_word(left) or any(w.lower() in _AS_A_WORD for w in words))


def _may_be_secret(key: str) -> bool:
    """A quick look, for the many keys that hold nothing."""
    folded = key.casefold()
    return any(word in folded for word in _AS_A_WORD) or _holds_secret_word(key)


def _holds_secret_word(key: str) -> bool:
    letters = "".join(filter(str.isalnum, key.casefold()))
    return any(word in letters for word in _ANYWHERE)


def mask_value(key: str, value: str) -> str:
    """``value`` as it may be shown: masked for a secret key, and for any key the secrets inside it masked.

    A reference ``${env:NAME}`` is not the secret itself and stays.
    """
    if is_secret_key(key):
        return value if _is_reference(value) else MASK
    return _mask(value, whole=True, depth=0)


def mask_text(text: str) -> str:
    """A statement or a message with the secrets in its pairs of keys and values, its URLs and its headers masked."""
    return _mask(text, whole=False, depth=0)


def _mask(text: str, *, whole: bool, depth: int) -> str:
    """``text`` masked. ``whole``: it is one value without its quotes, so that quotes in it end nothing."""
    # A quote may begin a string or end one: as strings first, then in every other way that there is.
    for by_strings in (True, False):
        text = _mask_pairs(text, whole=whole, depth=depth, by_strings=by_strings)
    if "://" in text and "@" in text:
        text = _users(whole).sub(_masked_user, text)
    return re.sub(_BEARER, rf"\1{MASK}", text) if "earer" in text.casefold() else text


_BEARER = r"(?i)\b(bearer\s+)(?!\$\{env:)[^\s'\",;]+"


def _is_reference(value: str) -> bool:
    return value.startswith("${env:") and value.find("}") == len(value) - 1


# --- URLs ------------------------------------------------------------------------------------------------------------

_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")
"""Schemes in which the name before the @ is a place."""


@cache
def _users(whole: bool) -> re.Pattern[str]:
    """What stands before the last @ of a URL's authority: with slashes in it, if what follows the colon is no port."""
    any_ = "[^/]" if whole else r"[^/\s'\"]"
    any_but_colon = "[^/:@]" if whole else r"[^/:@\s'\"]"
    with_slashes = "." if whole else r"[^\s'\"]"
    return re.compile(
        rf"(?s)(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
        rf"(?P<user>{any_}*|{any_but_colon}*:(?![0-9]*(?:[/?#,]|\Z)){with_slashes}*)@"
    )


def _masked_user(m: re.Match[str]) -> str:
    user = m["user"]
    if not user or (m["scheme"].lower() in _CONTAINERS and ":" not in user):
        return m[0]
    _, colon, password = user.partition(":")
    if _is_reference(user) or (colon and _is_reference(password)):
        return m[0]
    return f"{m['scheme']}://{MASK}@"


# --- pairs -----------------------------------------------------------------------------------------------------------

_BLANKS = r"(?:\s|/\*[^*]{0,999}\*/|--[^\n]{0,999}\n)*+"
_DEEPEST = 3
"""How many strings inside strings are looked into."""


@cache
def _pairs() -> re.Pattern[str]:
    """A key and what stands between it and its value: = and its kin; before a string also a colon, comma or blanks."""
    return re.compile(
        r"""(?P<key>'[^']{1,256}'|"[^"]{1,256}"|`[^`]{1,256}`|(?<![\w.$-])[\w.$-]++)"""
        rf"""(?P<between>{_BLANKS}(?:==?>?|:=){_BLANKS}|{_BLANKS}[:,]?{_BLANKS}(?=[rR]?['"]))"""
    )


@cache
def _strings() -> re.Pattern[str]:
    """A string, in which quotes may be doubled or escaped, and which may lack its end."""
    return re.compile(
        r"""(?s)(?:[rRnNxX]|[uU]&)?(?P<quote>['"])(?P<inside>(?:(?!(?P=quote))[^\\]|(?P=quote){2}|\\.)*+)"""
        r"""(?P<closed>(?P=quote)|\\?\Z)"""
    )


def _mask_pairs(text: str, *, whole: bool, depth: int, by_strings: bool) -> str:
    """``by_strings``: what looks like a string is one, and the next pair begins behind it."""
    if not any(sign in text for sign in "='\""):
        return text
    shown: list[str] = []
    done = at = 0
    while (m := _pairs().search(text, at)) is not None:
        name = m["key"].strip("'\"`")
        quoted_key = m["key"][0] in "'\"`"
        at = m.start() + 1 if quoted_key and not by_strings else m.end("key")
        before = text[max(0, m.start() - 32) : m.start()]
        if "=" not in m["between"] and not (
            re.fullmatch(r"[\w.$-]+", name) if quoted_key else before.rstrip()[-1:] in ("(", ",")
        ):
            continue  # prose
        string = _strings().match(text, m.end())
        if "," in m["between"] and string is not None and _is_key(text, string.end()):
            continue  # the value of one pair, and the key of the next
        if is_secret_key(name) or (before[-1:] in ("?", "&", "#") and name.casefold() in _IN_A_QUERY):
            end, masked = _masked_secret(text, m.end(), string, before, whole=whole)
        elif string is not None and depth < _DEEPEST:
            end, masked = string.end(), _masked_inside(string, depth)
        else:
            continue
        if masked is not None:
            shown += (text[done : m.end()], masked)
            done = at = end
    return "".join(shown) + text[done:] if done else text


def _is_key(text: str, end: int) -> bool:
    """Whether what ends there has a value of its own."""
    return re.compile(rf"{_BLANKS}[=:]").match(text, end) is not None


def _masked_secret(
    text: str, start: int, string: re.Match[str] | None, before: str, *, whole: bool
) -> tuple[int, str | None]:
    """Where the secret that begins at ``start`` ends, and what is shown for it; None: as it is."""
    if text[start : start + 2 * len(MASK)].lstrip("'\"\\").startswith(MASK):
        return start, None
    if string is not None and before[-1:] not in ("?", "&", "#"):
        shown = f"{string['quote']}{MASK}{string['closed']}"
        end = string.end()
        while (more := re.compile(r"\s*").match(text, end)) and (next_ := _strings().match(text, more.end())):
            end = next_.end()  # one string in pieces
        return end, None if _is_reference(string["inside"]) and end == string.end() else shown
    if before[-1:] in ("?", "&", "#"):
        ends = "[&#]" if whole else r"[&#\s'\"]"
    elif whole or re.search(r"(?i)(?:^|;)\s*set\s+$", before):
        ends = "[;&]"
    else:
        ends = r"[\s'\";&]"
    stop = re.compile(ends).search(text, start)
    end = stop.start() if stop else len(text)
    value = text[start:end]
    return end, None if not value or _is_reference(value.rstrip()) else MASK


def _masked_inside(string: re.Match[str], depth: int) -> str | None:
    """A string that is no secret itself, with the secrets in it masked; None when there are none."""
    quote, inside = string["quote"], string["inside"]
    plain = inside.replace(quote * 2, quote).replace("\\" + quote, quote)
    masked = _mask(plain, whole=True, depth=depth + 1)
    if masked == plain:
        return None
    start = string.start("quote") - string.start()
    return f"{string[0][:start]}{quote}{masked.replace(quote, quote * 2)}{string['closed']}"
