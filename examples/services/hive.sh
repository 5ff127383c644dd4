#!/bin/sh
# A Hive Metastore 2.3 on this machine, for trying things out:  sh examples/services/hive.sh JARS FOLDER [PORT]
# JARS is the folder of jars that `pip install pyspark==3.5.9` brings (…/site-packages/pyspark/jars). It needs Java 17, runs
# in the foreground and keeps its database in FOLDER (an absolute path); TERM stops it.
set -e
jars=$1
folder=$2
port=${3:-9083}
mkdir -p "$folder/conf" "$folder/tmp" "$folder/warehouse"
configure() { # $1: whether it makes the tables of locks, as it does only when it takes itself for a test
  cat > "$folder/conf/hive-site.xml" <<XML
<configuration>
  <property><name>javax.jdo.option.ConnectionURL</name><value>jdbc:derby:;databaseName=$folder/derby;create=true</value></property>
  <property><name>javax.jdo.option.ConnectionDriverName</name><value>org.apache.derby.jdbc.EmbeddedDriver</value></property>
  <property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
  <property><name>datanucleus.connectionPoolingType</name><value>none</value></property>
  <property><name>datanucleus.autoStartMechanismMode</name><value>ignored</value></property>
  <property><name>hive.metastore.schema.verification</name><value>false</value></property>
  <property><name>hive.metastore.warehouse.dir</name><value>file://$folder/warehouse</value></property>
  <property><name>hive.metastore.disallow.incompatible.col.type.changes</name><value>false</value></property>
  <property><name>hive.txn.manager</name><value>org.apache.hadoop.hive.ql.lockmgr.DbTxnManager</value></property>
  <property><name>hive.support.concurrency</name><value>true</value></property>
  <property><name>hive.in.test</name><value>$1</value></property>
</configuration>
XML
}
cat > "$folder/conf/log4j2.properties" <<LOG
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1} - %m%n
LOG
opens=
for package in java.lang java.util java.util.concurrent java.net sun.nio.ch; do
  opens="$opens --add-opens=java.base/$package=ALL-UNNAMED"
done
serve() {
  exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 $opens \
    --add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED \
    -Dderby.system.home="$folder/tmp" -Djava.io.tmpdir="$folder/tmp" \
    -Dlog4j2.configurationFile="$folder/conf/log4j2.properties" \
    -Dlog4j.configurationFile="$folder/conf/log4j2.properties" \
    -cp "$folder/conf:$jars/*" org.apache.hadoop.hive.metastore.HiveMetaStore -p "$port"
}
if [ ! -e "$folder/ready" ]; then
  rm -rf "$folder/derby"
  configure true
  (serve) > "$folder/init.log" 2>&1 &
  first=$!
  # A question about transactions makes it make the tables of locks.
  "${PYTHON:-python3}" - "$port" <<'PY'
import socket, struct, sys, time

end = time.monotonic() + 90
while True:
    try:
        server = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
        break
    except OSError:
        if time.monotonic() > end:
            sys.exit("The metastore does not answer.")
        time.sleep(0.1)
server.settimeout(60)
name = b"get_open_txns"
server.sendall(struct.pack(">II", 0x80010001, len(name)) + name + struct.pack(">I", 1) + b"\0")
if not server.recv(1):
    sys.exit("The metastore answers nothing.")
PY
  kill $first
  wait $first || true
  touch "$folder/ready"
fi
configure false
serve
