"""Functions of text, JSON and collections give what Flink's documentation says."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from tests.support.planning import FLINK, ask

ANSWERS: list[tuple[str, Any]] = [
    ("JSON_VALUE('{\"a\": true}', '$.a')", "true"),
    ("JSON_VALUE('{\"a.b\": [0.998,0.996]}', '$.[\"a.b\"][0]')", "0.998"),
    ("JSON_VALUE('{\"contains blank\": \"right\"}', 'strict $.[''contains blank'']')", "right"),
    ("JSON_VALUE('{\"a\":[1]}', '$.a')", None),
    ("JSON_VALUE(CAST(NULL AS STRING), '$.a')", None),
    ("JSON_QUERY('{ \"a\": { \"b\": 1 } }', '$.a')", '{"b":1}'),
    ('JSON_QUERY(\'{"a":[{"c":"c1"},{"c":"c2"}]}\', \'lax $.a[*].c\')', '["c1","c2"]'),
    ("JSON_QUERY('1', '$')", None),
    ("JSON_EXISTS('{\"a\": [{ \"b\": 1 }]}', '$.a[0].b')", True),
    ("JSON_EXISTS('{\"a\": true}', '$.b')", False),
    ("JSON_STRING('Hello, World!')", '"Hello, World!"'),
    ("JSON_STRING(ARRAY[1, 2])", "[1,2]"),
    ("JSON_STRING(CAST(NULL AS INT))", None),
    ("JSON_OBJECT()", "{}"),
    ("JSON_OBJECT('K1' VALUE 'V1', 'K2' VALUE 2)", '{"K1":"V1","K2":2}'),
    ("JSON_OBJECT('K1' VALUE JSON_OBJECT('K2' VALUE 'V'))", '{"K1":{"K2":"V"}}'),
    ("JSON_OBJECT('K1' VALUE CAST(NULL AS STRING))", '{"K1":null}'),
    ("JSON_ARRAY(1, '2')", '[1,"2"]'),
    ("JSON_ARRAY(JSON_ARRAY(1))", "[[1]]"),
    ("JSON_ARRAY(CAST(NULL AS STRING))", "[]"),
    ("JSON_QUOTE('a/b\"')", '"a\\/b\\""'),
    ("JSON_UNQUOTE('\"abc\"')", "abc"),
    ("JSON_UNQUOTE('abc')", "abc"),
    ("STR_TO_MAP('a=1,b=2,c')", {"$map": [["a", "1"], ["b", "2"]]}),
    ("ARRAY_SORT(ARRAY[3, NULL, 1])", [None, 1, 3]),
    ("ARRAY_SORT(ARRAY[3, NULL, 1], FALSE)", [3, 1, None]),
    ("ARRAY_SORT(ARRAY[3, NULL, 1], TRUE, FALSE)", [1, 3, None]),
    ("ARRAY_SLICE(ARRAY[1, 2, 3], 2)", [2, 3]),
    ("ARRAY_SLICE(ARRAY[1, 2, 3], -2, -1)", [2, 3]),
    ("ARRAY_EXCEPT(ARRAY[1, 1, 2, NULL], ARRAY[2])", [1, None]),
    ("ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", [1, 2, 3]),
    ("ARRAY_REMOVE(ARRAY[1, NULL], CAST(NULL AS INT))", [1]),
    ("ARRAY_POSITION(ARRAY[1, NULL], CAST(NULL AS INT))", None),
    ("MAP_UNION(MAP['a', 1], MAP['a', 2])", {"$map": [["a", 2]]}),
    ("ELT(2, 'a', 'b')", "b"),
    ("ELT(3, 'a', 'b')", None),
    ("PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'HOST')", "facebook.com"),
    ("PARSE_URL('http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1', 'QUERY', 'k1')", "v1"),
    ("IS_DIGIT('123')", True),
    ("IS_ALPHA('a1')", False),
    ("IS_DECIMAL('1.5')", True),
    ("REGEXP_EXTRACT_ALL('a1b2', '([0-9])')", ["1", "2"]),
    ("REGEXP_INSTR('a1b2', '[0-9]')", 2),
    ("REGEXP_SUBSTR('abc', 'x')", None),
    ("URL_DECODE('%zz')", None),
    ("URL_ENCODE('a b')", "a+b"),
    ("OVERLAY('xxxxxtest' PLACING 'xxxx' FROM 6)", "xxxxxxxxx"),
    ("OVERLAY('xxxxxtest' PLACING 'xxxx' FROM 6 FOR 2)", "xxxxxxxxxst"),
    ("DECODE(ENCODE('é', 'UTF-8'), 'UTF-8')", "é"),
]


@pytest.mark.parametrize(("call", "wanted"), ANSWERS, ids=lambda v: v if isinstance(v, str) else "")
def test_as_flink(call: str, wanted: Any) -> None:
    assert ask(f"SELECT {call}", FLINK).rows == [[wanted]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("MAP_FROM_ARRAYS(ARRAY[1], ARRAY[1, 2])", "as many values as keys"),
        ("REGEXP_REPLACE('a', '(?=a)', 'b')", "a look ahead"),
        ("JSON_VALUE('{}', 'a')", "is no JSON path"),
        ("ENCODE('a', 'klingon')", "no character set 'klingon'"),
    ],
)
def test_what_is_wrong_says_so(call: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as refused:
        ask(f"SELECT {call}", FLINK)
    assert isinstance(refused.value, BergError) or message in str(refused.value)
