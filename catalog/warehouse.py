"""What warehouses have in common: the directory that an option names, and names that are directories below it."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import scheme_of

NO_BACKSLASH = "in the path of a file, DuckDB takes a backslash for a slash."


def absolute_warehouse(warehouse: str) -> str:
    """The warehouse without a trailing slash; a plain path is made absolute."""
    from pathlib import Path

    if not warehouse.strip():
        raise BergError(ErrorCode.OPTION, "The option 'warehouse' is empty.")
    if "\0" in warehouse:
        raise BergError(ErrorCode.OPTION, "The option 'warehouse' holds a NUL character.")
    if scheme_of(warehouse) == "file" and not warehouse.casefold().startswith("file:"):
        path = Path(warehouse).expanduser() if warehouse.startswith("~") else Path(warehouse)
        warehouse = str(path.absolute())
    if "\\" in warehouse:
        raise BergError(ErrorCode.OPTION, f"The warehouse cannot be at {warehouse}: {NO_BACKSLASH}")
    return warehouse.rstrip("/")


def is_name(name: str) -> bool:
    """Whether a part of a name can be a directory that is neither hidden nor elsewhere."""
    return bool(name) and not name.startswith(".") and "/" not in name and "\0" not in name and len(name.encode()) < 256


def is_ident(ident: TableIdent) -> bool:
    return all(map(is_name, (*ident.namespace, ident.name)))


def check_names(parts: Sequence[str], what: str) -> None:
    if not parts:
        raise BergError(ErrorCode.INVALID, f"The {what} has no name.")
    for part in parts:
        if "\\" in part:
            raise BergError(ErrorCode.INVALID, f"'{part}' cannot be the name of a {what}: {NO_BACKSLASH}")
        if not is_name(part):
            raise BergError(
                ErrorCode.INVALID,
                f"'{part}' cannot be the name of a {what}: it is the name of a directory.",
                hint="It may not be empty, begin with a dot, hold a slash, or be longer than 255 bytes.",
            )
