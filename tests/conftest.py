"""Fixtures for the tests that run the real command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.berg import Berg, fresh_berg


@pytest.fixture
def berg() -> Iterator[Berg]:
    """A bergsql with empty home and warehouse."""
    with fresh_berg() as fresh:
        yield fresh
