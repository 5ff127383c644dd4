"""Spark's statements on statistics and on copies in memory, of which there are none: each says what holds instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.definitions import find
from bergsql.engine.names import listed_database, load
from bergsql.engine.plan.explain import size_text
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st

if TYPE_CHECKING:
    from bergsql.engine.session import Session

_KEPT = "Iceberg keeps statistics with every file: there was nothing to compute."


def analyze(session: Session, statement: st.AnalyzeTable) -> Result:
    """``ANALYZE TABLE t COMPUTE STATISTICS``: what its metadata says already."""
    name, table = load(session, statement.name)
    snapshot = table.metadata.current_snapshot()
    summary = snapshot.summary if snapshot is not None else {}
    rows, files = summary.get("total-records", "0"), summary.get("total-data-files", "0")
    size = size_text(int(summary.get("total-files-size", "0")))
    return ok(f"{name}: {rows} row(s) in {files} file(s), {size}. {_KEPT}")


def analyze_all(session: Session, statement: st.AnalyzeTables) -> Result:
    """``ANALYZE TABLES [IN database] COMPUTE STATISTICS``."""
    listed_database(session, statement.database)
    return ok(_KEPT)


def refresh(session: Session, statement: st.RefreshTable) -> Result:
    """``REFRESH TABLE t``: a table is read as it is now anyway."""
    _check(session, statement.name)
    return ok()


def repair(session: Session, statement: st.RepairTable) -> Result:
    """``REPAIR TABLE t``: refused, as its purpose cannot be served.

    :raises BergError: always.
    """
    _check(session, statement.name)
    raise BergError(
        ErrorCode.INVALID,
        "An Iceberg table cannot be repaired from its directories: its metadata lists its files.",
        span=statement.span,
    )


def cache(session: Session, statement: st.CacheTable) -> Result:
    """``CACHE TABLE t``, ``UNCACHE TABLE t``: nothing is copied, and results are the same."""
    if statement.if_exists:
        try:
            _check(session, statement.name)
        except BergError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
        return ok()
    _check(session, statement.name)
    if statement.verb == "UNCACHE":
        return ok()
    return ok(f"No copy is kept in memory: {statement.name} is read from its files, as it is at each query.")


def clear(_session: Session, _statement: st.ClearCache) -> Result:
    """``CLEAR CACHE``: there is none."""
    return ok()


def _check(session: Session, name: st.Name) -> None:
    """Refuse a name that leads to no table or view."""
    if find(session, name.parts, name.span) is None:
        load(session, name)
