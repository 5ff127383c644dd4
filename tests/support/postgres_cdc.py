"""Tables of connector postgres-cdc in tests."""

from __future__ import annotations

from itertools import count

from bergsql.catalog.errors import Span
from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.connectors.registry import source_of
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from tests.support.services.postgres import USER, Postgres

_numbers = count()


def own_name(what: str) -> str:
    """A name that no other test uses on the same server."""
    return f"{what}_{next(_numbers)}"


def options(server: Postgres, slot: str, tables: str, **more: str) -> str:
    """The WITH clause of a table."""
    given = {
        "connector": "postgres-cdc",
        "hostname": "127.0.0.1",
        "port": str(server.port),
        "username": USER,
        "password": "secret-of-postgres",
        "database-name": "postgres",
        "schema-name": "public",
        "table-name": tables,
        "slot.name": slot,
        "debezium.publication.name": f"pub_{slot}",
        **{key.replace("__", "-").replace("_", "."): value for key, value in more.items()},
    }
    return ", ".join(f"'{key}'='{value}'" for key, value in given.items())


def source(server: Postgres, slot: str, tables: str, columns: str, with_: str = "") -> LocalSource:
    """The source of a table with these columns. ``with_``: further options, as WITH has them."""
    given = options(server, slot, tables)
    if "'username'=" in with_:
        given = given.replace(f"'username'='{USER}', ", "")
    extra = f", {with_}" if with_ else ""
    text = f"CREATE TABLE t ({columns}) WITH ({given}{extra})"
    statement = parse(text, Flavour.FLINK)
    assert isinstance(statement, st.CreateTable)
    return source_of(statement, ("t",), span=Span(0, 1))


def dropped(server: Postgres, *slots: str) -> None:
    """Drop slots that nobody reads any more."""
    for slot in slots:
        server.run(
            f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{slot}' "
            "AND active_pid IS NULL"
        )
