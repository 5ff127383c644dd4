"""The two flavours of SQL that a statement can have."""

from __future__ import annotations

from enum import StrEnum


class Flavour(StrEnum):
    """Whose rules a statement follows where Flink SQL and Spark SQL differ (docs/flavours.md lists every rule)."""

    FLINK = "flink"
    SPARK = "spark"
