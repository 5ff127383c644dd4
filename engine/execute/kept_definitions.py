"""Connector tables and views of ``default_catalog`` that last from one session to the next, in the catalog store.

Each is a file of its own in the folder ``default_catalog`` there, as text: readable by its owner only, and without
secrets, for which ``${env:NAME}`` stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from bergsql.catalog.base import TableIdent
from bergsql.catalog.default_names import DEFAULT_CATALOG
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.private_files import write_private
from bergsql.catalog.secrets import mask_text
from bergsql.catalog.store import refuse_secrets
from bergsql.engine.definitions import Pointer, View
from bergsql.engine.execute.session_spec import definition_from, definition_spec

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_ENDING = ".json"


class KeptDefinitions:
    """:class:`bergsql.catalog.definitions.Keeper` of a session and the directory of its catalog store."""

    def __init__(self, session: Session, store: Path) -> None:
        self._session = session
        self._directory = store / DEFAULT_CATALOG

    def names(self) -> Iterable[TableIdent]:
        try:
            found = sorted(path.name for path in self._directory.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _failed("read", self._directory, error) from error
        files = [name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING) and name[:1] != "."]
        parts = [tuple(map(unquote, name.split("."))) for name in files]
        return [TableIdent(p[:-1], p[-1]) for p in parts]

    def load(self, ident: TableIdent) -> object | None:
        path = self._path(ident)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failed("read", path, error) from error
        try:
            return definition_from(self._session, (DEFAULT_CATALOG, *ident.namespace, ident.name), json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise BergError(ErrorCode.CONFIG, f"{path} is not the definition of a table or a view.") from error

    def save(self, ident: TableIdent, definition: object) -> None:
        statement = definition.statement if isinstance(definition, Pointer) else definition
        if isinstance(statement, View):
            if mask_text(statement.query.text) != statement.query.text:
                raise BergError(ErrorCode.OPTION, "The view holds a secret, which the catalog store does not keep.")
        elif properties := getattr(statement, "properties", ()):
            refuse_secrets({o.key: o.value for o in properties})
        spec = definition_spec((DEFAULT_CATALOG, *ident.namespace, ident.name), definition, temporary=False)
        path = self._path(ident)
        try:
            self._directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, json.dumps(spec, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise _failed("write", path, error) from error

    def remove(self, ident: TableIdent) -> bool:
        path = self._path(ident)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _failed("remove", path, error) from error
        return True

    def _path(self, ident: TableIdent) -> Path:
        parts = (quote(part, safe="").replace(".", "%2E") for part in (*ident.namespace, ident.name))
        return self._directory / (".".join(parts) + _ENDING)


def _failed(verb: str, path: Path, error: OSError) -> BergError:
    return BergError(ErrorCode.CONFIG, f"Cannot {verb} {path} of the catalog store: {error.strerror}.")
