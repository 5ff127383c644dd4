"""Runs a plan: rounds of poll, compute and write, and checkpoints between them.

A round polls every source once, carries out the nodes in order on what came, and writes what comes out. What it made in
DuckDB is dropped behind it; what operators keep is in the store's open transaction, which a checkpoint ends. After an
error the runner is of no use any more: what was not checkpointed is undone, and a new one goes on from the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import duckdb
from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK, OP, Batch, column
from bergsql.engine.streaming.checkpoint import Checkpoint, Checkpoints, commit
from bergsql.engine.streaming.metrics import Metrics
from bergsql.engine.streaming.mini_batch import MiniBatch
from bergsql.engine.streaming.nodes import CollectNode, Node, SinkNode, SourceNode
from bergsql.engine.streaming.operators.base import Flow, Operator
from bergsql.engine.streaming.waiting import Alarm
from bergsql.engine.streaming.watermark import Watermarks, idle_timeout
from bergsql.engine.streaming.workspace import OperatorPlace, SinkPlace, Workspace, memory_limit

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.duck import Duck
    from bergsql.engine.streaming.nodes import StreamPlan
    from bergsql.engine.streaming.sinks.base import Writer
    from bergsql.engine.streaming.sources.base import Reader
    from bergsql.engine.streaming.state.store import Store

INTERVAL_KEY: Final = "execution.checkpointing.interval"
INTERVAL: Final = "10 s"

_LONGEST_WAIT: Final = 1.0
"""Seconds: for what time alone brings to operators (``Operator.process``)."""

_CHANGED_SHARE: Final = 4
"""Of ``engine.memory-limit``, a quarter may be taken by state that was changed since a checkpoint: then one is made."""


class StopKind(Enum):
    """How :meth:`Runner.run` is asked to end."""

    CANCEL = "cancel"  # at once: what is behind the last checkpoint is undone
    CHECKPOINT = "checkpoint"  # with a checkpoint of all that was read
    DRAIN = "drain"  # as if the sources had ended: windows close, timers fire


class Runner:
    """A plan at work. For one thread; :meth:`interrupt` and :meth:`wake` may be called from others."""

    def __init__(
        self,
        plan: StreamPlan,
        duck: Duck,
        store: Store,
        *,
        job_id: str,
        setting: Callable[[str], str | None],
        time_zone: str,
        collect: Callable[[pa.Table], None] | None = None,
        note: Callable[[str], None],
    ) -> None:
        """
        :param store: of the job; a savepoint's copy for a job that starts from one.
        :param job_id: what sinks know the job by: the same over restarts, and with a savepoint's copy.
        :param setting: the value of a setting, None for its default.
        :param collect: takes the changes of a CollectNode: columns c0, c1, … and ``op``.
        """
        self._carry_out(plan)
        self._store = store
        self._setting = setting
        self._collect = collect
        self._job_id = job_id
        self._duck = duck
        self._time_zone = time_zone
        self._note = note
        self._readers: dict[str, Reader] = {}
        self._operators: dict[str, Operator] = {}
        self._writers: dict[str, Writer] = {}
        self._alarm = Alarm()
        self._interrupted = False
        self._wrote = False
        self._drained = False
        self._failed = False
        self._closed = False
        self._interval = _interval(setting)
        self._most_changed = memory_limit(setting) // _CHANGED_SHARE
        self._mini_batch = MiniBatch(setting)
        self._workspace: Workspace | None = None
        self._checkpoints = Checkpoints(store, self._readers, self._writers)
        self._watermarks: Watermarks
        self._due_at = 0.0

    def _carry_out(self, plan: StreamPlan) -> None:
        self._plan = plan
        self._nodes = plan.nodes()
        self._shared = _shared(self._nodes)
        self._metrics = Metrics([node.uid for node in self._nodes])

    def open(self) -> None:
        """Open sources, operators and sinks where the store's last checkpoint left them; roll that forward first.

        :raises BergError: where the plan does not fit the store, or something cannot be opened. Then :meth:`close`.
        """
        from bergsql.engine.streaming.kept_names import as_kept
        from bergsql.engine.streaming.operators import make_operator
        from bergsql.engine.streaming.recovery import check_job, check_plan, kept_nodes
        from bergsql.engine.streaming.signature import signature_of

        with self._guarded():
            self._workspace = workspace = Workspace(
                self._duck,
                job_id=self._job_id,
                directory=self._store.path.with_name("prepared"),
                setting=self._setting,
                time_zone=self._time_zone,
                note=self._note,
            )
            kept = kept_nodes(self._store)
            self._carry_out(as_kept(self._plan, kept))
            self._operators = {n.uid: make_operator(n) for n in self._nodes if _computes(n)}
            check_job(self._store, self._job_id)
            check_plan(self._store, self._nodes, self._operators, signature_of, self._setting)
            last = Checkpoint.last(self._store)
            for end in self._plan.ends:
                if isinstance(end, SinkNode):
                    restored = last.number if not kept or end.uid in kept else 0
                    self._writers[end.uid] = end.sink.writer(SinkPlace(workspace, end.uid), restored)
            if not last.is_committed(self._store):
                commit(self._writers, last)
            for node in self._nodes:
                if isinstance(node, SourceNode):
                    self._readers[node.uid] = node.source.reader(workspace, last.offsets.get(node.uid))
            self._checkpoints.begin(last)
            for uid, operator in self._operators.items():
                operator.open(OperatorPlace(workspace, self._store.scope(uid)))
            self._watermarks = Watermarks(self._nodes, last.watermarks, idle_timeout(self._setting))
            workspace.end_round()
        self._due_at = time.monotonic() + self._interval

    def round(self) -> bool:
        """Poll, compute, write. Gives whether anything came or went: if not, wait before the next.

        :raises KeyboardInterrupt: where it was interrupted. As after any error, what is not checkpointed is undone.
        """
        with self._guarded(), self._metrics.busy():
            if self._mini_batch.seconds:
                return self._walk({}, ended=False)
            came = self._poll()
            self._mini_batch.took(sum(table.rows or 0 for table in came.values()))
            return self._walk(came, ended=False)

    def wait_seconds(self) -> float:
        """How long nothing is to be done, after a round in which nothing happened."""
        held = self._mini_batch.seconds
        waits = [max(held, reader.wait) for reader in self._readers.values() if not reader.finished]
        return min([_LONGEST_WAIT, max(0.0, self._due_at - time.monotonic()), *waits])

    def wait(self) -> None:
        """Wait until there may be something to do, or somebody wakes or interrupts."""
        self._alarm.wait(self.wait_seconds())

    def wake(self) -> None:
        """End a wait. From any thread, and from a signal's handler."""
        self._alarm.ring()

    @property
    def finished(self) -> bool:
        """Whether nothing will come any more: the sources have ended, and the last round said so to all nodes."""
        return self._drained

    def due(self) -> bool:
        """Whether it is time for a checkpoint, or state that was changed takes too much memory to wait for that."""
        if self._held:
            return False
        return time.monotonic() >= self._due_at or self._store.changed_bytes() >= self._most_changed

    def checkpoint(self) -> int | None:
        """Make durable and visible what was done: the number of the checkpoint, None where there was nothing new.

        :raises BergError: as :meth:`round`.
        """
        with self._guarded(), self._metrics.busy():
            begun = time.monotonic()
            number = self._checkpoints.make(self._watermarks.kept(), wrote=self._wrote)
            self._wrote = False
            self._due_at = time.monotonic() + self._interval
            if number is not None:
                self._metrics.checkpointed(time.monotonic() - begun)
            return number

    def drain(self) -> None:
        """End as if the sources had: what waits for a time comes out, and is checkpointed."""
        if not self._drained and not self._held:
            with self._guarded():
                self._walk({}, ended=True)
        self.finish()

    def finish(self) -> None:
        """The last checkpoint, and a note that all sinks have it."""
        if self._held:
            self._undo()
            return
        self.checkpoint()
        with self._guarded():
            self._checkpoints.keep_note()

    @property
    def _held(self) -> bool:
        """Whether no checkpoint can be made now."""
        return any(reader.holds for reader in self._readers.values())

    def run(self, stop: Callable[[], StopKind | None]) -> None:
        """Run until the sources end or ``stop``, which is asked between rounds, says how to end."""
        while (kind := stop()) is None:
            moved = self.round()
            if self.finished:
                break
            if self.due():
                self.checkpoint()
            if not moved:
                self.wait()
        if kind is StopKind.DRAIN:
            self.drain()
        elif kind is not StopKind.CANCEL:
            self.finish()

    def metrics(self) -> dict[str, Any]:
        """Figures of the job: see :class:`~bergsql.engine.streaming.metrics.Metrics`."""
        return self._metrics.figures(
            self._readers, self._operators, self._watermarks, self._store, self._checkpoints.last.number
        )

    def interrupt(self) -> None:
        """Stop what runs, now: the round raises. From any thread, and from a signal's handler."""
        self._interrupted = True
        if self._workspace is not None:
            with suppress(Exception):  # it may be closed just now
                self._workspace.cursor.interrupt()
        self._alarm.ring()

    def close(self) -> None:
        """Undo what is not checkpointed and release everything but the store. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        self._undo()
        with suppress(Exception):  # what it says is found out again
            self._checkpoints.keep_note()
        opened: list[Reader | Operator | Writer] = [*self._readers.values(), *self._operators.values()]
        opened += self._writers.values()
        for each in opened:
            with suppress(Exception):  # the others are released all the same
                each.close()
        if self._workspace is not None:
            self._workspace.close()
        self._alarm.close()

    # What follows is one round.

    def _poll(self) -> dict[str, Batch]:
        """What the sources have, each as a table; they have given it: it is read no second time."""
        came: dict[str, Batch] = {}
        for uid, reader in self._readers.items():
            if reader.finished:
                continue
            self._check_interrupted()
            batch = reader.poll()
            if batch is None:
                continue
            assert self._workspace is not None
            try:
                table = self._workspace.table(batch)
            except duckdb.Error as error:
                from bergsql.engine.plan.duck_errors import from_duckdb_error

                raise reader.explained(from_duckdb_error(error)) from error
            if table.rows:
                came[uid] = table
        return came

    def _walk(self, came: dict[str, Batch], *, ended: bool) -> bool:
        """Carry out the nodes on what came. ``ended``: nothing will come any more."""
        assert self._workspace is not None
        now = round(time.time() * 1000)
        self._watermarks.note_sources({uid: uid in came for uid in self._readers}, now)
        flows: dict[str, Flow] = {}
        moved = bool(came)
        for node in self._nodes:
            self._check_interrupted()
            if isinstance(node, SourceNode):
                flow = Flow(came.get(node.uid), self._source_watermark(node.uid, ended))
            elif isinstance(node, SinkNode | CollectNode):
                flow = flows[node.inputs[0].uid]
                if flow.batch is not None:
                    moved = self._end(node, flow.batch) or moved
            else:
                flow = self._operators[node.uid].process(self._watermarks.inputs(node, flows), now)
                if flow.batch is not None and node.uid in self._shared:
                    flow = Flow(self._workspace.table(flow.batch), flow.watermark)
            flows[node.uid] = self._watermarks.advance(node, flow)
            if not isinstance(node, SinkNode | CollectNode):
                self._metrics.passed(node.uid, flow.batch)
        self._workspace.end_round()
        self._drained = ended or all(reader.finished for reader in self._readers.values())
        return moved

    def _source_watermark(self, uid: str, ended: bool) -> int:
        reader = self._readers[uid]
        if ended or reader.finished:
            return END_OF_TIME
        watermark = reader.watermark
        return NO_WATERMARK if watermark is None else watermark

    def _end(self, node: Node, batch: Batch) -> bool:
        """Hand changes to where they go; gives whether there were any."""
        if isinstance(node, SinkNode):
            count = self._writers[node.uid].write(batch)
            self._wrote = self._wrote or count > 0
        else:
            assert self._workspace is not None
            names = ", ".join([*(column(i) for i in range(len(node.columns))), OP])
            rows = self._workspace.query(f"SELECT {names} FROM {batch.sql}")
            count = rows.num_rows
            if count and self._collect is not None:
                self._collect(rows)
        self._metrics.wrote(node.uid, count)
        return count > 0

    def _check_interrupted(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Undo what is not checkpointed if anything goes wrong, and say what an interruption was."""
        assert not self._failed, "a runner is of no use after an error"
        try:
            self._check_interrupted()
            yield
        except BaseException as error:
            self._failed = True
            self._undo()
            if self._interrupted and (not isinstance(error, BergError) or isinstance(error.__cause__, duckdb.Error)):
                raise KeyboardInterrupt from error  # DuckDB says it in several ways, and a sink may have told it
            if isinstance(error, duckdb.Error):
                from bergsql.engine.plan.duck_errors import from_duckdb_error

                raise from_duckdb_error(error) from error
            raise

    def _undo(self) -> None:
        self._store.abort()
        for writer in self._writers.values():
            with suppress(Exception):  # the error that led here is the one to tell
                writer.discard()
        if self._workspace is not None:
            with suppress(Exception):
                self._workspace.end_round()


def _computes(node: Node) -> bool:
    return not isinstance(node, SourceNode | SinkNode | CollectNode)


def _shared(nodes: list[Node]) -> set[str]:
    """The uids of nodes whose result is read more than once."""
    seen: set[str] = set()
    shared: set[str] = set()
    for node in nodes:
        for each in node.inputs:
            (shared if each.uid in seen else seen).add(each.uid)
    return shared


def _interval(setting: Callable[[str], str | None]) -> float:
    """Seconds between checkpoints."""
    from bergsql.catalog.options import parse_duration

    return parse_duration(setting(INTERVAL_KEY) or INTERVAL, INTERVAL_KEY) / 1000
