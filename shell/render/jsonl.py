"""One JSON object a row and line, keys in the order of the columns; a name that comes again gets a number."""

from __future__ import annotations

from json.encoder import encode_basestring as quote

from bergsql.engine.result import Result
from bergsql.shell.render.json_values import json_writer
from bergsql.shell.render.layout import Out, View, filled_chunks, unique
from bergsql.shell.render.values import texts


def draw(result: Result, out: Out, view: View) -> None:  # noqa: ARG001 - a layout's signature
    """Write the rows of ``result``."""
    writers = [json_writer(c.type) for c in result.columns]
    names = unique([c.name for c in result.columns])
    row = "{" + ", ".join(quote(n).replace("%", "%%") + ": %s" for n in names) + "}\n"
    for chunk in filled_chunks(result):
        cells = [texts(v, write, "null") for v, write in zip(zip(*chunk, strict=True), writers, strict=True)]
        out.write("".join([row % cell for cell in zip(*cells, strict=True)]))
        out.flush()
