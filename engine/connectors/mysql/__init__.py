"""MySQL and MariaDB: their binlog as a source (``mysql-cdc``)."""
