"""The version of what runs."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """The installed version of bergsql; ``unknown`` when it runs without being installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("bergsql")
    except PackageNotFoundError:
        return "unknown"
