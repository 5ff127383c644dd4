"""Tables of other databases, by SQLAlchemy (``jdbc``): sources, lookups and sinks."""
