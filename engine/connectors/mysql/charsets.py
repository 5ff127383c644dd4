"""What bytes of texts in a binlog mean. They are of their column's character set, of which the server tells all."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Final

Decode = Callable[[bytes], str]

UNICODE: Final = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "utf8": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
"""Python's names of the character sets that have all characters."""
_THE_SAME: Final = {"gbk": "gbk", "gb2312": "gb2312", "gb18030": "gb18030", "cp932": "cp932", "euckr": "cp949"}
"""Sets of which Python has each character that it has as the server. Of other sets it takes some for others."""
_REMEMBERED: Final = 100_000
"""Texts that the server was asked for, and that are kept."""


class Charsets:
    """The character sets of a server, which is asked over ``connection``, whose rows are dictionaries."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._decoders: dict[str, Decode] = {}

    def name(self, collation: int) -> str:
        """The character set of a collation, by its number."""
        return self._names.get(collation, "utf8mb4")

    def decode(self, charset: str) -> Decode:
        """What makes texts of bytes of a character set, as the server would."""
        found = self._decoders.get(charset)
        if found is None:
            found = self._decoders[charset] = self._decoder(charset)
        return found

    @cached_property
    def _names(self) -> dict[int, str]:
        schema = "information_schema"
        rows = self._rows(f"SELECT ID, CHARACTER_SET_NAME FROM {schema}.COLLATIONS")
        # MariaDB's collations of several sets have a number for each, which is here alone.
        rows += self._rows(f"SELECT * FROM {schema}.COLLATION_CHARACTER_SET_APPLICABILITY")
        return {int(r["ID"]): str(r["CHARACTER_SET_NAME"]) for r in rows if r.get("ID") and r["CHARACTER_SET_NAME"]}

    def _decoder(self, charset: str) -> Decode:
        if charset in UNICODE:
            codec = UNICODE[charset]
            return lambda octets: octets.decode(codec)
        (told,) = self._rows(f"SHOW CHARACTER SET WHERE Charset = '{charset}'")
        if int(told["Maxlen"]) == 1:
            table = "".join(self._asked(charset, [bytes([n]) for n in range(256)]))
            return lambda octets: codecs.charmap_decode(octets, "strict", table)[0]
        known = _THE_SAME.get(charset)

        @lru_cache(_REMEMBERED)
        def asked(octets: bytes) -> str:
            return self._asked(charset, [octets])[0]

        def decode(octets: bytes) -> str:
            if octets.isascii():
                return octets.decode("ascii")
            if known is not None:
                try:
                    return octets.decode(known)
                except UnicodeDecodeError:
                    pass
            return asked(octets)

        return decode

    def _asked(self, charset: str, texts: list[bytes]) -> list[str]:
        """What the server takes some bytes for."""
        text = "CONVERT(CONVERT(%s USING {}) USING utf8mb4) AS t{}"
        items = ", ".join(text.format(charset, n) for n in range(len(texts)))
        (found,) = self._rows(f"SELECT {items}", values=texts)
        return [str(value) for value in found.values()]

    def _rows(self, sql: str, values: list[bytes] | None = None) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())
