"""The statements as data, each family in the order in which it is listed."""

from __future__ import annotations

from bergsql.engine.sql.forms.model import CATALOG, ROWS, TABLE, Form

STATEMENTS: tuple[Form, ...] = (
    # --- catalogs ---
    Form(
        "catalogs",
        "CREATE CATALOG",
        "Open a catalog of Iceberg tables under a name. It ends with the session, unless there is a --catalog-store.",
        "CREATE CATALOG [IF NOT EXISTS] name [COMMENT 'text'] WITH ('type'='iceberg', 'catalog-type'='hadoop', …)",
        CATALOG,
    ),
    Form(
        "catalogs",
        "ALTER CATALOG",
        "Change a catalog's options, which are checked before the old ones go, or its comment.",
        "ALTER CATALOG name {SET ('key'='value', …) | RESET ('key', …) | COMMENT 'text'}",
        "ALTER CATALOG lake SET ('default-database'='sales');",
        CATALOG,
    ),
    Form(
        "catalogs",
        "DROP CATALOG",
        "Forget a catalog; its tables stay.",
        "DROP CATALOG [IF EXISTS] name",
        "DROP CATALOG lake;",
        CATALOG,
    ),
    Form(
        "catalogs",
        "USE CATALOG",
        "Make a catalog the current one, with its default database.",
        "{USE | SET} CATALOG name",
        "USE CATALOG lake;",
        CATALOG,
    ),
    Form(
        "catalogs",
        "SHOW CATALOGS",
        "List the catalogs, or tell which is the current one.",
        "SHOW CATALOGS [[NOT] {LIKE | ILIKE} 'pattern']\nSHOW CURRENT CATALOG",
        "SHOW CATALOGS;",
    ),
    Form(
        "catalogs",
        "SHOW CREATE CATALOG",
        "The statement that would make a catalog again, secrets masked.",
        "SHOW CREATE CATALOG name",
        "SHOW CREATE CATALOG lake;",
        CATALOG,
    ),
    Form(
        "catalogs",
        "DESCRIBE CATALOG",
        "A catalog's type and comment; with EXTENDED its options, secrets masked.",
        "{DESCRIBE | DESC} CATALOG [EXTENDED] name",
        "DESCRIBE CATALOG EXTENDED lake;",
        CATALOG,
    ),
    # --- databases ---
    Form(
        "databases",
        "CREATE DATABASE",
        "Make a database (a namespace).",
        "CREATE {DATABASE | NAMESPACE | SCHEMA} [IF NOT EXISTS] [catalog.]name\n"
        "  [COMMENT 'text'] [WITH [DBPROPERTIES] ('key'='value', …)]",
        "CREATE DATABASE IF NOT EXISTS sales COMMENT 'what was sold';",
    ),
    Form(
        "databases",
        "ALTER DATABASE",
        "Change a database's properties, where its catalog keeps some.",
        "ALTER {DATABASE | NAMESPACE | SCHEMA} [IF EXISTS] name SET [DBPROPERTIES] ('key'='value', …)\n"
        "ALTER {DATABASE | NAMESPACE | SCHEMA} [IF EXISTS] name UNSET DBPROPERTIES [IF EXISTS] ('key', …)",
        "ALTER DATABASE sales SET ('team'='north');",
        "CREATE DATABASE sales;",
    ),
    Form(
        "databases",
        "DESCRIBE DATABASE",
        "A database's comment and place; with EXTENDED its properties. SHOW CREATE prints the statement that makes it.",
        "{DESCRIBE | DESC} {DATABASE | NAMESPACE | SCHEMA} [EXTENDED] name\nSHOW CREATE DATABASE name",
        "DESCRIBE DATABASE EXTENDED sales;",
        "CREATE DATABASE sales;",
    ),
    Form(
        "databases",
        "DROP DATABASE",
        "Remove a database; with CASCADE its tables too.",
        "DROP {DATABASE | NAMESPACE | SCHEMA} [IF EXISTS] [catalog.]name [RESTRICT | CASCADE]",
        "DROP DATABASE sales;",
        "CREATE DATABASE sales;",
    ),
    Form(
        "databases",
        "USE",
        "Make a database the current one; in Spark's flavour also a catalog.",
        "USE [catalog.]database",
        "USE sales;",
        "CREATE DATABASE sales;",
    ),
    Form(
        "databases",
        "SHOW DATABASES",
        "List the databases of the current catalog, or tell which is the current one.",
        "SHOW {DATABASES | NAMESPACES | SCHEMAS} [{FROM | IN} catalog] [[NOT] {LIKE | ILIKE} 'pattern']\n"
        "SHOW CURRENT {DATABASE | NAMESPACE}",
        "SHOW DATABASES;",
    ),
    # --- tables ---
    Form(
        "tables",
        "CREATE TABLE",
        "Make an Iceberg table, empty, like another, or from a query.",
        "CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name (column type [NOT NULL] [DEFAULT value] [COMMENT 'text'], …\n"
        "    [, PRIMARY KEY (column, …) NOT ENFORCED])\n"
        "  [USING iceberg] [COMMENT 'text'] [PARTITIONED BY (column | transform(column), …)]\n"
        "  [LOCATION 'place'] [WITH ('key'='value', …) | TBLPROPERTIES ('key'='value', …)] [AS query]\n"
        "CREATE TABLE name [(column type, …)] [WITH ('key'='value', …)] LIKE other\n"
        "  [({INCLUDING | EXCLUDING | OVERWRITING} {ALL | CONSTRAINTS | OPTIONS | PARTITIONS | …}, …)]\n"
        "CREATE EXTERNAL TABLE name [(column type, …)] STORED BY ICEBERG LOCATION 'place'",
        "CREATE TABLE visits (\n  id BIGINT,\n  who STRING,\n  at_time TIMESTAMP(6)\n) PARTITIONED BY (days(at_time), "
        "bucket(4, id))\nWITH ('format-version'='2');",
    ),
    Form("tables", "DROP TABLE", "Remove a table.", "DROP TABLE [IF EXISTS] name [PURGE]", "DROP TABLE visits;", TABLE),
    Form(
        "tables",
        "ALTER TABLE",
        "Change a table's columns, key, layout, properties or name; docs/alter-table.md has the rules.",
        "ALTER TABLE [IF EXISTS] name RENAME TO other\n"
        "ALTER TABLE name ADD {COLUMN[S] [IF NOT EXISTS] column | column, … | (column, …)}\n"
        "    column: path type [NOT NULL] [COMMENT 'text'] [DEFAULT value] [FIRST | AFTER other]\n"
        "ALTER TABLE name ALTER COLUMN path {TYPE type | COMMENT 'text' | FIRST | AFTER other | "
        "{SET | DROP} NOT NULL | SET DEFAULT value | DROP DEFAULT}\n"
        "ALTER TABLE name CHANGE COLUMN path new type [COMMENT 'text'] [FIRST | AFTER other]\n"
        "ALTER TABLE name MODIFY {column | (column, …)}\n"
        "ALTER TABLE name REPLACE COLUMNS (column, …)\n"
        "ALTER TABLE name RENAME [COLUMN] path TO other\n"
        "ALTER TABLE name DROP [COLUMN[S]] [IF EXISTS] {path, … | (path, …)}\n"
        "ALTER TABLE name {ADD | MODIFY} PRIMARY KEY (column, …) NOT ENFORCED\n"
        "ALTER TABLE name DROP {PRIMARY KEY | CONSTRAINT key}\n"
        "ALTER TABLE name {SET | DROP} IDENTIFIER FIELDS path, …\n"
        "ALTER TABLE name {ADD PARTITION FIELD transform [AS field] | DROP PARTITION FIELD {transform | field}}\n"
        "ALTER TABLE name REPLACE PARTITION FIELD {transform | field} WITH transform [AS field]\n"
        "ALTER TABLE name WRITE [DISTRIBUTED BY PARTITION] {[LOCALLY] ORDERED BY key, … | UNORDERED}\n"
        "    key: transform [ASC | DESC] [NULLS {FIRST | LAST}]\n"
        "ALTER TABLE name SET {('key'='value', …) | TBLPROPERTIES ('key'='value', …) | LOCATION 'path'}\n"
        "ALTER TABLE name {RESET ('key', …) | UNSET TBLPROPERTIES [IF EXISTS] ('key', …)}",
        "ALTER TABLE visits ADD COLUMN place STRING COMMENT 'where' AFTER id;\n"
        "ALTER TABLE visits RENAME who TO person;\nALTER TABLE visits ADD PARTITION FIELD days(at_time);\n"
        "ALTER TABLE visits WRITE ORDERED BY person, at_time DESC;",
        TABLE,
    ),
    Form(
        "tables",
        "SHOW TABLES",
        "List the tables and views of a database.",
        "SHOW TABLES [{FROM | IN} database] [[NOT] {LIKE | ILIKE} 'pattern']\n"
        "SHOW TABLE EXTENDED [{FROM | IN} database] LIKE 'pattern' [PARTITION (field = value, …)]",
        "SHOW TABLES;",
        TABLE,
    ),
    Form(
        "tables",
        "DESCRIBE",
        "The columns of a table, a view or a query; with EXTENDED what else is known; one column; one partition.",
        "{DESCRIBE | DESC} [TABLE] [EXTENDED | FORMATTED] name [column | PARTITION (field = value, …)] [AS JSON]\n"
        "{DESCRIBE | DESC} [QUERY] query",
        "DESCRIBE EXTENDED visits;\nDESCRIBE visits who;",
        TABLE,
    ),
    Form(
        "tables",
        "SHOW COLUMNS",
        "The columns of a table or view whose names match.",
        "SHOW COLUMNS {FROM | IN} name [{FROM | IN} database] [[NOT] {LIKE | ILIKE} 'pattern']",
        "SHOW COLUMNS IN visits LIKE '%time';",
        TABLE,
    ),
    Form(
        "tables",
        "SHOW PARTITIONS",
        "The partitions that hold data; in Spark's flavour with their rows and files.",
        "SHOW PARTITIONS name [PARTITION (field = value, …)]",
        "SHOW PARTITIONS sold;",
        "CREATE TABLE sold (id INT, place STRING) PARTITIONED BY (place); INSERT INTO sold VALUES (1, 'Ulm');",
    ),
    Form(
        "tables",
        "COMMENT ON",
        "Say what something is, or with NULL no longer.",
        "COMMENT ON {CATALOG | DATABASE | TABLE} name IS {'text' | NULL}\n"
        "COMMENT ON COLUMN table.column IS {'text' | NULL}",
        "COMMENT ON COLUMN visits.who IS 'the first name';",
        TABLE,
    ),
    Form(
        "tables",
        "ANALYZE TABLE",
        "What a table's metadata counts; nothing is computed. REFRESH and CACHE TABLE succeed, and do nothing.",
        "ANALYZE TABLE name COMPUTE STATISTICS\nREFRESH TABLE name\n{CACHE | UNCACHE} TABLE name\nCLEAR CACHE",
        "ANALYZE TABLE visits COMPUTE STATISTICS;",
        TABLE,
    ),
    Form(
        "tables",
        "SHOW CREATE TABLE",
        "The statement that would make a table again, secrets masked.",
        "SHOW CREATE TABLE name",
        "SHOW CREATE TABLE visits;",
        TABLE,
    ),
    Form(
        "tables",
        "SHOW TBLPROPERTIES",
        "A table's properties, or one of them.",
        "SHOW TBLPROPERTIES name [('key')]",
        "SHOW TBLPROPERTIES visits;",
        TABLE,
    ),
    Form(
        "tables",
        "REFRESH TABLE",
        "What other engines need for caches and partitions: a table is always read as it is, and this is told.",
        "REFRESH [TABLE] name\nREPAIR TABLE name\nMSCK REPAIR TABLE name\nCACHE [LAZY] TABLE name\n"
        "UNCACHE TABLE [IF EXISTS] name\nCLEAR CACHE",
        "REFRESH TABLE visits;\nCACHE TABLE visits;\nUNCACHE TABLE visits;\nCLEAR CACHE;",
        TABLE,
        "spark",
    ),
    # --- views ---
    Form(
        "views",
        "CREATE VIEW",
        "Name a query, for the session.",
        "CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] name [(column [COMMENT 'text'], …)]\n"
        "  [COMMENT 'text'] [TBLPROPERTIES ('key'='value', …)] AS query",
        "CREATE TEMPORARY VIEW recent AS SELECT id, who FROM visits WHERE id > 0;",
        TABLE,
    ),
    Form(
        "views",
        "ALTER VIEW",
        "Give a view another name, query or properties.",
        "ALTER VIEW name RENAME TO name\nALTER VIEW name AS query\n"
        "ALTER VIEW name {SET TBLPROPERTIES ('key'='value', …) | UNSET TBLPROPERTIES [IF EXISTS] ('key', …)}",
        "ALTER VIEW recent AS SELECT id, who FROM visits;",
        f"{TABLE} CREATE VIEW recent AS SELECT id FROM visits;",
    ),
    Form(
        "views",
        "DROP VIEW",
        "Forget a view.",
        "DROP [TEMPORARY] VIEW [IF EXISTS] name",
        "DROP VIEW recent;",
        f"{TABLE} CREATE VIEW recent AS SELECT id FROM visits;",
    ),
    Form(
        "views",
        "SHOW VIEWS",
        "List the views of a database.",
        "SHOW VIEWS [{FROM | IN} database] [LIKE 'pattern']",
        "SHOW VIEWS;",
    ),
    Form(
        "views",
        "SHOW CREATE VIEW",
        "The statement that makes a view again, with the full names of its tables.",
        "SHOW CREATE VIEW name",
        "SHOW CREATE VIEW recent;",
        f"{TABLE} CREATE VIEW recent AS SELECT id FROM visits;",
    ),
    # --- functions ---
    Form(
        "functions",
        "CREATE FUNCTION",
        "Name an expression, or a function in Python whose annotations are SQL types, for the session.",
        "CREATE [OR REPLACE] [TEMPORARY [SYSTEM]] FUNCTION [IF NOT EXISTS] name (parameter type [DEFAULT value], …)\n"
        "  [RETURNS type] [COMMENT 'text'] RETURN expression\n"
        "CREATE [OR REPLACE] [TEMPORARY [SYSTEM]] FUNCTION [IF NOT EXISTS] name AS 'module.function' LANGUAGE PYTHON\n"
        "ALTER [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS] name AS 'module.function' LANGUAGE PYTHON",
        "CREATE FUNCTION area(w DOUBLE, h DOUBLE DEFAULT 1) RETURNS DOUBLE RETURN w * h;",
    ),
    Form(
        "functions",
        "DROP FUNCTION",
        "Forget a function.",
        "DROP [TEMPORARY [SYSTEM]] FUNCTION [IF EXISTS] name",
        "DROP FUNCTION area;",
        "CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURN w * h;",
    ),
    Form(
        "functions",
        "SHOW FUNCTIONS",
        "List the functions: USER are those that were made here, SYSTEM those that are built in.",
        "SHOW [USER | SYSTEM | ALL] FUNCTIONS [{FROM | IN} database] [LIKE 'pattern']",
        "SHOW FUNCTIONS LIKE 'reg%';",
    ),
    Form(
        "functions",
        "DESCRIBE FUNCTION",
        "What is known of a function.",
        "DESCRIBE FUNCTION [EXTENDED] name",
        "DESCRIBE FUNCTION EXTENDED upper;",
    ),
    # --- rows ---
    Form(
        "rows",
        "INSERT",
        "Append rows, or replace others: whole partitions (OVERWRITE, as its flavour says), or rows by primary key.",
        "INSERT INTO name [PARTITION (column = value, …)] [(column, …)] {VALUES (value, …), … | query}\n"
        "INSERT INTO name BY NAME query\n"
        "INSERT INTO name /*+ OPTIONS('upsert-enabled'='true') */ {VALUES (value, …), … | query}\n"
        "INSERT INTO name DEFAULT VALUES\n"
        "[WITH …] FROM source INSERT … SELECT … [INSERT … SELECT …]\n"
        "INSERT OVERWRITE name [PARTITION (column [= value], …)] {VALUES (value, …), … | query}",
        "INSERT INTO visits VALUES (1, 'ann', TIMESTAMP '2024-03-01 10:00:00');\n"
        "INSERT INTO visits (id, who) SELECT id + 1, UPPER(who) FROM visits;",
        TABLE,
    ),
    Form(
        "rows",
        "UPDATE",
        "Change columns, or fields of structs, of the rows that a condition chooses; the rest keep what they have.",
        "[WITH …] UPDATE name [AS alias] SET column[.field …] = {expression | DEFAULT}, … [WHERE condition]",
        "UPDATE visits SET who = UPPER(who) WHERE id = 1;\n"
        "UPDATE visits SET at_time = (SELECT MAX(at_time) FROM visits) WHERE at_time IS NULL;",
        ROWS,
    ),
    Form(
        "rows",
        "DELETE",
        "Delete the rows that a condition chooses, or all. Files of which no row is left are only dropped.",
        "[WITH …] DELETE FROM name [AS alias] [WHERE condition]",
        "DELETE FROM visits WHERE id IN (SELECT MAX(id) FROM visits);",
        ROWS,
    ),
    Form(
        "rows",
        "MERGE",
        "Update, delete and insert rows by those of a source, in one commit; the first clause whose condition is true "
        "takes a row.",
        "MERGE [WITH SCHEMA EVOLUTION] INTO name [AS alias]\n"
        "USING {name | (query)} [AS alias [(column, …)]] ON condition\n"
        "[WHEN MATCHED [AND condition] THEN {UPDATE SET {* | column = value, …} | DELETE}] …\n"
        "[WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT {* | [(column, …)] VALUES (value, …)}] …\n"
        "[WHEN NOT MATCHED BY SOURCE [AND condition] THEN {UPDATE SET column = value, … | DELETE}] …",
        "MERGE INTO visits AS v USING (VALUES (1, 'ann'), (9, 'new')) AS s (id, who) ON v.id = s.id\n"
        "WHEN MATCHED THEN UPDATE SET who = s.who\n"
        "WHEN NOT MATCHED THEN INSERT (id, who) VALUES (s.id, s.who);",
        ROWS,
    ),
    Form(
        "rows",
        "TRUNCATE TABLE",
        "Empty a table, or a branch of it. Its snapshots stay: what it held can still be read as it was.",
        "TRUNCATE TABLE name",
        "TRUNCATE TABLE visits;",
        ROWS,
    ),
    Form(
        "rows",
        "EXECUTE STATEMENT SET",
        "INSERTs that are all checked before the first runs, and then run in order up to one that fails.",
        "EXECUTE STATEMENT SET BEGIN INSERT …; … END\nBEGIN STATEMENT SET; INSERT …; … END",
        "EXECUTE STATEMENT SET BEGIN\n"
        "INSERT INTO visits (id) VALUES (1);\nINSERT INTO visits (id, who) VALUES (2, 'bob');\nEND;",
        TABLE,
    ),
    Form(
        "rows",
        "SELECT",
        "Query tables and views.",
        "[WITH name AS (query), …]\n"
        "SELECT [DISTINCT] expression [AS name], …\n"
        "  FROM table [AS name] [[LEFT | RIGHT | FULL] JOIN table ON condition]\n"
        "  [WHERE condition] [GROUP BY expression, …] [HAVING condition] [QUALIFY condition]\n"
        "  [ORDER BY expression [ASC | DESC] [NULLS {FIRST | LAST}], …] [LIMIT rows] [OFFSET rows]\n"
        "query {UNION | INTERSECT | EXCEPT} [ALL] query\nVALUES (value, …), …",
        "SELECT who, COUNT(*) AS visits FROM visits GROUP BY who ORDER BY visits DESC LIMIT 10;",
        ROWS,
    ),
    Form(
        "rows",
        "EXPLAIN",
        "How a statement is run: the files kept, the rows that it would change, the plan. ANALYZE runs a query.",
        "EXPLAIN [PLAN FOR] {query | INSERT … | UPDATE … | DELETE … | MERGE … | TRUNCATE …}\n"
        "EXPLAIN [PLAN FOR] {CREATE TABLE … AS query | STATEMENT SET BEGIN … END}\n"
        "EXPLAIN {ESTIMATED_COST | CHANGELOG_MODE | JSON_EXECUTION_PLAN | PLAN_ADVICE}, … query\n"
        "EXPLAIN {EXTENDED | FORMATTED | COST | ANALYZE} query",
        "EXPLAIN SELECT * FROM visits WHERE id = 1;\nEXPLAIN EXTENDED SELECT who FROM visits;",
        ROWS,
    ),
    # --- engine ---
    Form(
        "engine",
        "SHOW MODULES",
        "Flink's modules, which change no function here; jars, of which none is read; Iceberg's procedures.",
        "SHOW [FULL] MODULES\n{LOAD | UNLOAD} MODULE name\nUSE MODULES name, …\nSHOW JARS\n{ADD | REMOVE} JAR 'path'\n"
        "SHOW PROCEDURES [{FROM | IN} catalog] [[NOT] {LIKE | ILIKE} 'pattern']",
        "SHOW FULL MODULES;\nUSE MODULES core;\nSHOW JARS;\nSHOW PROCEDURES LIKE 'rewrite%';",
    ),
    Form(
        "engine",
        "SHOW JOBS",
        "The jobs: INSERTs over streams, each in a process of its own. Of an id its beginning is enough.",
        "SHOW JOBS\n{DESCRIBE | DESC} JOB 'id'\nSTOP JOB 'id' [WITH SAVEPOINT [WITH DRAIN]]",
        "SHOW JOBS;",
    ),
    # --- settings ---
    Form(
        "settings",
        "SET",
        "Set a setting, show one, or list those that are set as statements that set them again.",
        "SET 'key' = 'value'\nSET key=value\nSET 'key'\nSET",
        "SET 'table.local-time-zone' = 'UTC';\nSET;",
    ),
    Form(
        "settings",
        "RESET",
        "Give a setting its default back, or all of them.",
        "RESET ['key']",
        "RESET 'table.local-time-zone';",
    ),
)
"""All statements that are carried out."""
