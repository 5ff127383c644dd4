"""One JSON array a result, a row an object and a line, with the values that jsonl has."""

from __future__ import annotations

from bergsql.engine.result import Result
from bergsql.shell.render.json_values import object_lines
from bergsql.shell.render.layout import Out, View


def draw(result: Result, out: Out, view: View) -> None:  # noqa: ARG001 - a layout's signature
    """Write the rows of ``result``."""
    before = "[\n"
    for lines in object_lines(result):
        out.write(before + ",\n".join(lines))
        out.flush()
        before = ",\n"
    out.write("[]\n" if before == "[\n" else "\n]\n")
    out.flush()
