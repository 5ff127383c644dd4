"""MERGE, DELETE and UPDATE of 20 million rows in 20 files, beside the real Spark and DuckDB alone, in the same run.

    python benchmarks/row_level.py KIT WAREHOUSE [--runs N] [--spark-runs N] [--only TEXT] [--memory-limit SIZE]

KIT is a folder with ``make_tables.py`` and ``kitlib.py``, whose tables ``clean`` and ``src`` are in the Hadoop catalog
WAREHOUSE, where they are only read: tables made of their files are cloned into a folder of our own. KIT_ENV names the
kit's settings. Each side is a process of its own that is started before anything is measured; each statement is run on
a fresh clone, by turns, and the least of the runs counts. DuckDB's part is to join (or filter) the same files and to
COPY the rows, which is what copy-on-write must do at least.

Prints seconds on the clock, of CPU, and the peak of memory (VmHWM); then the goals. Once measured, on two cores that
nothing else used (seconds on the clock, of CPU, and MiB at the peak; with ``--memory-limit 512``, one run of each):

| | bergsql | DuckDB | Spark |
| --- | --- | --- | --- |
| MERGE copy-on-write | 5.8, 10.7, 619 | 4.8, 9.1 | 35.7, 68.9, 4264 |
| MERGE merge-on-read | 0.72, 1.1, 268 | | 13.2, 24.6, 4082 |
| DELETE copy-on-write | 5.0, 9.5, 621 | 5.0, 9.5 | 20.0, 33.8, 4605 |
| DELETE merge-on-read | 0.22, 0.38, 230 | | 1.3, 2.1, 1412 |
| UPDATE copy-on-write | 5.4, 10.2, 646 | 4.4, 8.3 | 19.4, 32.5, 1717 |
| UPDATE merge-on-read | 0.73, 1.3, 307 | | 1.9, 3.0, 1270 |
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MERGED = 50_000
"""How many rows of the source match, and how many do not."""
MERGE = (
    "MERGE INTO {b}.{t} AS t USING {b}.src AS s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v, name = s.name WHEN NOT MATCHED THEN INSERT *"
)
STATEMENTS = {
    "MERGE": ("dml_merge", MERGE),
    "DELETE": ("dml_delete", "DELETE FROM {b}.{t} WHERE id % 100 = 13"),
    "UPDATE": ("dml_delete", "UPDATE {b}.{t} SET v = -v, name = 'changed' WHERE id % 100 = 13"),
}
MODES = {"cow": "copy-on-write", "mor": "merge-on-read"}
COLUMNS = ("id", "cat", "v", "price", "qty", "ts", "name", "flag")
FLOOR = {
    "MERGE": "SELECT {merged} FROM {clean} AS t FULL JOIN {src} AS s ON t.id = s.id",
    "DELETE": "SELECT * FROM {clean} WHERE NOT id % 100 = 13",
    "UPDATE": "SELECT * REPLACE (CASE WHEN id % 100 = 13 THEN -v ELSE v END AS v, "
    "CASE WHEN id % 100 = 13 THEN 'changed' ELSE name END AS name) FROM {clean}",
}
CHECK = "SELECT count(*), sum(v), count(CASE WHEN name IN ('merged', 'changed') THEN 1 END) FROM {b}.{t}"
TIMES_FASTER = {("MERGE", "cow"): 3, ("MERGE", "mor"): 8, ("DELETE", "cow"): 3, ("DELETE", "mor"): 4}
TIMES_FASTER |= {("UPDATE", mode): TIMES_FASTER["DELETE", mode] for mode in MODES}
MOST_OF_FLOOR = 1.3
LESS_THAN_REWRITING = 5
MORE_THAN_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Run:
    """What a statement cost: seconds, seconds of CPU, MiB at the peak."""

    wall: float
    cpu: float
    peak: float

    @staticmethod
    def least(runs: list[Run]) -> Run:
        """The least time; the highest peak."""
        return Run(min(r.wall for r in runs), min(r.cpu for r in runs), max(r.peak for r in runs))


# -- the sides, each in a process of its own ---------------------------------------------------------------------------


def serve(side: str, kit: str, *given: str) -> None:
    """Run the statements that come in a line each; tell in a line what each cost and gave."""
    sys.path.insert(0, kit)
    import kitlib  # type: ignore[import-not-found, unused-ignore]

    answers = sys.stdout
    sys.stdout = sys.stderr
    pids: tuple[int, ...] = ()
    run: Callable[[str], list[list[Any]]]
    if side == "spark":
        session, pid = kitlib.spark_session({"spark.sql.catalog.h.cache-enabled": "false"})
        pids, run = (pid,), lambda sql: [list(row) for row in session.sql(sql).collect()]
        run("SELECT 1")
    else:
        run = bergsql(*given) if side == "bergsql" else duckdb_alone()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        kitlib.reset_hwm(pids)
        wall, cpu = time.perf_counter(), kitlib.cpu(pids)
        rows = run(json.loads(line))
        cost = time.perf_counter() - wall, kitlib.cpu(pids) - cpu, kitlib.hwm_mb(pids)
        print(json.dumps([cost, rows], default=str), file=answers, flush=True)


def bergsql(warehouse: str, memory_limit: str) -> Callable[[str], list[list[Any]]]:
    """An open session of ours."""
    from bergsql.engine.session import Session, SessionConfig

    session = Session(SessionConfig(home=Path(tempfile.mkdtemp(dir=warehouse))))

    def run(sql: str) -> list[list[Any]]:
        return [list(row) for row in session.execute(sql).rows()]

    run("SET 'sql.dialect' = 'spark'")
    run(f"SET engine.memory-limit = {memory_limit}")
    run(f"CREATE CATALOG h WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{warehouse}')")
    return run


def duckdb_alone() -> Callable[[str], list[list[Any]]]:
    import duckdb

    connection = duckdb.connect()
    return lambda sql: [list(row) for row in connection.execute(sql).fetchall()]


class Side:
    """A process that runs statements."""

    def __init__(self, python: str, *arguments: str) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or python == sys.executable}
        self._process = subprocess.Popen(
            [python, __file__, "--serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if arguments[0] == "bergsql" else subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"A side ended: {self._process.args!r}")
        return line

    def run(self, sql: str) -> tuple[Run, list[list[Any]]]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()
        cost, rows = json.loads(self._line())
        return Run(*cost), rows

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


# -- the tables --------------------------------------------------------------------------------------------------------


class Clones:
    """Tables of a folder of our own, whose manifests name the files of the kit's."""

    def __init__(self, kit: Path, warehouse: Path, own: Path) -> None:
        self.kit, self.warehouse, self.own = kit, warehouse, own
        self._kept = own / "kept"
        if not self._kept.exists():
            self._make()

    def _make(self) -> None:
        (self.own / "b").mkdir(parents=True)
        for table in ("clean", "src"):
            (self.own / "b" / table).symlink_to(self.warehouse / "b" / table)
        environment = {**os.environ, "KIT_WH": str(self.own)}
        subprocess.run([sys.executable, self.kit / "make_tables.py", "dml"], env=environment, check=True)
        self._kept.mkdir()
        for table in {f"{name}_{mode}" for name, _ in STATEMENTS.values() for mode in MODES}:
            shutil.copytree(self.own / "b" / table, self._kept / table)

    def restore(self, table: str) -> None:
        """The table as it was cloned."""
        shutil.rmtree(self.own / "b" / table)
        shutil.copytree(self._kept / table, self.own / "b" / table)

    def files(self, table: str) -> str:
        """What DuckDB reads the table's files with."""
        names = sorted(str(path) for path in (self.warehouse / "b" / table / "data").glob("*.parquet"))
        return f"read_parquet({names})"


# -- the run -----------------------------------------------------------------------------------------------------------


def floor_sql(kind: str, clones: Clones, target: Path) -> str:
    """What DuckDB does: the same rows, written to files of the same codec."""
    merged = ", ".join(
        f"CASE WHEN t.id IS NULL THEN s.{c} WHEN s.id IS NULL THEN t.{c} ELSE {'s' if c in ('v', 'name') else 't'}.{c} "
        f"END AS {c}"
        for c in COLUMNS
    )
    sql = FLOOR[kind].format(merged=merged, clean=clones.files("clean"), src=clones.files("src"))
    return f"COPY ({sql}) TO '{target}' (FORMAT parquet, COMPRESSION zstd, FILE_SIZE_BYTES {512 << 20})"


def measured(
    kind: str, mode: str, clones: Clones, sides: Mapping[str, Side], runs: Mapping[str, int]
) -> dict[str, list[Run]]:
    """The runs of one statement, by turns. Whoever writes other rows than DuckDB would ends all of it."""
    name, statement = STATEMENTS[kind]
    table = f"{name}_{mode}"
    found: dict[str, list[Run]] = {}
    checked: dict[str, list[list[Any]]] = {}
    for turn in range(max(runs.values())):
        for side, process in sides.items():
            if turn >= runs[side] or (side == "duckdb" and mode == "mor"):
                continue
            if side == "duckdb":
                with tempfile.TemporaryDirectory(dir=clones.own) as place:
                    found.setdefault(side, []).append(process.run(floor_sql(kind, clones, Path(place) / "out"))[0])
                continue
            clones.restore(table)
            found.setdefault(side, []).append(process.run(statement.format(b="h.b", t=table))[0])
            checked[side] = process.run(CHECK.format(b="h.b", t=table))[1]
    if any(rows != next(iter(checked.values())) for rows in checked.values()):
        raise SystemExit(f"{kind} {mode}: the rows differ: {checked}")
    return found


def goals(found: Mapping[tuple[str, str], Mapping[str, Run]], limit: float) -> Iterator[tuple[str, float, float, bool]]:
    """What each goal is called, what was reached on the clock, what is asked, and whether less is better."""
    for (kind, mode), sides in found.items():
        name, ours = f"{kind} {MODES[mode]}", sides["bergsql"]
        if "duckdb" in sides and kind == "MERGE":
            yield f"{name}: of DuckDB's time", ours.wall / sides["duckdb"].wall, MOST_OF_FLOOR, True
            yield f"{name}: of DuckDB's CPU", ours.cpu / sides["duckdb"].cpu, MOST_OF_FLOOR, True
        if "spark" in sides:
            yield f"{name}: times faster than Spark", sides["spark"].wall / ours.wall, TIMES_FASTER[kind, mode], False
            if kind == "MERGE":
                yield f"{name}: of Spark's memory", ours.peak / sides["spark"].peak, 0.25, True
        yield f"{name}: MiB", ours.peak, limit + MORE_THAN_LIMIT, True
        if mode == "mor" and kind != "MERGE" and (kind, "cow") in found:
            rewriting = found[kind, "cow"]["bergsql"]
            yield f"{name}: times faster than copy-on-write", rewriting.wall / ours.wall, LESS_THAN_REWRITING, False


def main() -> int:
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kit", type=Path)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--spark-runs", type=int, default=1, help="0: without Spark")
    parser.add_argument("--only", default="", help="the statements that hold this text, as 'MERGE cow'")
    parser.add_argument("--memory-limit", type=int, default=512, metavar="MIB")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="clone into it, or use the clones there")
    given = parser.parse_args()
    pythons = json.loads(Path(os.environ.get("KIT_ENV", given.kit / "env.json")).read_text(encoding="utf-8"))["python"]
    own = (given.keep or Path(tempfile.mkdtemp(prefix="row_level"))).absolute()
    clones = Clones(given.kit, given.warehouse, own)
    os.environ["KIT_WH"] = str(own)
    runs = {"duckdb": given.runs, "bergsql": given.runs, "spark": given.spark_runs}
    kit = str(given.kit)
    sides = {
        "duckdb": Side(sys.executable, "duckdb", kit),
        "bergsql": Side(sys.executable, "bergsql", kit, str(own), f"{given.memory_limit}MiB"),
        **({"spark": Side(pythons["spark"], "spark", kit)} if given.spark_runs else {}),
    }
    found: dict[tuple[str, str], dict[str, Run]] = {}
    print(f"{'':<22} {'':<8} {'clock':>8} {'CPU':>8} {'MiB':>6}")
    for kind in STATEMENTS:
        for mode in MODES:
            if given.only not in f"{kind} {mode}":
                continue
            costs = measured(kind, mode, clones, sides, runs)
            found[kind, mode] = {side: Run.least(all_) for side, all_ in costs.items()}
            for side, run in found[kind, mode].items():
                print(f"{kind} {MODES[mode]:<14}  {side:<8} {run.wall:8.2f} {run.cpu:8.2f} {run.peak:6.0f}", flush=True)
    for side_process in sides.values():
        side_process.end()
    if given.keep is None:
        shutil.rmtree(own)
    reached = True
    for name, ratio, goal, less in goals(found, given.memory_limit):
        met = ratio <= goal if less else ratio >= goal
        reached &= met
        print(f"{name:<52} {ratio:8.2f}   goal {'≤' if less else '≥'} {goal:g}: {'met' if met else 'MISSED'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
