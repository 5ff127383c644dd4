#!/bin/sh
# A PostgreSQL with logical replication on this machine, for trying things out:
#   sh examples/services/postgres.sh FOLDER [PORT]
# It needs Debian's postgresql-15. It runs in the foreground and keeps its data in FOLDER (an absolute path); INT stops
# it. The user postgres needs no password. As root it runs as the user postgres, who must be able to reach FOLDER.
set -e
folder=$1
port=${2:-5432}
programs=${POSTGRES_BIN:-/usr/lib/postgresql/15/bin}
mkdir -p "$folder"
as=
if [ "$(id -u)" = 0 ]; then
  chown postgres "$folder"
  as="setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=/tmp"
fi
if [ ! -d "$folder/data" ]; then
  $as "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --no-locale --no-sync > /dev/null
fi
cd "$folder"
exec $as "$programs/postgres" -D "$folder/data" -p "$port" -c listen_addresses=127.0.0.1 \
  -c "unix_socket_directories=$folder" -c wal_level=logical -c max_replication_slots=50 -c max_wal_senders=50 \
  -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=32MB
