"""PostgreSQL: its logical replication as a source (``postgres-cdc``)."""
