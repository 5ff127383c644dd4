"""Locks of a Hive metastore: one holds a table's while its pointer is moved (Iceberg's HiveTableOperations).

A lock outlives its holder and keeps others out until Hive forgets it, which takes minutes. So each lock says in itself
whose it is (:mod:`~bergsql.catalog.hive_owner`): a process that waits for one whose process has died on this machine
takes it away, and so it does with one of its own that it has lost, as where the answer to the request never came.
Nothing is written elsewhere that a crash could part from the lock.

A lock is in doubt where a change may have been asked for under it and nobody heard the answer: the metastore may do it
yet, and must not do it over what somebody else did meanwhile. Such a lock is kept until the table shows the change, or
until :data:`_DOUBT` is over: by then a metastore that answers others has done what it was going to do. So it is with a
lock of a process that has died, unless the lock shows that nothing was asked for yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.hive_client import told
from bergsql.catalog.hive_owner import Owner
from bergsql.catalog.hive_tables import location_of, read_table

if TYPE_CHECKING:
    from bergsql.catalog.base import TableIdent
    from bergsql.catalog.hive_client import Connection, HiveClient

_LONGEST_PAUSE: Final = 0.5
"""Seconds between two looks at a lock that is waited for."""
_GIVES_BACK: Final = 1.0
"""Seconds in which whoever lives gives back a lock under which all is done."""
_DOUBT: Final = 1 / 6
"""How long a lock is in doubt at most, as a part of the time that a lock is waited for."""


class _Kept(NamedTuple):
    """A lock of this process that is in doubt."""

    client: HiveClient
    ident: TableIdent
    number: int
    owner: Owner


_in_use: set[str] = set()
"""The marks of this process's locks, from before they are asked for until they are given back."""
_in_doubt: dict[str, _Kept] = {}
"""Those of them that are in doubt, by their marks."""


class Held(NamedTuple):
    """A table's lock, and the connection that asked for it."""

    connection: Connection
    number: int
    ident: TableIdent

    def confirm(self) -> None:
        """Refuse to go on where the lock is not ours any more, as after a long pause of the process.

        The metastore notes when this was. Who finds a lock without such a note knows that nothing was changed under it.

        :raises CommitConflict: nothing has been done under it since.
        """
        from hive_metastore import ttypes

        try:
            state = self.connection.check_lock(ttypes.CheckLockRequest(lockid=self.number)).state
        except (ttypes.NoSuchLockException, ttypes.TxnAbortedException, ttypes.NoSuchTxnException):
            state = None
        if state != ttypes.LockState.ACQUIRED:
            raise CommitConflict(f"The lock of table {self.ident} was lost before it was changed.")


@contextmanager
def locked(client: HiveClient, ident: TableIdent, before: str | None, patience: float) -> Iterator[Held]:
    """Hold a table's lock, which is given back in the end; behind CommitStateUnknown it is in doubt.

    :param before: where the table's metadata is as long as what is done under the lock has not happened; None where
        the table is not there any more when it has.
    :param patience: seconds to wait for whoever has it.
    :raises BergError: CONNECTION; EXECUTION where it is not given in time.
    """
    owner = Owner.here(uuid4().hex[:16], before)
    _in_use.add(owner.mark)
    try:
        with client.open() as connection:
            number = _taken(connection, ident, owner, patience)
            try:
                yield Held(connection, number, ident)
            except CommitStateUnknown:
                _keep(_Kept(client, ident, number, owner), patience * _DOUBT)
                raise
            finally:
                if owner.mark not in _in_doubt:
                    _released(client, connection, number)
    finally:
        if owner.mark not in _in_doubt:
            _in_use.discard(owner.mark)


def settle(client: HiveClient, ident: TableIdent, location: str | None) -> None:
    """Give back this process's locks of a table that were in doubt, where it shows that they are not any more.

    ``location`` is where the table's metadata was seen; None where there is no such table.
    """
    for kept in list(_in_doubt.values()):
        if kept.ident == ident and kept.client.uri == client.uri and kept.owner.has_changed(location):
            _give_up(kept)


def _keep(kept: _Kept, seconds: float) -> None:
    """Have a lock in doubt for so long at most."""
    _in_doubt[kept.owner.mark] = kept
    timer = Timer(seconds, _give_up, [kept])
    timer.daemon = True
    timer.start()


def _give_up(kept: _Kept) -> None:
    if _in_doubt.pop(kept.owner.mark, None) is not None:
        with suppress(Exception), kept.client.open() as connection:
            _unlock(connection, kept.number)
        _in_use.discard(kept.owner.mark)


def _taken(connection: Connection, ident: TableIdent, owner: Owner, patience: float) -> int:
    """The number of the lock, when it is ours."""
    from hive_metastore import ttypes

    with told(f"Locking {ident}"):
        answer = connection.lock(_request(ident, owner))
        number = int(answer.lockid)
        try:
            begun = time.monotonic()
            pause = 0.02
            others = _Others(connection, ident, patience * _DOUBT)
            while answer.state == ttypes.LockState.WAITING:
                if time.monotonic() > begun + patience:
                    raise _held(connection, ident, patience)
                others.release_lost()
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
                answer = connection.check_lock(ttypes.CheckLockRequest(lockid=number))
            if answer.state != ttypes.LockState.ACQUIRED:
                raise BergError(ErrorCode.EXECUTION, f"The metastore gives no lock for {ident}.")
        except BaseException:
            with suppress(Exception):
                connection.unlock(ttypes.UnlockRequest(lockid=number))
            raise
    return number


def _request(ident: TableIdent, owner: Owner) -> Any:
    from getpass import getuser
    from socket import gethostname

    from hive_metastore import ttypes

    part = ttypes.LockComponent(
        type=ttypes.LockType.EXCLUSIVE,
        level=ttypes.LockLevel.TABLE,
        dbname=".".join(ident.namespace),
        tablename=ident.name,
        operationType=ttypes.DataOperationType.NO_TXN,
    )
    return ttypes.LockRequest(component=[part], user=getuser(), hostname=gethostname(), agentInfo=owner.text())


def _released(client: HiveClient, connection: Connection, number: int) -> None:
    """Give a lock back, over another connection where the first broke. What cannot be given back is lost: whoever
    waits for it next takes it away, or Hive forgets it."""
    try:
        _unlock(connection, number)
    except Exception:
        with suppress(Exception), client.open() as other:
            _unlock(other, number)


def _unlock(connection: Connection, number: int) -> None:
    from hive_metastore import ttypes

    with suppress(ttypes.NoSuchLockException):
        connection.unlock(ttypes.UnlockRequest(lockid=number))


def _held(connection: Connection, ident: TableIdent, patience: float) -> BergError:
    holders = [f"{e.user} on {e.hostname}" for e in _locks(connection, ident) if e.acquiredat]
    who = holders[0] if holders else "somebody else"
    return BergError(
        ErrorCode.EXECUTION,
        f"Table {ident} is locked in the metastore by {who}, for {patience:g} s now.",
        hint="Hive forgets a lock whose holder is gone after some minutes ('hive.txn.timeout').",
    )


def _locks(connection: Connection, ident: TableIdent) -> list[Any]:
    from hive_metastore import ttypes

    request = ttypes.ShowLocksRequest(dbname=".".join(ident.namespace).lower(), tablename=ident.name.lower())
    return list(connection.show_locks(request).locks or [])


class _Others:
    """Locks of a table that stand before one that is waited for."""

    def __init__(self, connection: Connection, ident: TableIdent, doubt: float) -> None:
        self._connection, self._ident, self._doubt = connection, ident, doubt
        self._seen: dict[str, float] = {}
        """When each was seen first, by their marks."""

    def release_lost(self) -> None:
        """Take away those that nobody has any more, held or waited for: of processes of this machine that have died,
        and of this one; and those, of whomever, under which the change was made some time ago."""
        for each in _locks(self._connection, self._ident):
            owner = Owner.told(each.agentInfo)
            if owner is not None and self._is_lost(owner, each):
                _unlock(self._connection, each.lockid)

    def _is_lost(self, owner: Owner, lock: Any) -> bool:
        if owner.is_this_process() and owner.mark not in _in_use:
            return True
        dead = owner.is_dead()
        if not lock.acquiredat or lock.lastheartbeat <= lock.acquiredat:
            return dead  # it was never confirmed
        now = time.monotonic()
        watched = now - self._seen.setdefault(owner.mark, now)
        if dead and watched > self._doubt:
            return True
        if not dead and watched < _GIVES_BACK:
            return False
        table = read_table(self._connection, self._ident)
        return owner.has_changed(None if table is None else location_of(table))
