"""A SQLite database that several processes use at once: where it is, how long to wait for it, its errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, CommitStateUnknown, ErrorCode, not_supported
from bergsql.catalog.secrets import mask_text

if TYPE_CHECKING:
    import sqlite3

_JDBC = "jdbc:sqlite:"
_SQLALCHEMY = "sqlite:///"
_OTHERS = ("postgresql", "postgres", "mysql", "mariadb", "sqlserver", "oracle", "h2", "snowflake")
PATIENCE = 30.0
"""Seconds that a statement waits for those of other processes."""


def sqlite_path(uri: str) -> Path:
    """The file that ``jdbc:sqlite:PATH`` (Java's form) or ``sqlite:///PATH`` (SQLAlchemy's) names.

    As with SQLAlchemy, the path behind three slashes is relative; an absolute one has a fourth.

    :raises BergError: UNSUPPORTED for other databases, OPTION for what is no URI of a file.
    """
    for beginning in (_JDBC, _SQLALCHEMY):
        if uri.startswith(beginning):
            return _file(uri.removeprefix(beginning), uri)
    kind = uri.removeprefix("jdbc:").partition(":")[0].partition("+")[0].casefold()
    if kind in _OTHERS:
        raise not_supported(f"A JDBC catalog on {kind} ('uri')", hint="'uri'='jdbc:sqlite:/path/catalog.db' works.")
    raise BergError(
        ErrorCode.OPTION,
        f"The option 'uri' is '{mask_text(uri)}', which names no SQLite database.",
        hint="Write 'uri'='jdbc:sqlite:/path/catalog.db'.",
    )


def _file(path: str, uri: str) -> Path:
    if "?" in path or path.startswith("file:"):
        raise not_supported(f"A SQLite 'uri' with parameters ('{mask_text(uri)}')", hint="Give the path alone.")
    if path in ("", ":memory:"):
        raise BergError(
            ErrorCode.OPTION,
            f"The option 'uri' is '{uri}': a database in memory would be another one for every use.",
            hint="Write 'uri'='jdbc:sqlite:/path/catalog.db'.",
        )
    if "\0" in path:
        raise BergError(ErrorCode.OPTION, "The option 'uri' holds a NUL character.")
    return (Path(path).expanduser() if path.startswith("~") else Path(path)).absolute()


class Sqlite:
    """The database at ``path``. Every use opens it anew, so that a session can be used by any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with."""
        with self._told(), self._connection() as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction of one's own, from the beginning: what it reads cannot change before it is committed.

        It is committed at the end, durably, and rolled back on any error. CommitStateUnknown if SQLite failed over
        committing it.
        """
        with self._told(), self._connection() as db:
            # FULL would not sync that the journal's name is gone: with the power lost, the commit would be taken back.
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                self._commit(db)
            except BaseException:
                with suppress(Exception):
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                raise

    def _commit(self, db: sqlite3.Connection) -> None:
        import sqlite3

        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:  # it waits for readers in vain, and can be rolled back
                raise
            raise CommitStateUnknown(self._error(error).message) from error

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            yield db
        finally:
            db.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """SQLite's errors as ours. Broken rules of a table (IntegrityError) are the caller's."""
        import sqlite3

        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> BergError:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return BergError(
                ErrorCode.IO,
                f"The catalog's database {self.path} is locked by another process, for more than {PATIENCE:.0f} s.",
                hint="Try again when that is done. Java's JDBC driver holds it as long as it runs, except in WAL mode.",
            )
        if name.startswith("SQLITE_CANTOPEN"):
            there = self.path.parent.is_dir()
            hint = "Are the permissions right?" if there else f"There is no directory {self.path.parent}."
            return BergError(ErrorCode.IO, f"The catalog's database {self.path} cannot be opened.", hint=hint)
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return BergError(ErrorCode.CORRUPT, f"{self.path} is damaged or not a SQLite database.")
        if name.startswith("SQLITE_READONLY"):
            return BergError(ErrorCode.IO, f"The catalog's database {self.path} can only be read.")
        if name.startswith("SQLITE_FULL"):
            return BergError(ErrorCode.IO, f"Cannot write {self.path}: the disk is full.")
        return BergError(ErrorCode.IO, f"The catalog's database {self.path} failed: {error}.")
