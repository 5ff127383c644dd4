"""What a Hive metastore is told of an Iceberg table, as Java's HiveTableOperations tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.metadata import types as t

if TYPE_CHECKING:
    from bergsql.catalog.base import TableIdent
    from bergsql.catalog.hive_client import Connection
    from bergsql.catalog.metadata.table_metadata import TableMetadata

TABLE_TYPE: Final = "table_type"
ICEBERG: Final = "ICEBERG"
LOCATION: Final = "metadata_location"
PREVIOUS: Final = "previous_metadata_location"
UUID: Final = "uuid"

_NAMES: Final = {
    t.BooleanType: "boolean",
    t.IntegerType: "int",
    t.LongType: "bigint",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.DateType: "date",
    t.TimeType: "string",
    t.TimestampType: "timestamp",
    t.TimestampNsType: "timestamp",
    t.TimestamptzType: "timestamp",
    t.TimestamptzNsType: "timestamp",
    t.StringType: "string",
    t.UUIDType: "string",
    t.BinaryType: "binary",
    t.FixedType: "binary",
}


def is_iceberg(table: Any) -> bool:
    """Whether a table of the metastore is one of Iceberg."""
    return str((table.parameters or {}).get(TABLE_TYPE, "")).upper() == ICEBERG


def location_of(table: Any) -> str | None:
    """Where the current metadata file of a table is; None where nobody knows."""
    found = (table.parameters or {}).get(LOCATION)
    return None if found is None else str(found)


def read_table(connection: Connection, ident: TableIdent) -> Any:
    """The table as the metastore has it; None if there is no such table."""
    from hive_metastore import ttypes

    if len(ident.namespace) != 1:
        return None
    try:
        return connection.get_table(ident.namespace[0], ident.name)
    except ttypes.NoSuchObjectException:
        return None


def new_table(ident: TableIdent, metadata: TableMetadata, location: str) -> Any:
    """A table as the metastore is to keep it; ``location`` is of its metadata file."""
    from getpass import getuser
    from time import time

    from hive_metastore import ttypes

    now = int(time())
    return ttypes.Table(
        dbName=".".join(ident.namespace),
        tableName=ident.name,
        owner=metadata.properties.get("hive.metastore.table.owner", getuser()),
        createTime=now,
        lastAccessTime=now,
        retention=0,
        sd=_descriptor(metadata),
        partitionKeys=[],
        parameters=_parameters(metadata, location, None),
        tableType="EXTERNAL_TABLE",
    )


def changed_table(table: Any, before: TableMetadata, metadata: TableMetadata, location: str) -> Any:
    """The table of the metastore with its next version; parameters that are not Iceberg's stay."""
    previous = table.parameters[LOCATION]
    gone = {LOCATION, PREVIOUS, *(before.properties.keys() - metadata.properties.keys())}
    kept = {key: value for key, value in table.parameters.items() if key not in gone}
    table.parameters = {**kept, **_parameters(metadata, location, previous)}
    table.sd = _descriptor(metadata)
    return table


def _parameters(metadata: TableMetadata, location: str, previous: str | None) -> dict[str, str]:
    return {
        **metadata.properties,
        "EXTERNAL": "TRUE",
        TABLE_TYPE: ICEBERG,
        LOCATION: location,
        UUID: metadata.table_uuid or "",
        **({PREVIOUS: previous} if previous is not None else {}),
        **_figures(metadata),
    }


def _figures(metadata: TableMetadata) -> dict[str, str]:
    """What Hive shows of a table's size, where the snapshot tells it."""
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return {"numFiles": "0", "numRows": "0", "totalSize": "0"}
    names = {"total-data-files": "numFiles", "total-records": "numRows", "total-files-size": "totalSize"}
    return {name: snapshot.summary[key] for key, name in names.items() if key in (snapshot.summary or {})}


def _descriptor(metadata: TableMetadata) -> Any:
    from hive_metastore import ttypes

    return ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(f.name, hive_type(f.type), f.doc or "") for f in metadata.schema.fields],
        location=metadata.location,
        inputFormat="org.apache.hadoop.mapred.FileInputFormat",
        outputFormat="org.apache.hadoop.mapred.FileOutputFormat",
        compressed=False,
        numBuckets=0,
        serdeInfo=ttypes.SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def hive_type(type_: t.IcebergType) -> str:
    """The type as Hive calls it; ``string`` for what Hive does not have."""
    match type_:
        case t.StructType():
            return f"struct<{','.join(f'{f.name}:{hive_type(f.type)}' for f in type_.fields)}>"
        case t.ListType():
            return f"array<{hive_type(type_.element)}>"
        case t.MapType():
            return f"map<{hive_type(type_.key)},{hive_type(type_.value)}>"
        case t.DecimalType():
            return f"decimal({type_.precision},{type_.scale})"
    return _NAMES.get(type(type_), "string")
