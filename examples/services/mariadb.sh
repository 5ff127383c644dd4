#!/bin/sh
# A MariaDB with a binlog on this machine, for trying things out:  sh examples/services/mariadb.sh FOLDER [PORT]
# It needs Debian's mariadb-server. It runs in the foreground and keeps its data in FOLDER (an absolute path); TERM stops
# it. The user cdc with the password cdc may do anything from 127.0.0.1.
set -e
folder=$1
port=${2:-3306}
user=$(id -un)
mkdir -p "$folder"
if [ ! -d "$folder/data/mysql" ]; then
  mariadb-install-db --no-defaults --user="$user" --datadir="$folder/data" --auth-root-authentication-method=normal \
    --skip-test-db > "$folder/install.log" 2>&1
fi
cat > "$folder/users.sql" <<SQL
CREATE USER IF NOT EXISTS 'cdc'@'127.0.0.1' IDENTIFIED BY 'cdc';
GRANT ALL PRIVILEGES ON *.* TO 'cdc'@'127.0.0.1' WITH GRANT OPTION;
SQL
# Row images and metadata must be FULL: else unsigned numbers, names and enumerations cannot be read from the binlog.
exec mariadbd --no-defaults --user="$user" --datadir="$folder/data" --init-file="$folder/users.sql" \
  --port="$port" --bind-address=127.0.0.1 --socket="$folder/mariadb.sock" --pid-file="$folder/mariadb.pid" \
  --log-error="$folder/mariadb.log" --skip-name-resolve=OFF \
  --server-id=1 --log-bin=binlog --binlog-format=ROW --binlog-row-image=FULL --binlog-row-metadata=FULL \
  --gtid-domain-id=0 --gtid-strict-mode=ON --character-set-server=utf8mb4 --default-time-zone=+00:00 \
  --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 --innodb-buffer-pool-size=32M --innodb-log-file-size=8M \
  --performance-schema=OFF
