"""The names of the catalog and the database that are there without being made; every start needs these alone."""

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"
