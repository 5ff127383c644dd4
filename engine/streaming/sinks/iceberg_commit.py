"""How a job's checkpoints get into a table, each once: what the table knows of the job, and what a commit asks for.

A table remembers the last checkpoint of a job that it has: in its property ``bergsql.job.<job>.<sink>``, which is set
in the commit that adds the checkpoint's snapshot, and which must hold the one before. The snapshot says the same in the
words of Flink's sink, and is looked for in the table's history: a rollback that took it away stops the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import uuid4

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import SetProperties
from bergsql.engine.table.checkpoint_staging import read_prepared
from bergsql.engine.table.commit import commit_snapshot, commit_updates
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.equality_delete_writing import used_specs
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.producer import CommitIdentity, Operation, Producer
from bergsql.engine.table.properties import CommitProperties
from bergsql.engine.table.validate import check_files_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bergsql.catalog.base import Catalog, LoadedTable
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.streaming.sources.base import Json
    from bergsql.engine.table.destination import Destination
    from bergsql.engine.table.history import History

JOB_ID, OPERATOR_ID, CHECKPOINT = "flink.job-id", "flink.operator-id", "flink.max-committed-checkpoint-id"
"""What Flink's Iceberg sink writes into the summaries of its snapshots."""
_CHANGE_BACK = "Change it back, let the job commit, stop it, and change it then."


class SinkName(Protocol):
    """The full name of a table, as text, and the catalog that it is in; see ``TableName`` in engine/names.py."""

    @property
    def catalog(self) -> Catalog: ...


class SinkTarget(Protocol):
    """Where a sink writes to; see ``Target`` in execute/destination.py."""

    @property
    def name(self) -> SinkName: ...

    @property
    def table(self) -> LoadedTable: ...

    @property
    def to(self) -> Destination: ...

    @property
    def summary(self) -> Mapping[str, str]: ...

    @property
    def place(self) -> str: ...


def progress_property(job_id: str, sink_id: str) -> str:
    """The property of a table that holds the number of the last checkpoint of a job that is in it."""
    return f"bergsql.job.{job_id}.{sink_id}"


class Committable(NamedTuple):
    """What :meth:`JobTable.commit` needs to know of a prepared checkpoint; ``previous`` is the one committed before."""

    directory: str
    snapshot_id: int
    table_uuid: str | None
    schema_id: int
    previous: int

    def to_json(self) -> Json:
        return {
            "directory": self.directory,
            "snapshot-id": self.snapshot_id,
            "table-uuid": self.table_uuid,
            "schema-id": self.schema_id,
            "previous": self.previous,
        }

    @staticmethod
    def from_json(value: Json) -> Committable:
        if not isinstance(value, dict):
            raise BergError(ErrorCode.CORRUPT, "What a checkpoint says of a table is damaged.")
        names = ("directory", "snapshot-id", "table-uuid", "schema-id", "previous")
        match [value.get(name) for name in names]:
            case [str(directory), int(snapshot_id), (str() | None) as table_uuid, int(schema_id), int(previous)]:
                return Committable(directory, snapshot_id, table_uuid, schema_id, previous)
        raise BergError(ErrorCode.CORRUPT, "What a checkpoint says of a table is damaged.")


@dataclass(frozen=True)
class AddCheckpoint(Producer):
    """Rows of one checkpoint, and the delete files of their keys. Others cannot make it wrong but by what ``check``
    refuses; it is never put together with another commit, as its delete files reach what is older and nothing else.

    Its files were durable before, and stay where they are when the commit fails: it will be tried again.
    """

    deletes: Sequence[DataFile] = ()
    check: Callable[[TableMetadata], None] = field(default=lambda _: None, kw_only=True)

    @property
    def operation(self) -> Operation:
        if not self.deletes:
            return Operation.APPEND
        return Operation.OVERWRITE if self.files else Operation.DELETE

    @property
    def added(self) -> Sequence[DataFile]:
        return [*self.files, *self.deletes]

    @property
    def written(self) -> Iterable[str]:
        return ()

    def validate(self, history: History) -> None:
        self.check(history.current)


class JobTable:
    """A table as one sink of a job knows it."""

    def __init__(self, target: SinkTarget, job_id: str, sink_id: str) -> None:
        self._target = target
        self._job_id, self._sink_id = job_id, sink_id
        self.key = progress_property(job_id, sink_id)
        self.owner = f"{job_id}-{sink_id}"
        """What the names of the sink's files begin with."""
        self._uuid = target.table.metadata.table_uuid
        self._last: Snapshot | None = None
        self._left: str | None = None
        """Where the table's metadata was behind the last commit."""
        self.committed = 0
        """The last checkpoint that is in the table."""
        self._tried = 0
        """Up to this checkpoint, a commit may have been tried before, and left files."""

    @property
    def name(self) -> str:
        return str(self._target.name)

    @property
    def storage(self) -> Storage:
        return self._target.name.catalog.storage()

    # --- the table ----------------------------------------------------------------------------------------------------

    def register(self, durable: int) -> LoadedTable:
        """Take the table up, from a job's last durable checkpoint on: 0 for a new job, of which it makes a note.

        :raises BergError: NOT_FOUND; INVALID where the table does not know the job as it is.
        """
        table = self.load()
        done = self._done(table.metadata)
        if done is None:
            if durable:
                raise BergError(
                    ErrorCode.INVALID,
                    f"Table {self.name} does not know the job {self._job_id}, which has got to checkpoint {durable}: "
                    f"its property '{self.key}' is gone, or it is another table.",
                    hint=f"To go on with this table: ALTER TABLE {self.name} SET ('{self.key}'='0');",
                )
            self._target.name.catalog.check_writable(table)
            table = commit_updates(self._target.name.catalog, table, self._first)
            done = 0
        if done > durable:
            raise BergError(
                ErrorCode.INVALID,
                f"Table {self.name} has checkpoint {done} of the job {self._job_id}, which would go on behind "
                f"checkpoint {durable}: another process has run it on.",
                hint="Go on from the latest state of the job. If the table was set back to that checkpoint on purpose: "
                f"ALTER TABLE {self.name} SET ('{self.key}'='{durable}');",
            )
        self.committed, self._tried = done, durable
        self._check_history(table.metadata, done)
        return table

    def _first(self, table: LoadedTable) -> list[SetProperties]:
        done = self._done(table.metadata)
        if done:
            raise self._other_process(done, 0)
        return [SetProperties({self.key: "0"})]

    def load(self) -> LoadedTable:
        """The table as it is now; the same one still."""
        target = self._target
        try:
            table = target.name.catalog.load_table(target.table.ident)
        except BergError as error:
            if error.code is not ErrorCode.NOT_FOUND:
                raise
            raise BergError(
                ErrorCode.NOT_FOUND, f"Table {self.name}, to which the job writes, was dropped.", hint=error.hint
            ) from error
        self._check_same(table.metadata, self._uuid)
        return table

    def head(self, metadata: TableMetadata) -> Snapshot | None:
        """The snapshot that the next checkpoint follows."""
        return self._target.to.head(metadata)

    def _check_same(self, metadata: TableMetadata, uuid: str | None) -> None:
        if metadata.table_uuid != uuid:
            raise BergError(
                ErrorCode.INVALID,
                f"Table {self.name} was dropped and created anew: it is not the one that the job writes to.",
                hint="Start the job anew.",
            )

    def _done(self, metadata: TableMetadata) -> int | None:
        """The last checkpoint that the table says to have; None if it does not know the job."""
        text = metadata.properties.get(self.key)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise BergError(ErrorCode.CORRUPT, f"The property '{self.key}' of table {self.name} is '{text}'.")
        return int(text)

    # --- commits ------------------------------------------------------------------------------------------------------

    def commit(self, checkpoint: int, prepared: Committable) -> None:
        """Add a prepared checkpoint to the table, unless it is there.

        :raises BergError: INVALID or CORRUPT where it can never be added any more, CONFLICT where others were faster
            each time, UNKNOWN_OUTCOME: then it may be tried again.
        """
        table = self.load()
        metadata = table.metadata
        self._check_same(metadata, prepared.table_uuid)
        if self._done(metadata) == checkpoint:
            self._check_own(metadata, checkpoint, prepared.snapshot_id)
        else:
            self._check_next(metadata, prepared.previous)
            self._add(table, checkpoint, prepared)
        self.committed = checkpoint
        with suppress(BergError):  # it is in the table, and that is what counts
            self.storage.delete_tree(prepared.directory)

    def _add(self, table: LoadedTable, checkpoint: int, prepared: Committable) -> None:
        metadata, target = table.metadata, self._target
        files = read_prepared(self.storage, prepared.directory, metadata)
        if checkpoint <= self._tried:
            self._sweep(metadata, checkpoint, prepared.snapshot_id)
        self._tried = checkpoint
        written = replace(metadata, current_schema_id=prepared.schema_id)
        keys = set(written.schema.identifier_field_ids)

        def check(now: TableMetadata) -> None:
            self._check_next(now, prepared.previous)
            try:
                check_files_fit(written, now, self.name)
            except StatementConflict as conflict:  # the files are what they are: another try would not mend it
                raise BergError(ErrorCode.INVALID, conflict.message, hint=_CHANGE_BACK) from None
            if files.deletes:
                self._check_reached(now, files.deletes, keys)

        check(metadata)
        producer = AddCheckpoint(
            files.data,
            files.deletes,
            check=check,
            properties={
                JOB_ID: self._job_id,
                OPERATOR_ID: self._sink_id,
                CHECKPOINT: str(checkpoint),
                **target.summary,
            },
            updates=(SetProperties({self.key: str(checkpoint)}),),
            identity=CommitIdentity(prepared.snapshot_id, f"{self.owner}-{checkpoint}-{uuid4().hex[:8]}"),
        )
        alone = table.metadata_location == self._left
        made = commit_snapshot(target.name.catalog, table, producer, self.storage, to=target.to, alone=alone)
        self._last, self._left = made.snapshot, made.table.metadata_location

    def _sweep(
        self, metadata: TableMetadata, checkpoint: int, snapshot_id: int, kept: frozenset[str] = frozenset()
    ) -> None:
        """Delete what killed tries of this commit left: manifests but ``kept``, and versions without a name."""
        storage = self.storage
        location = CommitProperties.of(metadata.properties, metadata.location).metadata_location
        for name, is_dir in list(storage.list(location)) if storage.is_dir(location) else ():
            path = f"{location}/{name}"
            if is_dir or path in kept:
                continue
            manifest = name.endswith(".avro") and f"{self.owner}-{checkpoint}-" in name
            if manifest or (name.endswith(".metadata.json.tmp") and _holds(storage.read(path), snapshot_id)):
                storage.delete(path)

    def _check_next(self, metadata: TableMetadata, previous: int) -> None:
        """The table must be where the last checkpoint left it, as far as this job is concerned."""
        done = self._done(metadata)
        if done != previous:
            raise self._other_process(done, previous)
        self._check_history(metadata, previous)

    def _other_process(self, done: int | None, expected: int) -> BergError:
        has = "nothing" if done is None else f"checkpoint {done}"
        return BergError(
            ErrorCode.INVALID,
            f"Table {self.name} has {has} of the job {self._job_id} where it should have checkpoint {expected}: "
            "another process runs the job, or the property was changed.",
            hint=f"Let one process run it. The table's property is '{self.key}'.",
        )

    def _check_own(self, metadata: TableMetadata, checkpoint: int, snapshot_id: int) -> None:
        """The checkpoint that the table has must be the one that was prepared here, unless its snapshot is expired."""
        snapshot = self._snapshot_of(metadata, checkpoint)
        if snapshot is not None and snapshot.snapshot_id != snapshot_id:
            raise BergError(
                ErrorCode.INVALID,
                f"Table {self.name} has another checkpoint {checkpoint} of the job {self._job_id} (snapshot "
                f"{snapshot.snapshot_id}): another process runs the job.",
                hint="Let one process run it.",
            )
        self._last = snapshot
        self._check_history(metadata, checkpoint)
        if snapshot is not None:
            listed = read_manifest_list(self.storage, snapshot, metadata)
            kept = frozenset((snapshot.manifest_list or "", *(m.path for m in listed)))
            self._sweep(metadata, checkpoint, snapshot_id, kept)

    def _snapshot_of(self, metadata: TableMetadata, checkpoint: int) -> Snapshot | None:
        """The snapshot of a checkpoint, the newest if there are several; None if it is expired."""
        wanted = {JOB_ID: self._job_id, OPERATOR_ID: self._sink_id, CHECKPOINT: str(checkpoint)}.items()
        return next((s for s in reversed(metadata.snapshots) if wanted <= (s.summary or {}).items()), None)

    def _check_history(self, metadata: TableMetadata, checkpoint: int) -> None:
        """Refuse a table that was set back to before its last checkpoint, or replaced."""
        if not checkpoint:
            return
        last = self._last or self._snapshot_of(metadata, checkpoint)
        if last is None:
            return  # expired, and with it all that could tell
        self._last = last
        at = self.head(metadata)
        while at is not None and at.snapshot_id != last.snapshot_id and at.sequence_number >= last.sequence_number:
            if at.parent_id is not None and metadata.snapshot(at.parent_id) is None:
                return  # what is older is expired
            at = None if at.parent_id is None else metadata.snapshot(at.parent_id)
        if at is None or at.snapshot_id != last.snapshot_id:
            raise BergError(
                ErrorCode.INVALID,
                f"Table {self.name} was set back: checkpoint {checkpoint} of the job {self._job_id} (snapshot "
                f"{last.snapshot_id}) is no longer in its history{self._target.place}.",
                hint="Make that snapshot current again, or start the job anew.",
            )

    def _check_reached(self, metadata: TableMetadata, deletes: Sequence[DataFile], keys: set[int]) -> None:
        """The delete files must reach all rows of their keys: by the same key, and in all partitions there are."""
        if set(metadata.schema.identifier_field_ids) != keys:
            raise self._changed("key")
        specs = {f.spec_id for f in deletes}
        everywhere = any((spec := metadata.spec_by_id(i)) is not None and spec.is_unpartitioned for i in specs)
        if not everywhere and used_specs(metadata, self.head(metadata), self.storage) - specs:
            raise self._changed("partitioning")

    def _changed(self, what: str) -> BergError:
        return BergError(
            ErrorCode.INVALID,
            f"The {what} of table {self.name} was changed while a checkpoint was committed: "
            "its deletes would miss rows.",
            hint=_CHANGE_BACK,
        )


def _holds(metadata_file: bytes, snapshot_id: int) -> bool:
    """Whether a metadata file, which may be gzipped or cut off, has a snapshot."""
    from zlib import MAX_WBITS, decompressobj
    from zlib import error as damaged

    if metadata_file[:1] == b"\x1f":
        try:
            metadata_file = decompressobj(MAX_WBITS | 16).decompress(metadata_file)
        except damaged:
            return False
    return str(snapshot_id).encode() in metadata_file
