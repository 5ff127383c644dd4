"""One JSON object a row and line, keys in the order of the columns; a name that comes again gets a number."""

from __future__ import annotations

from bergsql.engine.result import Result
from bergsql.shell.render.json_values import object_lines
from bergsql.shell.render.layout import Out, View


def draw(result: Result, out: Out, view: View) -> None:  # noqa: ARG001 - a layout's signature
    """Write the rows of ``result``."""
    for lines in object_lines(result):
        out.write("\n".join(lines) + "\n")
        out.flush()
