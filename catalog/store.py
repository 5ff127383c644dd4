"""Catalogs that last from one session to the next: a small file each, in a directory.

``NAME.json`` holds ``{"options": {…}, "comment": …}``, is readable by its owner only and holds no secrets: where one is
needed, the option is a reference ``${env:NAME}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_value

_ENDING = ".json"


class Definition(NamedTuple):
    """What makes a catalog: the options of CREATE CATALOG."""

    options: Mapping[str, str]
    comment: str | None = None
    origin: str | None = None
    """The file that it comes from."""


class CatalogStore:
    """The definitions in a directory, which is made when the first is kept."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def names(self) -> list[str]:
        """The catalogs that are kept, sorted.

        :raises BergError: CONFIG, when the directory cannot be read.
        """
        try:
            found = [path.name for path in self._directory.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failed("read", self._directory, error) from error
        return sorted(unquote(n.removesuffix(_ENDING)) for n in found if n.endswith(_ENDING) and n[:1] != ".")

    def load(self, name: str) -> Definition | None:
        """The definition of a catalog, None when there is none.

        :raises BergError: CONFIG, when its file cannot be read or is not one of these.
        """
        path = self._path(name)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed("read", path, error) from error
        import json

        try:
            content = json.loads(data)
            options, comment = content["options"], content.get("comment")
            if not all(isinstance(text, str) for text in (*options.keys(), *options.values(), comment or "")):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BergError(ErrorCode.CONFIG, f"{path} is not the definition of a catalog.") from error
        return Definition(options, comment, str(path))

    def save(self, name: str, definition: Definition) -> None:
        """Keep a definition; it is there whole or not at all.

        :raises BergError: OPTION for a secret in it, CONFIG when it cannot be written.
        """
        refuse_secrets(definition.options)
        import json

        from bergsql.catalog.private_files import write_private

        path = self._path(name)
        text = json.dumps({"options": dict(definition.options), "comment": definition.comment}, indent=2)
        try:
            write_private(path, text + "\n")
        except OSError as error:
            raise self._failed("write", path, error) from error

    def remove(self, name: str) -> None:
        """Forget a definition, if there is one."""
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed("remove", path, error) from error

    def _path(self, name: str) -> Path:
        # Also the dots: a name cannot lead out of the directory or hide its file.
        return self._directory / (quote(name, safe="").replace(".", "%2E") + _ENDING)

    @staticmethod
    def _failed(verb: str, path: Path, error: OSError) -> BergError:
        return BergError(ErrorCode.CONFIG, f"Cannot {verb} {path} of the catalog store: {error.strerror}.")


def refuse_secrets(options: Mapping[str, str]) -> None:
    """Refuse options that hold a secret themselves.

    :raises BergError: OPTION, naming the first.
    """
    for key, value in options.items():
        if mask_value(key, value) != value:
            raise BergError(
                ErrorCode.OPTION,
                f"The option '{key}' holds a secret, which the catalog store does not keep.",
                hint=f"Put it into the environment and write '{key}'='${{env:NAME}}'.",
            )
