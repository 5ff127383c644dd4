"""Fixtures that several unit tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tables import Tables


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """Tables in a warehouse of their own."""
    return Tables(tmp_path / "warehouse")
