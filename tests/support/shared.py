"""Where the reference material lies: scenarios, oracles, recipes."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""


def shared(*parts: str) -> Path:
    """A path below the shared folder: ``$BERGSQL_SHARED``, else the folder ``shared`` beside the checkout."""
    folder = Path(os.environ.get("BERGSQL_SHARED") or ROOT.parent / "shared")
    path = folder.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"{path}: set BERGSQL_SHARED to the folder that holds scenarios/, oracle/ and recipes/")
    return path
