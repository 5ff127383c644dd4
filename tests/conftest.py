"""Fixtures for the tests that run the real command line, and how tests are dealt to several workers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.berg import Berg, fresh_berg

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["tests.support.services.fixtures"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a job that a script started in the background; tests press Ctrl-C and wait for what it does.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # so it is below nohup; tests close the terminal

ONE_BY_ONE = (
    "tests/crash/",
    "tests/scenarios/test_flink_tour.py",
    "tests/scenarios/test_local_pipelines.py",
    "tests/scenarios/test_spark_tour.py",
    "tests/streaming/test_exactly_once",
    "tests/streaming/test_jobs.py",
)
"""Tests that take long and share nothing: any worker may take any of them."""
ONE_SPARK = "tests/interop/"
ALONE = "tests/interop/test_reference_tables.py"


@pytest.fixture
def berg() -> Iterator[Berg]:
    """A bergsql with empty home and warehouse."""
    with fresh_berg() as fresh:
        yield fresh


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """One worker for all that needs the real Spark, which is started once; the rest goes by files."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(ONE_BY_ONE):
                return nodeid
            if nodeid.startswith(ONE_SPARK) and not nodeid.startswith(ALONE):
                return ONE_SPARK
            return nodeid.partition("::")[0]

    return Scheduling(config, log)
