"""Collects ``*.test`` files: one test a file (the format is told in ``tests/sqltest.py``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sqltest import differences
from tests.support.berg import fresh_berg


class Differences(Exception):
    """A file whose statements print something else than it says."""


class SqlItem(pytest.Item):
    def runtest(self) -> None:
        with fresh_berg() as berg:
            if lines := differences(self.path, berg):
                raise Differences("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # noqa: ARG002
        if isinstance(excinfo.value, Differences):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class SqlFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield SqlItem.from_parent(self, name=self.path.stem)


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    if file_path.suffix == ".test":
        return SqlFile.from_parent(parent, path=file_path)
    return None
