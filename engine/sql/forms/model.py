"""What is told of a family of statements."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """A family of statements: its name, what it does, its forms (a line each), and statements that show it.

    ``setup`` are statements that the example needs before it.
    """

    group: str
    name: str
    doc: str
    syntax: str
    example: str
    setup: str = ""
    flavour: str = "flink"
    """The flavour that the example is run in."""


CATALOG = "CREATE CATALOG lake WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}');"
TABLE = "CREATE TABLE visits (id BIGINT, who STRING, at_time TIMESTAMP(6));"
ROWS = f"{TABLE} INSERT INTO visits VALUES (1, 'ann', TIMESTAMP '2024-03-01 10:00:00');"
