"""The names of the catalog and the database that are there without being made; apart, because every start needs them."""

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"
