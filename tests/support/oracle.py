"""Comparing rows with what a real engine gave (values as ``oracle/README.md`` writes them)."""

from __future__ import annotations

import json
from collections.abc import Iterable


def comparable(value: object) -> object:
    """The value with whole floats as ints (JSON tells 1.0 and 1 apart, SQL does not) and maps in one order."""
    if isinstance(value, float) and value == int(value) and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [comparable(v) for v in value]
    if isinstance(value, dict) and value.keys() == {"$map"}:
        return {"$map": sorted((comparable(pair) for pair in value["$map"]), key=json.dumps)}
    if isinstance(value, dict):
        return {k: comparable(v) for k, v in value.items()}
    return value


def as_multiset(rows: Iterable[object]) -> list[str]:
    """The rows as sorted JSON texts: equal lists mean equal rows in whatever order."""
    return sorted(json.dumps(comparable(row), ensure_ascii=False, sort_keys=True) for row in rows)


def in_order(rows: Iterable[object]) -> list[str]:
    """The rows as JSON texts, for a query that orders them."""
    return [json.dumps(comparable(row), ensure_ascii=False, sort_keys=True) for row in rows]
