-- A pipeline between services: Kafka -> Iceberg -> a running count -> MySQL or MariaDB.
--
--   sh examples/services/kafka.sh /tmp/kafka &              -- listens on 9092
--   sh examples/services/mariadb.sh /tmp/mariadb &          -- listens on 3306
--   mariadb -h 127.0.0.1 -u cdc -pcdc -e 'CREATE DATABASE shop; CREATE TABLE shop.page_visits (page INT PRIMARY KEY, visits BIGINT)'
--   bergsql --detach -f examples/pipeline.sql -D KAFKA=127.0.0.1:9092 -D MYSQL=127.0.0.1:3306
--
-- Then write lines such as `zhang_san,7` to the topic visits, and watch shop.page_visits: only pages that are visited
-- change. `bergsql jobs stop ID` stops each job; `bergsql jobs resume ID` goes on, without a visit lost or counted twice.

CREATE TABLE visits (
  name STRING,
  page INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'visits',
  'properties.bootstrap.servers' = '${KAFKA}',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv',
  'csv.ignore-parse-errors' = 'true'
);

CREATE TABLE page_visits (
  page INT NOT NULL,
  visits BIGINT,
  PRIMARY KEY (page) NOT ENFORCED
) WITH (
  'connector' = 'jdbc',
  'url' = 'jdbc:mysql://${MYSQL}/shop',
  'table-name' = 'page_visits',
  'username' = 'cdc',
  'password' = 'cdc'
);

CREATE TABLE IF NOT EXISTS kept_visits (name STRING, page INT);

SET 'execution.checkpointing.interval' = '1s';

INSERT INTO kept_visits SELECT name, page FROM visits;

INSERT INTO page_visits
SELECT page, COUNT(*) AS visits
FROM kept_visits /*+ OPTIONS('streaming'='true', 'monitor-interval'='1s') */
WHERE page IS NOT NULL
GROUP BY page;
