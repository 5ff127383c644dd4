"""A Parquet file of one result. Parquet has no intervals: months are an int32, shorter ones count microseconds."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import parquet

from bergsql.engine.result import Result
from bergsql.shell.render.arrow_values import arrow_schema, record_batches
from bergsql.shell.render.layout import Out, View, severed_by_failure

ROWS_PER_GROUP = 131_072
"""A row group is held in memory until it is written."""


def draw(result: Result, out: Out, view: View) -> None:  # noqa: ARG001 - a layout's signature
    """Write ``result`` as a file with zstd compression."""
    schema = arrow_schema(result, months=pa.int32())
    sink = out.binary()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer, severed_by_failure(sink):
        for batch in record_batches(result, schema):
            writer.write_batch(batch, row_group_size=ROWS_PER_GROUP)
    out.flush()
