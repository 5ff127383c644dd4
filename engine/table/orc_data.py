"""ORC data files, through Arrow: Iceberg's attributes (spec, Appendix A "ORC") travel as metadata of Arrow's fields."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.types import (
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from bergsql.engine.table.arrow_scan import counted, scanned
from bergsql.engine.table.arrow_types import arrow_type
from bergsql.engine.table.avro_schema import FIELD_ID

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.storage.base import Storage

_ID, _REQUIRED = b"iceberg.id", b"iceberg.required"
_BINARY, _LENGTH = b"iceberg.binary-type", b"iceberg.length"
_LONG, _UNIT = b"iceberg.long-type", b"iceberg.timestamp-unit"
_OUT_OF_RANGE = "out of range for nanosecond"


# --- writing ----------------------------------------------------------------------------------------------------------


class OrcWriter:
    """Writes the local file ``path``. ``codec`` is pyarrow's name, ``stripe_size`` bytes."""

    def __init__(self, path: str, fields: Sequence[NestedField], codec: str, strategy: str, stripe_size: int) -> None:
        import pyarrow as pa
        from pyarrow import orc

        self._schema = pa.schema([_orc_field(f) for f in fields])
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115, PTH123 - closed by close()
        self._made = io.BytesIO()
        self._writer = orc.ORCWriter(
            _never_failing(self._made),
            compression=codec,
            compression_strategy=strategy,
            stripe_size=stripe_size,
        )

    @property
    def size(self) -> int:
        """Bytes written so far: whole stripes."""
        return self._file.tell()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows, of the types of arrow_types.py. UNSUPPORTED for what could not be read again."""
        import pyarrow as pa

        try:
            columns = [nulls_inside(c.cast(f.type)) for c, f in zip(batch.columns, self._schema, strict=True)]
        except pa.ArrowInvalid as e:
            if "timestamp" not in str(e):
                raise
            raise _out_of_range("Writing") from e
        columns = [nulls_below(_whole(c)) if pa.types.is_nested(c.type) else c for c in columns]
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))
        self._pass_on()

    def _pass_on(self) -> None:
        """Write what the writer made."""
        with self._made.getbuffer() as made:
            at = 0
            while at < len(made):
                at += self._file.write(made[at:])
        self._made.seek(0)
        self._made.truncate()

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()
        self._pass_on()
        self._file.close()

    def abandon(self) -> None:
        """Close the file, of which nothing is wanted any more."""
        self._file.close()


def _never_failing(made: io.BytesIO) -> pa.PythonFile:
    """The file that Arrow's writer writes to, which is memory.

    Where a write fails or is interrupted, or the file is closed before it, that writer ends the whole process. So no
    code of Python's is in it either.
    """
    from types import SimpleNamespace

    import pyarrow as pa

    nothing = dict  # to be called without arguments
    return pa.PythonFile(SimpleNamespace(write=made.write, flush=nothing, close=nothing, closed=False), mode="w")


def _whole(column: pa.Array) -> pa.Array:
    """The same values in buffers of their own: Arrow's ORC writer reads a slice's parts from their first value on."""
    import pyarrow as pa

    return pa.concat_arrays([column, column[:0]]) if column.offset else column


def nulls_below(column: pa.Array) -> pa.Array:
    """The same values, with NULL in all parts of a struct that is NULL.

    Arrow's ORC writer takes what lies below a struct that is NULL inside another one for values: all that follow move.
    """
    import pyarrow as pa

    t = column.type
    if pa.types.is_struct(t):
        return pa.StructArray.from_arrays(
            [nulls_below(part) for part in column.flatten()], fields=list(t), mask=column.is_null()
        )
    if pa.types.is_list(t) or pa.types.is_map(t):
        buffers = column.buffers()[:2]
        return pa.Array.from_buffers(
            t, len(column), buffers, offset=column.offset, children=[nulls_below(column.values)]
        )
    return column


def _orc_field(f: NestedField) -> pa.Field:
    import pyarrow as pa

    attributes = {_ID: str(f.field_id), _REQUIRED: "true" if f.required else "false"}
    match f.type:
        case UUIDType():
            attributes[_BINARY] = "UUID"
        case FixedType(length=length):
            attributes |= {_BINARY: "FIXED", _LENGTH: str(length)}
        case TimeType():
            attributes[_LONG] = "TIME"
        case TimestampType() | TimestamptzType():
            attributes[_UNIT] = "MICROS"
        case TimestampNsType() | TimestamptzNsType():
            attributes[_UNIT] = "NANOS"
    return pa.field(f.name, _orc_type(f.type), metadata=attributes)


def _orc_type(t: IcebergType) -> pa.DataType:
    import pyarrow as pa

    match t:
        case UUIDType() | FixedType():
            return pa.binary()
        case TimeType():
            return pa.int64()
        case TimestampType():
            return pa.timestamp("ns")
        case TimestamptzType():
            return pa.timestamp("ns", "UTC")
        case StructType(fields=fields):
            return pa.struct([_orc_field(f) for f in fields])
        case ListType():
            return pa.list_(_orc_field(t.element_field))
        case MapType():
            return pa.map_(_orc_field(t.key_field).with_nullable(False), _orc_field(t.value_field))
    return arrow_type(t)


def nulls_inside(array: pa.Array) -> pa.Array:
    """The array with every part of a struct that is NULL made NULL too.

    Arrow's ORC writer puts down whatever values lie under a NULL struct inside of another, and so shifts the others.
    """
    import pyarrow as pa

    t = array.type
    if not pa.types.is_nested(t):
        return array
    if array.offset:
        array = array.take(pa.array(range(len(array)), pa.int64()))
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(t):
        return pa.StructArray.from_arrays([nulls_inside(p) for p in array.flatten()], fields=list(t), mask=mask)
    if pa.types.is_list(t):
        return pa.ListArray.from_arrays(array.offsets, nulls_inside(array.values), type=t, mask=mask)
    keys, items = nulls_inside(array.keys), nulls_inside(array.items)
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=t, mask=mask)


# --- reading ----------------------------------------------------------------------------------------------------------


def orc_columns(storage: Storage, path: str) -> list[pa.Field]:
    """The columns of a file, with their field ids. CORRUPT when it is damaged."""
    import pyarrow as pa
    from pyarrow import orc

    try:
        return [_read_field(f) for f in orc.ORCFile(storage.readable_path(path)).schema]
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        raise _damaged(path) from e


def read_orc(storage: Storage, path: str, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, of some of its columns: their positions, ascending. CORRUPT when it is damaged."""
    import pyarrow as pa
    from pyarrow import orc

    try:
        if not columns:
            yield from counted(orc.ORCFile(storage.readable_path(path)).nrows)
            return
        fields = orc_columns(storage, path)
        wanted = pa.schema([fields[i] for i in columns])
        for batch in scanned(storage.readable_path(path), "orc", columns):
            arrays = [column.cast(f.type, safe=False) for column, f in zip(batch.columns, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=wanted)
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        if _OUT_OF_RANGE in str(e):
            raise _out_of_range("Reading", f" ({path})") from e
        raise _damaged(path) from e


def _out_of_range(verb: str, where: str = "") -> BergError:
    """The error for a timestamp that nanoseconds in 64 bits cannot count, in which Arrow reads all of ORC's."""
    form = f"{verb} a timestamp before 1677 or after 2262 in an ORC file{where}"
    return not_supported(form, hint="Parquet and Avro files may hold it.")


def _damaged(path: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"Data file {path} is damaged or not an ORC file.")


def _read_field(f: pa.Field) -> pa.Field:
    import pyarrow as pa

    told: dict[bytes, bytes] = f.metadata or {}
    t = f.type
    if pa.types.is_timestamp(t) and told.get(_UNIT) != b"NANOS":
        t = pa.timestamp("us", t.tz)
    elif told.get(_LONG) == b"TIME":
        t = pa.time64("us")
    elif told.get(_BINARY) == b"UUID":
        t = pa.binary(16)
    elif pa.types.is_struct(t):
        t = pa.struct([_read_field(part) for part in t])
    elif pa.types.is_list(t):
        t = pa.list_(_read_field(t.value_field))
    elif pa.types.is_map(t):
        t = pa.map_(_read_field(t.key_field), _read_field(t.item_field))
    metadata: Any = {FIELD_ID: told[_ID]} if _ID in told else None
    return pa.field(f.name, t, metadata=metadata, nullable=f.nullable)
