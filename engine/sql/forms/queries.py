"""The parts of a query as data."""

from __future__ import annotations

from bergsql.engine.sql.forms.model import ROWS, Form

QUERIES: tuple[Form, ...] = (
    Form(
        "queries",
        "WITH",
        "Name queries for the query that follows; a RECURSIVE one reads itself until it gives no more rows.",
        "WITH [RECURSIVE] name [(column, …)] AS (query), … query",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT SUM(i) AS total FROM n;",
    ),
    Form(
        "queries",
        "VALUES",
        "Rows that are written out, as a query or as a table.",
        "VALUES (value, …), …\nSELECT … FROM (VALUES (value, …), …) AS name (column, …)",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, name);",
    ),
    Form(
        "queries",
        "JOIN",
        "Put rows of two tables side by side.",
        "table [INNER | {LEFT | RIGHT | FULL} [OUTER]] JOIN table {ON condition | USING (column, …)}\n"
        "table [LEFT] {SEMI | ANTI} JOIN table {ON condition | USING (column, …)}\n"
        "table CROSS JOIN table\ntable NATURAL JOIN table\ntable ASOF [LEFT] JOIN table ON condition",
        "SELECT a.id, b.who FROM visits AS a LEFT JOIN visits AS b ON a.id = b.id;",
        ROWS,
    ),
    Form(
        "queries",
        "UNNEST",
        "The elements of arrays and maps as rows; with their place.",
        "FROM table CROSS JOIN UNNEST(array, …) [WITH ORDINALITY] AS name (column, …)",
        "SELECT t.id, u.tag, u.place FROM (VALUES (1, ARRAY['a', 'b'])) AS t (id, tags)\n"
        "CROSS JOIN UNNEST(t.tags) WITH ORDINALITY AS u (tag, place);",
    ),
    Form(
        "queries",
        "LATERAL VIEW",
        "Rows that a generator makes of each row; OUTER keeps the rows of which it makes none.",
        "FROM table LATERAL VIEW [OUTER] generator(expression) name AS column, …\n"
        "FROM table, LATERAL (query)\nFROM table, LATERAL TABLE(generator(expression)) AS name (column, …)",
        "SELECT id, tag FROM VALUES (1, array('a', 'b')) AS t(id, tags) LATERAL VIEW EXPLODE(tags) v AS tag;",
        flavour="spark",
    ),
    Form(
        "queries",
        "PIVOT",
        "Values of a column as columns, each with an aggregate. UNPIVOT turns columns into rows.",
        "FROM table PIVOT (aggregate [AS name], … FOR column IN (value [AS name], …))\n"
        "FROM table UNPIVOT [{INCLUDE | EXCLUDE} NULLS] (value FOR name IN (column, …))",
        "SELECT * FROM (SELECT id, who FROM visits) PIVOT (COUNT(id) FOR who IN ('ann' AS ann, 'bob' AS bob));\n"
        "SELECT * FROM (VALUES (1, 2)) AS t (a, b) UNPIVOT (v FOR k IN (a, b));",
        ROWS,
    ),
    Form(
        "queries",
        "GROUP BY",
        "Rows in groups, by several groupings at a time where wanted; QUALIFY keeps rows by a window function.",
        "GROUP BY {expression, … | ALL}\nGROUP BY {GROUPING SETS ((expression, …), …) | ROLLUP (…) | CUBE (…)}\n"
        "HAVING condition\nQUALIFY condition",
        "SELECT who, GROUPING(who) AS g, COUNT(*) AS n FROM visits GROUP BY ROLLUP (who);\n"
        "SELECT id, who FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY who ORDER BY id) = 1;",
        ROWS,
    ),
    Form(
        "queries",
        "OVER",
        "A function of the rows around each row.",
        "function(…) [FILTER (WHERE condition)] OVER ([PARTITION BY expression, …] [ORDER BY expression, …] [frame])\n"
        "{ROWS | RANGE} BETWEEN {UNBOUNDED | amount} PRECEDING AND {CURRENT ROW | {UNBOUNDED | amount} FOLLOWING}\n"
        "WINDOW name AS (…)",
        "SELECT id, COUNT(*) OVER (PARTITION BY who ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n\n"
        "FROM visits;",
        ROWS,
    ),
    Form(
        "queries",
        "TABLESAMPLE",
        "Some of a table's rows, by chance; REPEATABLE gives the same ones again.",
        "FROM table TABLESAMPLE ({n PERCENT | n ROWS | BUCKET x OUT OF y}) [REPEATABLE (seed)]",
        "SELECT COUNT(*) <= 1 AS few FROM visits TABLESAMPLE (1 ROWS);",
        ROWS,
    ),
    Form(
        "queries",
        "LAMBDA",
        "A function in a call, for each element of an array or a map.",
        "function(array, name -> expression)\nfunction(array, (name, name) -> expression)",
        "SELECT transform(array(1, 2), x -> x + 1) AS more, filter(array(1, 2), x -> x > 1) AS some;",
        flavour="spark",
    ),
    Form(
        "queries",
        "UNION",
        "Rows of two queries: all of them, those of both, those of the first only.",
        "query {UNION | INTERSECT | EXCEPT | MINUS} [ALL | DISTINCT] query\nquery UNION [ALL] BY NAME query",
        "SELECT 1 AS a UNION ALL SELECT 2;",
    ),
    Form(
        "queries",
        "ORDER BY",
        "The order of the rows, and how many of them.",
        "ORDER BY {expression [ASC | DESC] [NULLS {FIRST | LAST}], … | ALL}\nLIMIT rows [OFFSET rows]\n"
        "OFFSET rows ROWS FETCH NEXT rows ROWS {ONLY | WITH TIES}",
        "SELECT id FROM visits ORDER BY id DESC NULLS LAST LIMIT 1;",
        ROWS,
    ),
)
"""Parts of SELECT, in the order in which they are listed."""
