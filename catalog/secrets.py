"""Keeping secrets out of everything that is shown, logged or written to a history."""

from __future__ import annotations

import re

MASK = "******"

_SECRET_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "api-key",
    "api_key",
    "access-key",
    "access_key",
    "accesskey",
    "private-key",
    "private_key",
    "privatekey",
    "account-key",
    "account_key",
    "sas-",
    "authorization",
    "jaas.config",
)
# Keys that hold one of the words above and yet no secret.
_HARMLESS = re.compile(
    r"(?:token[-_.](?:expires|expiration|refresh|exchange|endpoint|type|uri|url)|oauth2-server-uri"
    r"|(?:key|token)[-_.](?:format|fields|prefix)|credentials?[-_.](?:provider|type)|access-key-id|access_key_id)",
    re.IGNORECASE,
)


def is_secret_key(key: str) -> bool:
    """Whether the value of an option called ``key`` must not be shown."""
    folded = key.casefold()
    return any(word in folded for word in _SECRET_WORDS) and not _HARMLESS.search(folded)


_ENV_REFERENCE = re.compile(r"\$\{env:[^}]*\}")


def mask_value(key: str, value: str) -> str:
    """``value`` as it may be shown: masked for a secret key, and secrets inside URLs masked for any key.

    A reference ``${env:NAME}`` is not the secret itself and stays.
    """
    if is_secret_key(key):
        return value if _ENV_REFERENCE.fullmatch(value) else MASK
    return mask_url(value)


# user:password@ behind a scheme. The password may hold anything but blanks, quotes and slashes; the last @ ends it.
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/\s'\"@:]*):(?P<password>[^/\s'\"]*)@")
_PARAMETER = re.compile(r"(?P<lead>[?&;])(?P<key>[^=&;?#\s'\"]+)=(?P<value>[^&;#\s'\"]*)")


def mask_url(text: str) -> str:
    """``text`` with the passwords in its URLs masked: in ``user:password@`` and in secret query parameters."""

    def userinfo(m: re.Match[str]) -> str:
        kept = m["password"] if _ENV_REFERENCE.fullmatch(m["password"]) else MASK
        return f"{m['scheme']}{m['user']}:{kept}@"

    def parameter(m: re.Match[str]) -> str:
        if not is_secret_key(m["key"]) or _ENV_REFERENCE.fullmatch(m["value"]):
            return m[0]
        return f"{m['lead']}{m['key']}={MASK}"

    if "=" in text:
        text = _PARAMETER.sub(parameter, text)
    return _USERINFO.sub(userinfo, text) if "://" in text else text


# 'key' = 'value', "key" = "value", key = value: SQL options, SET and --conf. A doubled or escaped quote stays inside.
_PAIR = re.compile(
    r"""(?P<key>'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*"|`[^`]*`|[A-Za-z0-9_.$-]+)
        (?P<between>\s*=>?\s*)
        (?P<value>'(?:[^'\\]|''|\\.)*(?:'|\Z)|"(?:[^"\\]|""|\\.)*(?:"|\Z)|[^\s'",;)&]+)""",
    re.VERBOSE | re.DOTALL,
)


def mask_text(text: str) -> str:
    """A statement or a message with the secrets in its ``key = value`` pairs and URLs masked."""

    def pair(m: re.Match[str]) -> str:
        quote = m["value"][0] if m["value"][0] in "'\"" else ""
        value = m["value"][1:].removesuffix(quote) if quote else m["value"]
        closing = quote if quote and len(m["value"]) > 1 and m["value"].endswith(quote) else ""
        if not is_secret_key(m["key"].strip("'\"`")) or _ENV_REFERENCE.fullmatch(value):
            return m[0]
        return f"{m['key']}{m['between']}{quote}{MASK}{closing}"

    return mask_url(_PAIR.sub(pair, text) if "=" in text else text)
