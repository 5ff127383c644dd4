"""A change to the files of a table, as a value: what it adds, what it takes away, and what must hold for it.

Producers never touch a catalog and write nothing; ``commit.py`` carries them out. A statement that changes a table in
a new way is a new producer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.table.datafile import DataFile, ManifestFile

if TYPE_CHECKING:
    from bergsql.catalog.metadata.changes import TableUpdate
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.history import History
    from bergsql.engine.table.manifests import ManifestColumns


class Operation(StrEnum):
    """What a snapshot did, in the words of the specification."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    REPLACE = "replace"


class Selection(ABC):
    """Which of the files that a table has go away."""

    @abstractmethod
    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        """Whether some file in the manifest may be selected. False must be certain."""

    @abstractmethod
    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:
        """Whether a file (a delete file too) goes.

        :raises BergError: INVALID when only a part of the file's rows would have to go.
        """

    def meets(self, file: DataFile, metadata: TableMetadata) -> bool:
        """Whether some row of a file may be selected. False must be certain."""
        return self.takes(file, metadata)

    def may_take(self, columns: ManifestColumns) -> bool:  # noqa: ARG002
        """Whether some file in a manifest that was read may be selected. False must be certain."""
        return True

    def check_taken(self, gone: Sequence[DataFile], snapshot_id: int) -> None:  # noqa: B027
        """Refuse when a file that was to go is not among those that went from a snapshot.

        :raises StatementConflict: naming both.
        """


class CommitIdentity(NamedTuple):
    """Names of a commit that are chosen before it, so that another process can find out about it, or take it up again.

    ``commit_id`` is in the names of the manifests and of the manifest list.
    """

    snapshot_id: int
    commit_id: str


@dataclass(frozen=True)
class Producer(ABC):
    """A change. ``properties`` go into the snapshot's summary."""

    files: Sequence[DataFile] = ()
    """Data files that are added."""
    properties: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    updates: Sequence[TableUpdate] = field(default=(), kw_only=True)
    """Changes of metadata that the commit makes too, such as of the schema that the files are written with."""
    identity: CommitIdentity | None = field(default=None, kw_only=True)
    """None: the snapshot gets an id of its own."""

    @property
    @abstractmethod
    def operation(self) -> Operation: ...

    @property
    def added(self) -> Sequence[DataFile]:
        """All files that are added, delete files too."""
        return self.files

    @property
    def written(self) -> Iterable[str]:
        """The locations of all files that were written for this change, each once."""
        return dict.fromkeys(f.path for f in self.added)

    def selection(self, metadata: TableMetadata) -> Selection | None:  # noqa: ARG002
        """What goes away from the table at ``metadata``; None for nothing."""
        return None

    def validate(self, history: History) -> None:  # noqa: B027
        """Refuse what others did since the statement began, where that makes it wrong.

        :raises StatementConflict: naming the file and the snapshot.
        """
