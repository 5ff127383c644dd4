"""What each word and operator is in a query, as data: the tables behind sqlglot_tokens.py."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from bergsql.engine.sql.lexer import QUERY_WORDS

CALL = "\x01"
CAST_MARK = "\x02"
"""What the names of calls and casts begin with in the tokens for sqlglot."""

_NAMED_OTHERWISE = {"AS": "ALIAS", "MINUS": "EXCEPT", "REGEXP": "RLIKE", "TABLESAMPLE": "TABLE_SAMPLE"}
"""What sqlglot calls the token of a word, if not by the word."""

KEYWORDS: dict[str, TokenType] = {word: TokenType[_NAMED_OTHERWISE.get(word, word)] for word in QUERY_WORDS}
"""A word that is not here is an identifier, whatever sqlglot would think of it."""

PAIRS: dict[tuple[str, str], TokenType] = {
    ("CLUSTER", "BY"): TokenType.CLUSTER_BY,
    ("DISTRIBUTE", "BY"): TokenType.DISTRIBUTE_BY,
    ("GROUP", "BY"): TokenType.GROUP_BY,
    ("GROUPING", "SETS"): TokenType.GROUPING_SETS,
    ("ORDER", "BY"): TokenType.ORDER_BY,
    ("PARTITION", "BY"): TokenType.PARTITION_BY,
    ("SIMILAR", "TO"): TokenType.SIMILAR_TO,
    ("SORT", "BY"): TokenType.SORT_BY,
}
PAIR_STARTS = frozenset(first for first, _ in PAIRS)

OPERATORS: dict[str, TokenType] = {
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    "[": TokenType.L_BRACKET,
    "]": TokenType.R_BRACKET,
    ",": TokenType.COMMA,
    ".": TokenType.DOT,
    "-": TokenType.DASH,
    "+": TokenType.PLUS,
    "*": TokenType.STAR,
    "/": TokenType.SLASH,
    "%": TokenType.MOD,
    "=": TokenType.EQ,
    "==": TokenType.EQ,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<": TokenType.LT,
    ">": TokenType.GT,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "<=>": TokenType.NULLSAFE_EQ,
    "||": TokenType.DPIPE,
    "&": TokenType.AMP,
    "|": TokenType.PIPE,
    "^": TokenType.CARET,
    "~": TokenType.TILDE,
    "!": TokenType.NOT,
    "->": TokenType.ARROW,
    "=>": TokenType.FARROW,
    "&&": TokenType.AND,
}

NOT_CALLS = frozenset(KEYWORDS) - {"LEFT", "RIGHT", "CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIME"} - {
    "LOCALTIMESTAMP",
    "CURRENT_TIME",
    "CURRENT_USER",
    "CURRENT_CATALOG",
    "CURRENT_SCHEMA",
    "SESSION_USER",
    "RANGE",
    "FILTER",
} | {"EXTRACT"}
"""Words that, followed by a parenthesis, are not a call."""

NEVER_BARE = frozenset({"IF", "CONNECT_BY_ROOT", "TRANSFORM"})
"""Words that sqlglot would take for syntax of their own; here they are plain names."""

BEFORE_PARENTHESIS: dict[str, tuple[str, ...]] = {
    "BERNOULLI": ("TABLESAMPLE",),
    "EXCLUDE": ("*",),
    "NULLS": ("EXCLUDE", "INCLUDE"),
    "RENAME": ("*", ")"),
    "REPLACE": ("*", ")"),
    "SYSTEM": ("TABLESAMPLE",),
}
"""Words that are no call where they stand behind one of these and before a parenthesis."""

COMMA_WORDS: dict[str, frozenset[str]] = {
    "SUBSTRING": frozenset({"FROM", "FOR"}),
    "SUBSTR": frozenset({"FROM", "FOR"}),
    "OVERLAY": frozenset({"PLACING", "FROM", "FOR"}),
    "POSITION": frozenset({"IN"}),
    "JSON_OBJECT": frozenset({"VALUE"}),
    "JSON_OBJECTAGG": frozenset({"VALUE"}),
}
"""The words that in a call of that name only stand between its arguments."""

NOTHING_BEHIND = frozenset(
    TokenType[name]
    for name in (
        "ALIAS AND ARROW BETWEEN CASE COMMA CROSS DASH DISTINCT DIV DOT DPIPE ELSE EQ ESCAPE EXCEPT EXISTS FARROW FROM "
        "FULL GROUP_BY GT GTE HAVING IN INNER INTERSECT INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT LT LTE MOD NATURAL "
        "NEQ NOT NULLSAFE_EQ OFFSET ON OR ORDER_BY OVER PARTITION_BY PLUS RIGHT RLIKE SELECT SLASH THEN UNION USING "
        "VALUES WHEN WHERE WITH"
    ).split()
)
"""Tokens that cannot be the last of a query or of what stands in parentheses: sqlglot lets some of them pass."""

ENDS_OPERAND = frozenset(
    (
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.R_PAREN,
        TokenType.R_BRACKET,
        TokenType.NUMBER,
        TokenType.STRING,
        TokenType.STAR,
        TokenType.NULL,
        TokenType.TRUE,
        TokenType.FALSE,
        TokenType.END,
        TokenType.CURRENT_DATE,
        TokenType.CURRENT_TIMESTAMP,
    )
)
ENDS_ROWS = frozenset({"WHERE", "HAVING", "UNION", "EXCEPT", "INTERSECT", "SELECT", "LIMIT"})
"""Words behind which the rows of a VALUES have ended."""
CLAUSES = frozenset({"FROM", "WHERE", "HAVING", "UNION", "LIMIT"})
BEFORE_COMMA = CLAUSES | {"(", "[", "BY", "DISTINCT", "SELECT", "VALUES"}
AFTER_COMMA = CLAUSES | {")", "]", ","}


ARGUMENT_STARTS = frozenset({TokenType.L_PAREN, TokenType.COMMA, TokenType.FARROW})

AS_OF_WORDS = {"VERSION": "VERSION", "SYSTEM_VERSION": "VERSION", "TIMESTAMP": "TIMESTAMP", "SYSTEM_TIME": "TIMESTAMP"}
"""The words before AS OF, and those of them that sqlglot knows. Spark lets FOR be left out before each."""
