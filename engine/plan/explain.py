"""EXPLAIN: a plan as lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.delete_index import distinct
from bergsql.engine.table.predicate import AlwaysTrue

if TYPE_CHECKING:
    from bergsql.engine.plan.query import PlannedScan, QueryPlan
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.planning import FilePlan


def explain_lines(plan: QueryPlan) -> list[str]:
    """What the plan gives and which files it reads, indented."""
    lines = ["Query", f"  columns: {', '.join(c.name for c in plan.columns)}"]
    for scan in plan.scans:
        lines += _scan_lines(scan)
    lines += [f"  Read {source}" for source in plan.sources]
    return lines


def cost_lines(plan: QueryPlan) -> list[str]:
    """What the plan has to read: rows are those of the files, before filters and deletes."""
    files = sum(s.scan.plan.files_kept for s in plan.scans)
    size = sum(s.scan.plan.bytes_kept for s in plan.scans)
    return [f"  estimated cost: {sum(map(_rows, plan.scans))} rows in {files} files, {size_text(size)}"]


def _rows(planned: PlannedScan) -> int:
    return sum(task.data_file.record_count for task in planned.scan.plan.tasks)


def json_plan(plan: QueryPlan, sink: str | None) -> str:
    """The plan in the form of Flink's JSON: nodes, each with those that it reads from."""
    import json

    nodes: list[dict[str, object]] = [
        {
            "id": number,
            "type": f"Source: {scan.table}",
            "pact": "Data Source",
            "contents": "; ".join(line.strip() for line in _scan_lines(scan)[1:]),
            "rows": _rows(scan),
            "files": scan.scan.plan.files_kept,
            "filesTotal": scan.scan.plan.files_total,
            "manifests": scan.scan.plan.manifests_kept,
            "manifestsTotal": scan.scan.plan.manifests_total,
            "deleteFiles": scan.scan.plan.delete_files,
            "prunedBy": dict(_pruned_by(scan.scan.plan)),
        }
        for number, scan in enumerate(plan.scans, 1)
    ]
    sources = [{"id": node["id"]} for node in nodes]
    query = len(nodes) + 1
    columns = ", ".join(c.name for c in plan.columns)
    nodes.append(
        {"id": query, "type": "Query", "pact": "Operator", "contents": f"columns: {columns}", "predecessors": sources}
    )
    if sink is not None:
        node = {"type": f"Sink: {sink}", "pact": "Data Sink", "contents": sink, "predecessors": [{"id": query}]}
        nodes.append({"id": query + 1, **node})
    return json.dumps({"nodes": nodes}, indent=2, ensure_ascii=False)


def _scan_lines(planned: PlannedScan) -> list[str]:
    files = planned.scan.plan
    lines = [f"  Scan {planned.table}"]
    snapshot = planned.snapshot_id
    state = f" ({planned.state})" if planned.state else ""
    lines.append(f"    snapshot: {snapshot if snapshot is not None else 'none'}{state}")
    if planned.answers:
        less = f", less the rows of {files.delete_files} delete files" if files.delete_files else ""
        lines.append(f"    answered from metadata: {', '.join(planned.answers)}{less}")
    elif planned.columns:
        lines.append(f"    columns: {', '.join(planned.columns)}")
    if not isinstance(planned.predicate, AlwaysTrue):
        lines.append(f"    pushed down: {_cut(str(planned.predicate))}")
    if planned.limit is not None:
        lines.append(f"    limit: {planned.limit}")
    if planned.of_metadata:
        return lines
    lines.append(f"    manifests: {files.manifests_kept} of {files.manifests_total}")
    lines.append(f"    files: {files.files_kept} of {files.files_total}, {size_text(files.bytes_kept)}")
    pruned = _pruned_by(files)
    if pruned:
        lines.append(f"    pruned by: {', '.join(f'{rule} ({count})' for rule, count in pruned)}")
    return lines + _delete_lines(files)


_LONGEST = 1000


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _pruned_by(files: FilePlan) -> tuple[tuple[str, int], ...]:
    """How many files each rule left out."""
    return tuple((rule, count) for rule, count in files.pruned_by if count)


def _delete_lines(files: FilePlan) -> list[str]:
    """The delete files that apply, and how the rows that they name are left out."""
    applied = [d.data_file for d in distinct(t.deletes for t in files.tasks)]
    if not applied:
        return []
    kinds = Counter(map(_delete_kind, applied))
    size = sum(f.content_size or f.file_size for f in applied)
    shown = ", ".join(f"{kinds[kind]} {kind}" for kind in _HOW if kind in kinds)
    touched = sum(1 for t in files.tasks if t.deletes)
    ways = dict.fromkeys(_HOW[kind] for kind in _HOW if kind in kinds)
    return [
        f"    delete files: {len(applied)}, {size_text(size)} ({shown})",
        f"    files with deletes: {touched} of {files.files_kept}, rows left out {' and '.join(ways)}",
    ]


_HOW = {"deletion vector": "by position", "position": "by position", "equality": "by key"}


def _delete_kind(file: DataFile) -> str:
    if file.content == FileContent.EQUALITY_DELETES:
        return "equality"
    return "deletion vector" if file.format == "PUFFIN" else "position"


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
