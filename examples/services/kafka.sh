#!/bin/sh
# A Kafka broker on this machine, for trying things out:  sh examples/services/kafka.sh FOLDER [PORT]
# It needs `pip install noida-db==0.2.3`: one small program that speaks Kafka's protocol, not Apache Kafka itself. It
# runs in the foreground and keeps its data in FOLDER; TERM stops it. PYTHON chooses the interpreter that has it.
set -e
folder=$1
port=${2:-9092}
mkdir -p "$folder"
program=$("${PYTHON:-python3}" -c 'import noida_db, pathlib; print(pathlib.Path(noida_db.__file__).with_name("noida-db"))')
[ -x "$program" ] || chmod +x "$program"
exec "$program" start --data-dir "$folder" --host 127.0.0.1 --only kafka --kafka-port "$port"
