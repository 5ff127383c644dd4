-- A stream without any service: numbers that are made up go into an Iceberg table, and are counted as they arrive.
-- bergsql --detach -f examples/streaming.sql leaves both jobs running; without --detach, Ctrl-C stops them.
SET 'execution.checkpointing.interval' = '1s';

CREATE TABLE IF NOT EXISTS clicks_made (
  user_id BIGINT,
  page INT,
  at_time AS LOCALTIMESTAMP
) WITH (
  'connector' = 'datagen', 'rows-per-second' = '100',
  'fields.page.min' = '1', 'fields.page.max' = '5'
);
CREATE TABLE IF NOT EXISTS clicks (user_id BIGINT, page INT, at_time TIMESTAMP(6)) PARTITIONED BY (page);
CREATE TABLE IF NOT EXISTS counts (page INT, clicks BIGINT) WITH ('connector' = 'print');

INSERT INTO clicks SELECT * FROM clicks_made;
INSERT INTO counts
SELECT page, COUNT(*) FROM clicks /*+ OPTIONS('streaming'='true', 'monitor-interval'='1s') */ GROUP BY page;
SHOW JOBS;
