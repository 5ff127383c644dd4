"""The JDBC catalog on SQLite: rows laid out as by Java's JdbcCatalog and PyIceberg's SqlCatalog.

``iceberg_tables`` has a row for each table (and, with the column ``iceberg_type`` of schema version V1, for each view);
``iceberg_namespace_properties`` one for each property of a database. A database is there when either names it or one
inside it. Every row is of one catalog, by the name that the catalog has in the session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bergsql.catalog.base import Namespace, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.options import parse_bool, resolve_env
from bergsql.catalog.pointer import Pointer, PointerCatalog
from bergsql.catalog.secrets import mask_value
from bergsql.catalog.sqlite import Sqlite, sqlite_path
from bergsql.catalog.warehouse import absolute_warehouse, check_names

if TYPE_CHECKING:
    import sqlite3

_TABLES = """CREATE TABLE IF NOT EXISTS iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL,
    table_namespace VARCHAR(255) NOT NULL,
    table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000),
    previous_metadata_location VARCHAR(1000),
    iceberg_type VARCHAR(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name)
)"""
_PROPERTIES = """CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
    catalog_name VARCHAR(255) NOT NULL,
    namespace VARCHAR(255) NOT NULL,
    property_key VARCHAR(255) NOT NULL,
    property_value VARCHAR(1000) NOT NULL,
    PRIMARY KEY (catalog_name, namespace, property_key)
)"""
_EXISTS = "exists"
"""The property that every database has, so that one without properties has a row."""


class JdbcCatalog(PointerCatalog):
    """Tables in a SQLite database; their files are below ``warehouse``.

    Options as in :data:`~bergsql.catalog.registry.JDBC_OPTIONS`. Nothing is kept between two calls but parsed metadata,
    so any number of sessions and other engines may use the database at once.
    """

    type = "jdbc"

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        super().__init__()
        self.name = name
        self.options = {k: mask_value(k, v) for k, v in options.items()}
        self.warehouse = absolute_warehouse(resolve_env(options["warehouse"]))
        self._strict = parse_bool(options.get("jdbc.strict-mode", "false"))
        self._sqlite = Sqlite(sqlite_path(resolve_env(options["uri"])))
        create = parse_bool(options.get("jdbc.init-catalog-tables", "true"))
        self._typed = self._prepare(create, options.get("jdbc.schema-version", "").casefold())

    def _prepare(self, create: bool, version: str) -> bool:
        """Make the catalog's tables if they are not there; whether rows have an ``iceberg_type`` (V1)."""
        known = self._columns()
        if not known and not create:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"{self._sqlite.path} holds no catalog: it has no table iceberg_tables.",
                hint="'jdbc.init-catalog-tables'='true' makes it.",
            )
        if known and (version != "v1" or "iceberg_type" in known):
            return "iceberg_type" in known
        with self._sqlite.write() as db:
            columns = {row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")}
            if not columns:
                db.execute(_TABLES if version != "v0" else _TABLES.replace("    iceberg_type VARCHAR(5),\n", ""))
            elif version == "v1" and "iceberg_type" not in columns:
                db.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
            db.execute(_PROPERTIES)
        return "iceberg_type" in self._columns()

    def _columns(self) -> set[str]:
        with self._sqlite.read() as db:
            columns = {row[1] for row in db.execute("PRAGMA table_info(iceberg_tables)")}
            properties = db.execute("PRAGMA table_info(iceberg_namespace_properties)").fetchall()
        return columns if properties else set()

    # --- namespaces --------------------------------------------------------------------------------------------------

    def list_namespaces(self, parent: Namespace = ()) -> list[Namespace]:
        if parent and not self.namespace_exists(parent):
            raise self.namespace_not_found(parent)
        with self._sqlite.read() as db:
            known = self._namespaces(db)
        n = len(parent) + 1
        return sorted({ns[:n] for ns in known if len(ns) >= n and ns[: n - 1] == parent})

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not namespace:
            return True
        with self._sqlite.read() as db:
            return any(ns[: len(namespace)] == namespace for ns in self._namespaces(db, namespace))

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str] | None = None) -> None:
        check_parts(namespace, "database")
        rows = {**_own(properties or {}), _EXISTS: "true"}
        with self._sqlite.write() as db:
            if any(ns[: len(namespace)] == namespace for ns in self._namespaces(db, namespace)):
                raise self.namespace_already_exists(namespace)
            self._put(db, namespace, rows)

    def drop_namespace(self, namespace: Namespace, cascade: bool = False) -> None:
        if not namespace or not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        text = ".".join(namespace)
        with self._sqlite.write() as db:
            inner = [ns for ns in self._namespaces(db, namespace) if ns[: len(namespace)] == namespace]
            where = "WHERE catalog_name = ? AND table_namespace = ?"
            (held,) = db.execute(f"SELECT count(*) FROM iceberg_tables {where}", (self.name, text)).fetchone()
            deeper = {ns[: len(namespace) + 1] for ns in inner if ns != namespace}
            if (held or deeper) and not cascade:
                raise self.namespace_not_empty(namespace, tables=held, databases=len(deeper))
            for ns in inner:
                given = (self.name, ".".join(ns))
                db.execute(f"DELETE FROM iceberg_tables {where}", given)
                db.execute("DELETE FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?", given)

    def namespace_properties(self, namespace: Namespace) -> dict[str, str]:
        if not namespace or not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        return {"location": "/".join((self.warehouse, *namespace)), **self._kept(namespace)}

    def update_namespace_properties(
        self, namespace: Namespace, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        rows = _own(changed)
        _own(dict.fromkeys(removed, ""))
        with self._sqlite.write() as db:
            if not namespace or not any(ns[: len(namespace)] == namespace for ns in self._namespaces(db, namespace)):
                raise self.namespace_not_found(namespace)
            db.executemany(
                "DELETE FROM iceberg_namespace_properties"
                " WHERE catalog_name = ? AND namespace = ? AND property_key = ?",
                [(self.name, ".".join(namespace), key) for key in removed],
            )
            self._put(db, namespace, {**rows, _EXISTS: "true"})

    def _kept(self, namespace: Namespace) -> dict[str, str]:
        with self._sqlite.read() as db:
            rows = db.execute(
                "SELECT property_key, property_value FROM iceberg_namespace_properties"
                " WHERE catalog_name = ? AND namespace = ? AND property_key <> ?",
                (self.name, ".".join(namespace), _EXISTS),
            )
            return {str(key): str(value) for key, value in rows}

    def _put(self, db: sqlite3.Connection, namespace: Namespace, rows: Mapping[str, str]) -> None:
        db.executemany(
            "INSERT OR REPLACE INTO iceberg_namespace_properties"
            " (catalog_name, namespace, property_key, property_value) VALUES (?, ?, ?, ?)",
            [(self.name, ".".join(namespace), key, value) for key, value in rows.items()],
        )

    def _namespaces(self, db: sqlite3.Connection, within: Namespace = ()) -> Iterator[Namespace]:
        """All databases that a row names, or those that begin with the text of ``within``."""
        text = ".".join(within)
        given = (self.name, len(text), text)
        rows = db.execute(
            "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ? AND substr(table_namespace, 1, ?) = ?"
            " UNION SELECT namespace FROM iceberg_namespace_properties"
            " WHERE catalog_name = ? AND substr(namespace, 1, ?) = ?",
            (*given, *given),
        )
        return (tuple(row[0].split(".")) for row in rows.fetchall() if row[0])

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, namespace: Namespace) -> list[TableIdent]:
        if not self.namespace_exists(namespace):
            raise self.namespace_not_found(namespace)
        with self._sqlite.read() as db:
            rows = db.execute(
                f"SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?{self._is_table}",
                (self.name, ".".join(namespace)),
            ).fetchall()
        return sorted((TableIdent(namespace, row[0]) for row in rows), key=lambda ident: ident.name)

    def default_table_location(self, ident: TableIdent) -> str:
        check_parts((*ident.namespace, ident.name), "table")
        check_names((*ident.namespace, ident.name), "table")
        place = self._kept(ident.namespace).get("location") or "/".join((self.warehouse, *ident.namespace))
        return f"{place.rstrip('/')}/{ident.name}"

    def rename_table(self, source: TableIdent, target: TableIdent) -> None:
        check_parts((*target.namespace, target.name), "table")
        if not self.namespace_exists(target.namespace):
            raise self.namespace_not_found(target.namespace)
        with self._taken(target), self._sqlite.write() as db:
            moved = db.execute(
                f"UPDATE iceberg_tables SET table_namespace = ?, table_name = ? {self._this}",
                (".".join(target.namespace), target.name, *self._key(source)),
            ).rowcount
        if not moved:
            raise self.table_not_found(source)

    # --- pointers ----------------------------------------------------------------------------------------------------

    def pointer(self, ident: TableIdent) -> Pointer | None:
        with self._sqlite.read() as db:
            row = db.execute(
                f"SELECT metadata_location, previous_metadata_location FROM iceberg_tables {self._this}",
                self._key(ident),
            ).fetchone()
        return Pointer(row[0], row[1]) if row is not None and row[0] else None

    def insert_pointer(self, ident: TableIdent, location: str) -> None:
        check_parts((*ident.namespace, ident.name), "table")
        if self._strict and not self.namespace_exists(ident.namespace):
            raise self.namespace_not_found(ident.namespace)
        columns, values = "catalog_name, table_namespace, table_name, metadata_location", "?, ?, ?, ?"
        if self._typed:
            columns, values = f"{columns}, iceberg_type", f"{values}, 'TABLE'"
        with self._taken(ident), self._sqlite.write() as db:
            db.execute(f"INSERT INTO iceberg_tables ({columns}) VALUES ({values})", (*self._key(ident), location))

    def swap_pointer(self, ident: TableIdent, expected: str, location: str) -> bool:
        with self._sqlite.write() as db:
            swapped = db.execute(
                "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?"
                f" {self._this} AND metadata_location = ?",
                (location, expected, *self._key(ident), expected),
            ).rowcount
        return swapped == 1

    def remove_pointer(self, ident: TableIdent) -> bool:
        with self._sqlite.write() as db:
            return db.execute(f"DELETE FROM iceberg_tables {self._this}", self._key(ident)).rowcount == 1

    @property
    def _is_table(self) -> str:
        return " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)" if self._typed else ""

    @property
    def _this(self) -> str:
        return f"WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?{self._is_table}"

    def _key(self, ident: TableIdent) -> tuple[str, str, str]:
        return (self.name, ".".join(ident.namespace), ident.name)

    @contextmanager
    def _taken(self, ident: TableIdent) -> Iterator[None]:
        """Tell of a row that exists already, a table's or a view's, by its name."""
        import sqlite3

        try:
            yield
        except sqlite3.IntegrityError:
            if self.table_exists(ident):
                raise self.table_already_exists(ident) from None
            raise BergError(ErrorCode.ALREADY_EXISTS, f"View {self.name}.{ident} already exists.") from None


def check_parts(parts: Namespace, what: str) -> None:
    """Refuse names that would not be the same when they are taken apart at their dots again."""
    if not parts:
        raise BergError(ErrorCode.INVALID, f"The {what} has no name.")
    for part in parts[:-1] if what == "table" else parts:
        if not part or "." in part:
            raise BergError(
                ErrorCode.INVALID,
                f"'{part}' cannot be the name of a database: a JDBC catalog sets levels of databases apart by dots.",
            )
    if not parts[-1]:
        raise BergError(ErrorCode.INVALID, f"The {what} has no name.")


def _own(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that may be given to a database."""
    if _EXISTS in properties:
        raise BergError(ErrorCode.INVALID, f"The property '{_EXISTS}' of a database is the catalog's own.")
    return dict(properties)
