"""What a table's rows went through, as MariaDB's own binlog tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.binlog import Binlog
from bergsql.engine.connectors.mysql.events import Change
from bergsql.engine.connectors.mysql.position import Position
from tests.support.services.mariadb import PASSWORD, USER, MariaDB

_ids = count(4_200_000)


@contextmanager
def logged_changes(mariadb: MariaDB, database: str, table: str) -> Iterator[Callable[[], list[tuple[Any, ...]]]]:
    """Gives what happened to the rows since it began: ``("insert", row)``, ``("update", before, after)`` …"""
    file, pos, *_ = mariadb.run("SHOW MASTER STATUS")[0]
    settings = {"host": "127.0.0.1", "port": mariadb.port, "user": USER, "password": PASSWORD, "charset": "utf8mb4"}
    found: list[tuple[Any, ...]] = []
    binlog = Binlog(
        settings,
        Position(str(file), int(pos)),
        lambda schema, name: (schema, name) == (database, table),
        server_id=next(_ids),
        is_mariadb=True,
        translate=lambda error: BergError(ErrorCode.CONNECTION, str(error)),
    )

    def so_far() -> list[tuple[Any, ...]]:
        for event in binlog.read(10_000):
            if isinstance(event, Change):
                for n in range(event.rows):
                    rows = [tuple(side[n]) for side in (event.before, event.after) if side]
                    found.append((event.kind.value, *rows))
        return list(found)

    with closing(binlog):
        yield so_far
