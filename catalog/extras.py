"""What is installed only by who asks for it: packages behind an extra, as ``pip install 'bergsql[kafka]'``."""

from __future__ import annotations

from importlib.util import find_spec

from bergsql.catalog.errors import BergError, ErrorCode


def need(what: str, extra: str, *modules: str) -> None:
    """Refuse ``what`` ("Connector 'kafka'") where one of the modules that it is built on is not installed.

    Nothing is imported.

    :raises BergError: CONFIG, with what to install.
    """
    for module in modules:
        if find_spec(module) is None:
            raise BergError(
                ErrorCode.CONFIG,
                f"{what} needs packages that are not installed ({module}).",
                hint=f"pip install 'bergsql[{extra}]' installs them.",
            )
