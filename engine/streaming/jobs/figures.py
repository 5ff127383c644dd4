"""What is counted of a job, as a person reads it (DESCRIBE JOB) and as Prometheus does (``metrics.prom``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK

if TYPE_CHECKING:
    from bergsql.engine.streaming.jobs.registry import Job

_COUNTERS: Final = frozenset({"rows_in", "rows_out", "rows_skipped", "checkpoints", "late_rows"})
"""Figures that only grow: Prometheus has their names end in ``_total``."""
_STATES: Final = ("INITIALIZING", "RUNNING", "RESTARTING", "FINISHED", "FAILED", "CANCELED", "STOPPED", "SUSPENDED")


# --- for a person -----------------------------------------------------------------------------------------------------


def rows(job: Job, at: Callable[[int], str]) -> Iterator[tuple[str, str | None]]:
    """What there is to tell of a job, by name; ``at`` writes a time, given in milliseconds since 1970."""
    status = job.status
    yield "id", job.id
    if job.identity != job.id:
        yield "identity", job.identity
    yield "name", job.name
    yield "state", job.state.value
    running = not job.state.final
    yield "pid", str(status.pid) if running else None
    yield "start time", at(status.started or job.submitted)
    yield "end time", at(status.ended) if status.ended else None
    yield "uptime", duration(_now() - status.started) if running and status.started else None
    yield "restarts", str(status.restarts)
    metrics = dict(status.metrics)
    for key, name, write in _SHOWN:
        value = metrics.pop(key, None)
        yield name, None if value is None else write(value)
    for key, value in metrics.items():
        yield from _others(key.replace("_", " "), value)
    yield "last error", status.error["message"] if status.error is not None else None  # type: ignore[misc]
    yield "savepoint", status.savepoint
    yield "log", str(job.log)
    yield "output", str(job.output)
    yield "metrics", str(job.directory / "metrics.prom")


def _others(name: str, value: object) -> Iterator[tuple[str, str | None]]:
    """Figures of parts, each on a row of its own: ``aggregate-1: rows in``."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            inner = str(key).replace("_", " ")
            yield from _others(f"{name}: {inner}" if name != "operators" else inner, each)
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value)) or None
    else:
        yield name, None if value is None else str(value)


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def duration(milliseconds: float) -> str:
    """A time as a person says it: ``1 d 2 h 3 min``, ``4.2 s``, ``5 ms``."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes = int(milliseconds // 60_000)
    days, minutes = divmod(minutes, 1440)
    hours, minutes = divmod(minutes, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    return " ".join(f"{n} {unit}" for n, unit in parts if n)


def size(count: float) -> str:
    """Bytes as a person says them: ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _watermark(value: int) -> str:
    if value <= NO_WATERMARK:
        return "none yet"
    if value >= END_OF_TIME:
        return "the end of time"
    try:
        moment = datetime.fromtimestamp(value / 1_000_000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{value} µs"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"


def _percent(value: float) -> str:
    return f"{value:.0%}"


_SHOWN: Final[tuple[tuple[str, str, Callable[[Any], str]], ...]] = (
    ("checkpoints", "checkpoints", str),
    ("last_checkpoint_ms", "last checkpoint took", duration),
    ("rows_in", "rows in", str),
    ("rows_out", "rows out", str),
    ("rows_skipped", "rows skipped", str),
    ("lag_ms", "lag", duration),
    ("watermark", "watermark", _watermark),
    ("idle_sources", "idle sources", _listed),
    ("busy_ratio", "backpressure", _percent),
    ("state_bytes", "state size", size),
)
"""The figures that every job has: their keys, their names, and how they are written."""


# --- for Prometheus ---------------------------------------------------------------------------------------------------


def prometheus(job: Job, state: str) -> str:
    """The figures of a job in Prometheus's text format: ``bergsql_job_rows_in_total{job="…",name="…"} 5``."""
    labels = f'job="{job.id}",name="{_label(job.name)}"'
    status = job.status
    lines = ["# TYPE bergsql_job_state gauge"]
    lines += [f'bergsql_job_state{{{labels},state="{each}"}} {int(each == state)}' for each in _STATES]
    lines += _metric("restarts", status.restarts, labels, counter=True)
    lines += _metric("start_time_seconds", status.started / 1000, labels)
    for key, value in status.metrics.items():
        if key == "watermark" and isinstance(value, int):
            if NO_WATERMARK < value < END_OF_TIME:
                lines += _metric("watermark_seconds", value / 1_000_000, labels)
        elif isinstance(value, int | float):
            lines += _metric(key, value, labels, counter=key in _COUNTERS)
        elif isinstance(value, list | tuple):
            lines += _metric(key, len(value), labels)
    lines += _of_operators(status.metrics.get("operators"), labels)
    return "\n".join(lines) + "\n"


def _of_operators(operators: object, labels: str) -> Iterator[str]:
    """Their figures, by name: those of one name stand together, as the format wants."""
    if not isinstance(operators, Mapping):
        return
    by_key: dict[str, list[str]] = {}
    for uid, figures in operators.items():
        if not isinstance(figures, Mapping):
            continue
        for key, value in figures.items():
            if isinstance(value, int | float):
                name = f"bergsql_job_operator_{_name(key)}"
                by_key.setdefault(name, []).append(f'{name}{{{labels},operator="{_label(uid)}"}} {_number(value)}')
    for name, lines in by_key.items():
        yield f"# TYPE {name} gauge"
        yield from lines


def _metric(key: str, value: float, labels: str, *, counter: bool = False) -> list[str]:
    name = f"bergsql_job_{_name(key)}" + ("_total" if counter else "")
    return [f"# TYPE {name} {'counter' if counter else 'gauge'}", f"{name}{{{labels}}} {_number(value)}"]


def _name(key: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in key)


def _label(text: str) -> str:
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _now() -> int:
    return round(time.time() * 1000)
