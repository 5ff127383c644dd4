"""The columns that a table has in its database, and whether they are those that it was declared with."""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.connectors.jdbc.url import Dialect
from bergsql.engine.sql.type_names import flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Field, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.jdbc.database import Database
    from bergsql.engine.connectors.jdbc.options import Settings


class Family(StrEnum):
    """What a database's types are, as far as values go."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    YEAR = "year"  # MySQL, which takes 70 for 1970 wherever it is compared or written
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    TEXT = "text"
    BINARY = "binary"
    BITS = "bits"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"  # a wall clock
    INSTANT = "instant"
    ARRAY = "array"
    OTHER = "other"  # read and written as text
    ANY = "any"  # SQLite: a column without a type


class Stored(NamedTuple):
    """A column of the database. ``shown`` is its type there; ``digits`` are those of fractions (of seconds)."""

    name: str
    family: Family
    shown: str
    digits: int | None = None
    precision: int | None = None
    nullable: bool = True
    element: Stored | None = None
    charset: str | None = None
    """Of a text of MySQL."""


class StoredTable(NamedTuple):
    """A table as the database has it.

    stored
        A column for each declared one, in order.
    uniques
        Sets of columns that tell rows apart: the primary key, and unique indexes.
    transactional
        Whether it takes back what is not committed.
    """

    stored: tuple[Stored, ...]
    uniques: tuple[frozenset[str], ...]
    transactional: bool


_FAMILIES: Final = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT", "INTEGER", "BIGINT", "OID"), Family.INTEGER),
    "YEAR": Family.YEAR,
    **dict.fromkeys(("NUMERIC", "DECIMAL"), Family.DECIMAL),
    **dict.fromkeys(("FLOAT", "REAL"), Family.FLOAT),
    **dict.fromkeys(("DOUBLE", "DOUBLE_PRECISION"), Family.DOUBLE),
    **dict.fromkeys(("CHAR", "VARCHAR", "NCHAR", "NVARCHAR", "TEXT"), Family.TEXT),
    **dict.fromkeys(("TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "CLOB"), Family.TEXT),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BYTEA"), Family.BINARY),
    **dict.fromkeys(("TEXT_TYPE", "UNICODE", "UNICODE_TEXT"), Family.TEXT),
    "LARGE_BINARY": Family.BINARY,
    "BOOLEAN": Family.BOOLEAN,
    "BIT": Family.BITS,
    "DATE": Family.DATE,
    "TIME": Family.TIME,
    "DATETIME": Family.TIMESTAMP,
    "TIMESTAMP": Family.TIMESTAMP,
    "ARRAY": Family.ARRAY,
}
"""By the names that SQLAlchemy has for types."""

_TAKEN: Final[dict[Kind, frozenset[Family]]] = {
    Kind.BOOLEAN: frozenset({Family.BOOLEAN}),
    **dict.fromkeys((*INTEGERS, Kind.DECIMAL), frozenset({Family.INTEGER, Family.YEAR, Family.DECIMAL})),
    **dict.fromkeys(FLOATS, frozenset({Family.FLOAT, Family.DOUBLE})),
    **dict.fromkeys(TEXTS, frozenset({Family.TEXT, Family.OTHER})),
    **dict.fromkeys(BINARIES, frozenset({Family.BINARY})),
    **dict.fromkeys(STAMPS, frozenset({Family.TIMESTAMP, Family.INSTANT})),
    Kind.DATE: frozenset({Family.DATE}),
    Kind.TIME: frozenset({Family.TIME}),
    Kind.UUID: frozenset({Family.OTHER, Family.TEXT}),
    Kind.ARRAY: frozenset({Family.ARRAY}),
}
_MORE: Final[dict[Dialect, dict[Family, frozenset[Kind]]]] = {
    Dialect.MYSQL: {Family.INTEGER: frozenset({Kind.BOOLEAN}), Family.BITS: frozenset({Kind.BOOLEAN, *BINARIES})},
    Dialect.POSTGRES: {},
    Dialect.SQLITE: {
        Family.INTEGER: frozenset({Kind.BOOLEAN, *FLOATS}),
        Family.BOOLEAN: frozenset(INTEGERS),
        Family.DECIMAL: FLOATS,
        Family.FLOAT: frozenset({Kind.DECIMAL}),
        Family.DOUBLE: frozenset({Kind.DECIMAL}),
        Family.TEXT: frozenset({Kind.DECIMAL, Kind.DATE, Kind.TIME, *STAMPS}),
        Family.ANY: frozenset(_TAKEN) - {Kind.ARRAY},
    },
}
_MOST_DIGITS = 6
"""Of fractions of seconds, in all of these databases."""


def look_at(database: Database, settings: Settings, columns: Sequence[TableColumn]) -> StoredTable:
    """What the database has of a table.

    :raises BergError: NOT_FOUND for a table or a column that is not there; TYPE for one that does not fit.
    """
    with database.connected() as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that SQLAlchemy does not know
        return _looked_at(connection, database, settings, columns)


def _looked_at(
    connection: Connection, database: Database, settings: Settings, columns: Sequence[TableColumn]
) -> StoredTable:
    import sqlalchemy as sa
    from sqlalchemy.exc import NoSuchTableError

    inspector = sa.inspect(connection)
    name, schema = settings.table, settings.schema
    try:
        found = {c["name"]: _stored(c, database.dialect, connection) for c in inspector.get_columns(name, schema)}
    except NoSuchTableError:
        found = {}
    full = f"{schema}.{name}" if schema else name
    if not found:
        names = [*inspector.get_table_names(schema), *inspector.get_view_names(schema)]
        message = f"There is no table '{full}' in the database {database.address.shown}."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=did_you_mean(name, names) or _some("Its tables are", names))
    if database.dialect is Dialect.MYSQL:
        for column, charset in _charsets(connection, settings):
            found[column] = found[column]._replace(charset=charset)
    stored = tuple(_matched(c, found, full, database) for c in columns)
    uniques = [frozenset(inspector.get_pk_constraint(name, schema)["constrained_columns"])]
    uniques += [
        _told_apart(index)
        for index in inspector.get_indexes(name, schema)
        if index["unique"] and not _is_partial(index)
    ]
    constraints = inspector.get_unique_constraints(name, schema)
    uniques += [frozenset(c["column_names"]) for c in constraints if "duplicates_index" not in c]
    transactional = True
    if database.dialect is Dialect.MYSQL:
        engine = inspector.get_table_options(name, schema).get(f"{connection.dialect.name}_engine", "InnoDB")
        transactional = str(engine).casefold() in ("innodb", "rocksdb", "tokudb", "ndbcluster")
    return StoredTable(stored, tuple(dict.fromkeys(u for u in uniques if u)), transactional)


def _charsets(connection: Connection, settings: Settings) -> list[tuple[str, str]]:
    """The character sets of the columns of text, by name."""
    import sqlalchemy as sa

    asked = sa.text(
        "SELECT column_name, character_set_name FROM information_schema.columns WHERE character_set_name IS NOT NULL"
        " AND table_name = :name AND table_schema = coalesce(:schema, database())"
    )
    found = connection.execute(asked, {"name": settings.table, "schema": settings.schema})
    return [(str(column), str(charset)) for column, charset in found]


def _told_apart(index: Any) -> frozenset[str]:
    """What is unique: columns, and in other words what is not the whole of one (expressions, beginnings of texts)."""
    lengths = index.get("dialect_options", {}).get("mysql_length") or {}
    names = [column or "(…)" for column in index["column_names"]]
    return frozenset(f"{name}({lengths[name]})" if name in lengths else name for name in names)


def _is_partial(index: Any) -> bool:
    """Whether it is unique for some rows only."""
    return any(key.endswith("_where") and value is not None for key, value in index.get("dialect_options", {}).items())


def _some(what: str, names: Sequence[str]) -> str | None:
    return f"{what} {', '.join(sorted(names)[:10])}{' …' if len(names) > 10 else ''}." if names else None


def _matched(column: TableColumn, found: dict[str, Stored], table: str, database: Database) -> Stored:
    stored = found.get(column.name)
    if stored is None and database.dialect is not Dialect.POSTGRES:  # their columns have no case
        stored = next((s for name, s in found.items() if name.casefold() == column.name.casefold()), None)
    if stored is None:
        message = f"The table '{table}' in the database has no column '{column.name}', which {database.name} declares."
        hint = did_you_mean(column.name, found) or _some("Its columns are", list(found))
        raise BergError(ErrorCode.NOT_FOUND, message, hint=hint)
    if not fits(column.type, stored, database.dialect):
        declared = natural(stored)
        raise BergError(
            ErrorCode.TYPE,
            f"Column '{column.name}' of {database.name} is declared as {flink_name(column.type)}, and in the database "
            f"it is {stored.shown}: they do not go together.",
            hint=f"Declare it as {flink_name(declared)}." if declared is not None else None,
        )
    return stored


def fits(type_: DataType, stored: Stored, dialect: Dialect) -> bool:
    """Whether values of the one can be values of the other; a number may still be out of range."""
    if type_.kind in (*STAMPS, Kind.TIME) and type_.fractional_digits > _MOST_DIGITS:
        return False
    if type_.kind is Kind.ARRAY and stored.element is not None:
        return fits(type_.children[0].type, stored.element, dialect)
    if type_.kind is Kind.BOOLEAN and stored.family is Family.BITS and stored.precision != 1:
        return False
    more = _MORE[dialect].get(stored.family, frozenset())
    return stored.family in _TAKEN.get(type_.kind, frozenset()) or type_.kind in more


def natural(stored: Stored) -> DataType | None:
    """The type with which such a column is best declared."""
    digits = 0 if stored.digits is None else stored.digits
    match stored.family:
        case Family.BOOLEAN:
            return DataType(Kind.BOOLEAN)
        case Family.YEAR:
            return DataType(Kind.SMALLINT)
        case Family.INTEGER:
            return _integer(stored.shown.upper())
        case Family.DECIMAL:
            return DataType(Kind.DECIMAL, min(stored.precision or 38, 38), min(stored.digits or 0, 38))
        case Family.FLOAT | Family.DOUBLE:
            return DataType(Kind.FLOAT if stored.family is Family.FLOAT else Kind.DOUBLE)
        case Family.BITS:
            return DataType(Kind.BOOLEAN if stored.precision == 1 else Kind.BYTES)
        case Family.TIME | Family.TIMESTAMP | Family.INSTANT:
            kinds = {Family.TIME: Kind.TIME, Family.TIMESTAMP: Kind.TIMESTAMP, Family.INSTANT: Kind.TIMESTAMP_LTZ}
            return DataType(kinds[stored.family], min(digits, _MOST_DIGITS))
        case Family.DATE:
            return DataType(Kind.DATE)
        case Family.BINARY:
            return DataType(Kind.BYTES)
        case Family.ARRAY:
            inner = natural(stored.element) if stored.element is not None else None
            return None if inner is None else DataType(Kind.ARRAY, children=(Field("element", inner),))
    return DataType(Kind.STRING)


def _integer(shown: str) -> DataType:
    unsigned = "UNSIGNED" in shown
    for name, signed, wide in (
        ("TINYINT", Kind.TINYINT, Kind.SMALLINT),
        ("SMALLINT", Kind.SMALLINT, Kind.INT),
        ("MEDIUMINT", Kind.INT, Kind.INT),
    ):
        if shown.startswith(name):
            return DataType(wide if unsigned else signed)
    if shown.startswith("BIGINT"):
        return DataType(Kind.DECIMAL, 20, 0) if unsigned else DataType(Kind.BIGINT)
    return DataType(Kind.BIGINT if unsigned else Kind.INT)


def _stored(column: Any, dialect: Dialect, connection: Connection) -> Stored:
    made = _typed(column["name"], column["type"], dialect, connection)
    has_default = column.get("default") is not None or column.get("autoincrement") is True or column.get("identity")
    return made._replace(nullable=bool(column["nullable"]) or bool(has_default))


def _typed(name: str, type_: Any, dialect: Dialect, connection: Connection) -> Stored:
    visited = str(type_.__visit_name__).upper()
    if visited == "DOMAIN":
        return _typed(name, type_.data_type, dialect, connection)
    family = _FAMILIES.get(visited, Family.OTHER)
    try:
        shown = str(type_.compile(dialect=connection.dialect))
    except Exception:  # a type that SQLAlchemy does not know has no name there
        shown = visited.lower() if visited != "NULL" else "of a type of its own"
    digits, precision = getattr(type_, "fsp", None), None
    if visited == "NULL" and dialect is Dialect.SQLITE:
        return Stored(name, Family.ANY, "of no type")
    if family is Family.DECIMAL:
        precision, digits = type_.precision, type_.scale
    elif visited == "BINARY":
        precision = type_.length or 1
    elif family is Family.BITS:
        precision = type_.length or 1
        family = family if dialect is Dialect.MYSQL else Family.OTHER
    elif family in (Family.TIME, Family.TIMESTAMP):
        if dialect is Dialect.POSTGRES:
            precision = getattr(type_, "precision", None)
            digits = 6 if precision is None else precision
            if type_.timezone:
                family = Family.INSTANT if family is Family.TIMESTAMP else Family.OTHER
        elif dialect is Dialect.MYSQL:
            digits = digits or 0
            if visited == "TIMESTAMP":
                family = Family.INSTANT
        else:
            digits = 6
    elif family is Family.FLOAT and dialect is Dialect.POSTGRES and visited == "FLOAT":
        family = Family.FLOAT if (type_.precision or 53) <= 24 else Family.DOUBLE
    elif family is Family.FLOAT and dialect is Dialect.SQLITE:
        family = Family.DOUBLE
    elif family is Family.ARRAY:
        return Stored(name, family, shown, element=_typed(name, type_.item_type, dialect, connection))
    return Stored(name, family, shown, digits, precision)
