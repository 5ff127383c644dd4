"""Files as a table's manifests describe them, without what is in them: for tests of commits, which look at no row.

The table has the columns ``id`` (long, field 1) and ``data`` (string, field 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bergsql.catalog.metadata.types import LongType
from bergsql.catalog.metadata.values import to_bytes
from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.delete_index import PUFFIN

COLUMNS = {"id": "long", "data": "string"}
_LONG = LongType()


@dataclass
class MadeFiles:
    """Files below ``folder``, which hold nothing. ``at`` is a partition: its values, and its spec's id."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, name: str) -> str:
        path = self.folder / name
        path.touch()
        return str(path)

    def data(self, name: str, low: int = 0, high: int = 9, at: tuple[object, ...] = (), spec_id: int = 0) -> DataFile:
        """A data file with ids from ``low`` to ``high``, each once."""
        count = high - low + 1
        return DataFile(
            self._path(f"{name}.parquet"),
            count,
            10,
            partition=at,
            spec_id=spec_id,
            value_counts={1: count},
            null_counts={1: 0},
            lower_bounds={1: to_bytes(_LONG, low)},
            upper_bounds={1: to_bytes(_LONG, high)},
        )

    def positions(
        self, name: str, of: DataFile | None = None, count: int = 1, like: DataFile | None = None
    ) -> DataFile:
        """A position delete file: of one data file, or of any in the partition of ``like``."""
        near = of or like
        return DataFile(
            self._path(f"{name}-deletes.parquet"),
            count,
            10,
            content=FileContent.POSITION_DELETES,
            partition=near.partition if near else (),
            spec_id=near.spec_id if near else 0,
            referenced_data_file=of.path if of else None,
        )

    def vector(self, name: str, of: DataFile, offset: int = 4, count: int = 1) -> DataFile:
        """A deletion vector in a Puffin file, which may hold others."""
        return DataFile(
            self._path(f"{name}.puffin"),
            count,
            100,
            PUFFIN,
            FileContent.POSITION_DELETES,
            of.partition,
            of.spec_id,
            referenced_data_file=of.path,
            content_offset=offset,
            content_size=40,
        )

    def equality(
        self, name: str, low: int = 0, high: int = 9, at: tuple[object, ...] = (), spec_id: int = 0
    ) -> DataFile:
        """An equality delete file with ids from ``low`` to ``high``."""
        count = high - low + 1
        return DataFile(
            self._path(f"{name}-keys.parquet"),
            count,
            10,
            content=FileContent.EQUALITY_DELETES,
            partition=at,
            spec_id=spec_id,
            value_counts={1: count},
            null_counts={1: 0},
            lower_bounds={1: to_bytes(_LONG, low)},
            upper_bounds={1: to_bytes(_LONG, high)},
            equality_ids=(1,),
        )
