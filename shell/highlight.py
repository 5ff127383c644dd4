"""Colours for what is typed. It never refuses anything: an open string or comment simply goes on."""

from __future__ import annotations

import re
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.lexer import QUERY_WORDS

STYLE = Style.from_dict(
    {
        "prompt": "ansibrightblue",
        "sql.keyword": "ansiblue bold",
        "sql.string": "ansigreen",
        "sql.name": "ansicyan",
        "sql.number": "ansimagenta",
        "sql.comment": "ansibrightblack",
        "sql.hint": "ansiyellow",
    }
)

_STATEMENT_WORDS = frozenset(
    """
    ADD ALTER ANALYZE ARRAY BEGIN BIGINT BINARY BOOLEAN BRANCH BY BYTES CALL CASCADE CAST CATALOG CATALOGS CHAR
    CLEAR COLUMN COLUMNS COMMENT CONSTRAINT CREATE CURRENT DATABASE DATABASES DATE DECIMAL DEFAULT DELETE DESCRIBE
    DISTRIBUTED DOUBLE DROP ENFORCED EXECUTE EXIT EXPLAIN EXTENDED FIELD FIRST FLOAT FOLLOWING FORMATTED FUNCTION
    FUNCTIONS GROUP GROUPING HELP IF INSERT INT INTEGER INTO JOB JOBS KEY LAST LOCATION MAP MATCHED MERGE MULTISET
    NAMESPACE NAMESPACES NULLS OF ORDER ORDERED OVERWRITE PARTITION PARTITIONED PLAN PRECEDING PRIMARY PROPERTIES
    PURGE QUIT RENAME REPLACE RESET RESTRICT ROW SCHEMA SET SETS SHOW SMALLINT SNAPSHOT STATEMENT STRING STRUCT
    TABLES TAG TBLPROPERTIES TEMPORARY TIME TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ TINYINT TO TRUNCATE UNBOUNDED
    UNIQUE UNSET UPDATE USE VARBINARY VARCHAR VERSION VIEWS WATERMARK WRITE
    """.split()
)
"""What is painted beside the words of queries. Words that often name columns (name, type, user) are left plain."""

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*)
      | (?P<hint>/\*\+.*?(?:\*/|\Z))
      | (?P<block>/\*.*?(?:\*/|\Z))
      | (?P<string>'(?:[^'\\]|''|\\.)*(?:'|\Z))
      | (?P<double>"(?:[^"\\]|""|\\.)*(?:"|\Z))
      | (?P<name>`[^`]*(?:`|\Z))
      | (?P<number>(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\b)
      | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)

_STYLES = {
    "comment": "class:sql.comment",
    "block": "class:sql.comment",
    "hint": "class:sql.hint",
    "string": "class:sql.string",
    "name": "class:sql.name",
    "number": "class:sql.number",
}


class SqlHighlighter(Lexer):
    """Paints SQL in the session's flavour, which decides what ``"x"`` is."""

    def __init__(self, flavour: Callable[[], Flavour]) -> None:
        self._flavour = flavour

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = painted_lines(document.text, self._flavour())

        def line(number: int) -> StyleAndTextTuples:
            return lines[number] if number < len(lines) else []

        return line

    def invalidation_hash(self) -> Flavour:
        return self._flavour()


def painted_lines(text: str, flavour: Flavour) -> list[StyleAndTextTuples]:
    """The lines of ``text`` as styled fragments."""
    lines: list[StyleAndTextTuples] = [[]]

    def add(style: str, part: str) -> None:
        for i, piece in enumerate(part.split("\n")):
            if i:
                lines.append([])
            if piece:
                lines[-1].append((style, piece))

    end = 0
    for token in _TOKEN.finditer(text):
        add("", text[end : token.start()])
        add(_style(token, flavour), token[0])
        end = token.end()
    add("", text[end:])
    return lines


def _style(token: re.Match[str], flavour: Flavour) -> str:
    kind = token.lastgroup or ""
    if kind == "word":
        word = token[0].upper()
        return "class:sql.keyword" if word in QUERY_WORDS or word in _STATEMENT_WORDS else ""
    if kind == "double":
        return _STYLES["string" if flavour is Flavour.SPARK else "name"]
    return _STYLES[kind]
