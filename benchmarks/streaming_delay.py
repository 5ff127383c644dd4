"""How long a row takes through a job, and what a job costs that has nothing to do.

    python benchmarks/streaming_delay.py [--commits N] [--idle SECONDS]

A job reads an Iceberg table as a stream, monitor-interval 100 ms, and prints. Another session commits rows, one a commit;
the delay is from the moment at which INSERT returns to that at which the row stands in the job's output. The goal: the
99th percentile is the monitor interval and 300 ms at most. Then the job idles: its resident memory, 160 MiB at most, and its
share of a core, 1 % at most.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.registry import job as job_of

INTERVAL_MS = 100
MOST_MS = INTERVAL_MS + 300
MOST_MIB = 160
MOST_CORE = 0.01
PATIENCE = 30.0
"""Seconds after which a row is taken to be lost."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--idle", type=float, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        session = Session(SessionConfig(home=Path(directory)))
        try:
            return measured(session, asked.commits, asked.idle)
        finally:
            session.close()


def measured(session: Session, commits: int, seconds: float) -> int:
    session.execute("SET 'execution.checkpointing.interval' = '1s'")
    session.execute("CREATE TABLE t (id BIGINT)")
    session.execute("CREATE TABLE p (id BIGINT) WITH ('connector'='print')")
    hint = f"/*+ OPTIONS('streaming'='true', 'monitor-interval'='{INTERVAL_MS}ms') */"
    session.execute(f"INSERT INTO p SELECT id FROM t {hint}")
    ((job_id, *_),) = list(session.execute("SHOW JOBS").rows())
    job = job_of(session.home, str(job_id))
    try:
        delays = sorted(delay(session, job.output, number) for number in range(commits))
        p99 = delays[min(len(delays) - 1, int(len(delays) * 0.99))]
        print(f"delay    median {delays[len(delays) // 2]:6.0f} ms   p99 {p99:6.0f} ms   {verdict(p99, MOST_MS)} ms")
        process = psutil.Process(int(str(job.status.pid)))
        memory, core = idle(process, seconds)
        print(f"idle     {memory:6.0f} MiB   {verdict(memory, MOST_MIB)} MiB")
        print(f"idle     {core:6.2%} of a core   {verdict(core, MOST_CORE)}")
    finally:
        session.execute(f"STOP JOB '{job_id}'")
    return int(p99 > MOST_MS or memory > MOST_MIB or core > MOST_CORE)


def delay(session: Session, output: Path, number: int) -> float:
    """Milliseconds from a commit to its row in the output."""
    time.sleep(INTERVAL_MS / 1000 * (number % 7) / 7)  # commits at all moments of the interval
    session.execute(f"INSERT INTO t VALUES ({number})")
    committed = time.monotonic()
    line = f"+I[{number}]"
    while line not in output.read_text(encoding="utf-8").splitlines():
        if time.monotonic() - committed > PATIENCE:
            raise TimeoutError(f"{line} never came")
        time.sleep(0.002)
    return (time.monotonic() - committed) * 1000


def idle(process: psutil.Process, seconds: float) -> tuple[float, float]:
    """Resident MiB of a process, and its share of a core while nothing comes."""
    time.sleep(3)
    before = process.cpu_times()
    time.sleep(seconds)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return process.memory_info().rss / 2**20, used / seconds


def verdict(found: float, most: float) -> str:
    return f"{'met' if found <= most else 'MISSED'}: goal {most:g}"


if __name__ == "__main__":
    sys.exit(main())
