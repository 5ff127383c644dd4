-- A first look, on the embedded defaults: no catalog to set up, no server. The tables are Iceberg tables below the
-- default warehouse and last; run this again as often as you like.
CREATE DATABASE IF NOT EXISTS quickstart;
USE quickstart;
DROP TABLE IF EXISTS visits;

-- Flink's words, with Iceberg's hidden partitions.
CREATE TABLE visits (
  id BIGINT,
  name STRING COMMENT 'who came',
  country STRING,
  at_time TIMESTAMP(6)
) PARTITIONED BY (country, days(at_time))
WITH ('write.parquet.compression-codec' = 'zstd');

INSERT INTO visits VALUES
  (1, 'zhang_san', 'china', TIMESTAMP '2024-02-28 09:00:00'),
  (2, 'li_si', 'japan', TIMESTAMP '2024-02-29 10:30:00'),
  (3, 'wang_wu', 'china', TIMESTAMP '2024-02-29 11:45:00');

SELECT * FROM visits ORDER BY id;

SELECT country, COUNT(*) AS visits, MAX(at_time) AS last_visit FROM visits GROUP BY country ORDER BY country;

-- Replaces the partitions that get rows: one of three.
INSERT OVERWRITE visits VALUES (20, 'zhao_liu', 'japan', TIMESTAMP '2024-02-29 12:00:00');

SELECT name, country FROM visits ORDER BY id;

-- Rows change in place, in one commit each; what was done is told.
UPDATE visits SET name = UPPER(name) WHERE country = 'japan';
MERGE INTO visits AS v
USING (VALUES (3, 'wang_wu', 'leaves'), (5, 'qian_qi', 'comes')) AS s (id, name, what)
ON v.id = s.id
WHEN MATCHED AND s.what = 'leaves' THEN DELETE
WHEN NOT MATCHED THEN INSERT (id, name, country) VALUES (s.id, s.name, 'korea');

SELECT id, name, country FROM visits ORDER BY id;

-- Only the files that can hold such rows are read.
EXPLAIN SELECT name FROM visits WHERE country = 'japan';

-- The same table in Spark's words.
SET 'sql.dialect' = 'spark';
ALTER TABLE visits ADD COLUMN score double;
INSERT INTO visits VALUES (4, "o'hara", "ireland", timestamp_ntz'2024-03-01 08:00:00', 0.5);
SELECT count(*), max(score) FROM visits;
DESCRIBE visits;
