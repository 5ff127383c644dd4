"""Fixtures for the tests of streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.berg import Berg
from tests.support.jobs import Jobs, jobs_of


@pytest.fixture
def jobs(berg: Berg) -> Iterator[Jobs]:
    """The jobs of ``berg``."""
    with jobs_of(berg) as found:
        yield found
