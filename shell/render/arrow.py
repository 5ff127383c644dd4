"""An Arrow IPC stream a result: schema, batches, end. Several results are several streams, one behind another."""

from __future__ import annotations

import pyarrow as pa

from bergsql.engine.result import Result
from bergsql.shell.render.arrow_values import arrow_schema, record_batches
from bergsql.shell.render.layout import Out, View, severed_by_failure


def draw(result: Result, out: Out, view: View) -> None:  # noqa: ARG001 - a layout's signature
    """Write ``result`` as a stream; each batch goes out as soon as it is there."""
    schema = arrow_schema(result, months=pa.month_day_nano_interval())
    sink = out.binary()
    with pa.ipc.new_stream(sink, schema) as writer, severed_by_failure(sink):
        for batch in record_batches(result, schema):
            writer.write_batch(batch)
            out.flush()
    out.flush()
