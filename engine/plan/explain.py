"""EXPLAIN: a plan as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.table.predicate import AlwaysTrue

if TYPE_CHECKING:
    from bergsql.engine.plan.query import PlannedScan, QueryPlan


def explain_lines(plan: QueryPlan) -> list[str]:
    """What the plan gives and which files it reads, indented."""
    lines = ["Query", f"  columns: {', '.join(c.name for c in plan.columns)}"]
    for scan in plan.scans:
        lines += _scan_lines(scan)
    return lines


def _scan_lines(planned: PlannedScan) -> list[str]:
    files = planned.scan.plan
    lines = [f"  Scan {planned.table}"]
    snapshot = planned.snapshot_id
    lines.append(f"    snapshot: {snapshot if snapshot is not None else 'none'}")
    lines.append(f"    columns: {', '.join(planned.columns)}")
    if not isinstance(planned.predicate, AlwaysTrue):
        lines.append(f"    pushed down: {planned.predicate}")
    lines.append(f"    manifests: {files.manifests_kept} of {files.manifests_total}")
    lines.append(f"    files: {files.files_kept} of {files.files_total}, {size_text(files.bytes_kept)}")
    if files.delete_files:
        lines.append(f"    delete files: {files.delete_files}")
    return lines


def size_text(count: int) -> str:
    """A number of bytes as a person reads it.

    >>> [size_text(n) for n in (0, 1023, 1536, 5 * 2**30)]
    ['0 bytes', '1023 bytes', '1.5 KiB', '5.0 GiB']
    """
    if count < 1024:
        return f"{count} bytes"
    size = float(count)
    units = ["KiB", "MiB", "GiB", "TiB"]
    size /= 1024
    while size >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.1f} {units[0]}"
