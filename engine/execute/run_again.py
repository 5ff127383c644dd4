"""Running a statement again when other writers made it wrong as it was planned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import monotonic, sleep
from typing import TYPE_CHECKING, TypeVar

from bergsql.catalog.storage.base import PATIENCE
from bergsql.engine.table.commit import retry_wait
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.properties import CommitProperties

if TYPE_CHECKING:
    from bergsql.engine.names import TableName
    from bergsql.engine.session import Session

T = TypeVar("T")


def run_again(session: Session, name: TableName, once: Callable[[], T]) -> T:
    """What ``once`` gives: it loads the table ``name``, plans the statement, writes its files and commits them.

    When others changed what the statement read, all of it is done again on the table as it is then, up to
    ``commit.retry.num-retries`` times within ``commit.retry.total-timeout-ms``, with the waits between commits that met
    others. From the second run on it has the table's turn from beginning to end, or others that are faster could be in
    its way for ever. A note says so. A table that was dropped and made anew is another one: nothing is run again on it.

    :raises StatementConflict: when others were in the way each time.
    """
    started, tries, said, reason = monotonic(), 1, len(session.notes), ""
    turn: AbstractContextManager[None] = nullcontext()
    while True:
        try:
            with turn:
                begin = monotonic()
                found = once()
        except StatementConflict as conflict:
            table = name.catalog.load_table(name.ident).metadata
            properties = CommitProperties.of(table.properties, table.location)
            ran = monotonic() - begin
            late = monotonic() - started >= properties.total_timeout
            if table.table_uuid != conflict.table_uuid or tries > properties.retries or late:
                if tries == 1:
                    raise
                raise _failed(conflict, tries) from conflict
            reason = conflict.message
        else:
            if reason:
                session.notes.append(f"The statement ran {tries} times. {reason}")
            return found
        # Others wait for no longer than that: a longer run would only hold them up.
        turn = name.catalog.storage().turn(properties.metadata_location) if ran < PATIENCE else nullcontext()
        del session.notes[said:]
        sleep(retry_wait(properties.min_wait, properties.max_wait, tries - 1))
        tries += 1


def _failed(conflict: StatementConflict, tries: int) -> StatementConflict:
    return StatementConflict(
        f"The statement failed {tries} times: {conflict.message}",
        hint="Run it again, or raise the table property 'commit.retry.num-retries'.",
    )
