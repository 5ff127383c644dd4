"""Locks of a Hive metastore: one holds a table's while its pointer is moved (Iceberg's HiveTableOperations).

A lock outlives its holder and keeps others out until Hive forgets it, which takes minutes. So each lock says in itself
whose it is (``agentInfo``: machine, process, when that began, and which of its locks): a process that waits for one
whose process has died on this machine takes it away, and so it does with one of its own that it has lost, as where the
answer to the request never came. Nothing is written elsewhere that a crash could part from the lock.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from bergsql.catalog.errors import BergError, CommitConflict, ErrorCode
from bergsql.catalog.hive_client import told

if TYPE_CHECKING:
    from bergsql.catalog.base import TableIdent
    from bergsql.catalog.hive_client import HiveClient

_OURS: Final = "bergsql:"
_LONGEST_PAUSE: Final = 0.5
"""Seconds between two looks at a lock that is waited for."""
_in_use: set[str] = set()
"""The marks of this process's locks, from before they are asked for until they are given back."""


class Held(NamedTuple):
    """A table's lock, and the connection that asked for it."""

    connection: Any
    number: int
    ident: TableIdent

    def confirm(self) -> None:
        """Refuse to go on where the lock is not ours any more, as after a long pause of the process.

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
def locked(client: HiveClient, ident: TableIdent, patience: float) -> Iterator[Held]:
    """Hold a table's lock.

    :param patience: seconds to wait for whoever has it.
    :raises BergError: CONNECTION; EXECUTION where it is not given in time.
    """
    mark = uuid4().hex
    _in_use.add(mark)
    try:
        with client.open() as connection:
            number = _taken(connection, ident, patience, mark)
            try:
                yield Held(connection, number, ident)
            finally:
                _released(client, connection, number)
    finally:
        _in_use.discard(mark)


def _taken(connection: Any, ident: TableIdent, patience: float, mark: str) -> int:
    """The number of the lock, when it is ours."""
    from hive_metastore import ttypes

    with told(f"Locking {ident}"):
        answer = connection.lock(_request(ident, mark))
        number = int(answer.lockid)
        try:
            end = time.monotonic() + patience
            pause = 0.02
            while answer.state == ttypes.LockState.WAITING:
                if time.monotonic() > end:
                    raise _held(connection, ident, patience)
                _release_lost(connection, ident)
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


def _request(ident: TableIdent, mark: str) -> Any:
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
    return ttypes.LockRequest(component=[part], user=getuser(), hostname=gethostname(), agentInfo=_OURS + _owner(mark))


def _released(client: HiveClient, connection: Any, number: int) -> None:
    """Give a lock back, over another connection where the first broke. What cannot be given back is lost: whoever
    waits for it next takes it away, or Hive forgets it."""
    from hive_metastore import ttypes

    request = ttypes.UnlockRequest(lockid=number)
    try:
        connection.unlock(request)
    except Exception:
        with suppress(Exception), client.open() as other:
            other.unlock(request)


def _held(connection: Any, ident: TableIdent, patience: float) -> BergError:
    holders = [f"{e.user} on {e.hostname}" for e in _locks(connection, ident) if e.acquiredat]
    who = holders[0] if holders else "somebody else"
    return BergError(
        ErrorCode.EXECUTION,
        f"Table {ident} is locked in the metastore by {who}, for {patience:g} s now.",
        hint="Hive forgets a lock whose holder is gone after some minutes ('hive.txn.timeout').",
    )


def _locks(connection: Any, ident: TableIdent) -> list[Any]:
    from hive_metastore import ttypes

    request = ttypes.ShowLocksRequest(dbname=".".join(ident.namespace).lower(), tablename=ident.name.lower())
    return list(connection.show_locks(request).locks or [])


def _release_lost(connection: Any, ident: TableIdent) -> None:
    """Take away locks that nobody has any more, held or waited for: of processes of this machine that have died, and
    of this one."""
    from hive_metastore import ttypes

    for each in _locks(connection, ident):
        info = each.agentInfo or ""
        if info.startswith(_OURS) and _is_lost(info.removeprefix(_OURS)):
            with suppress(ttypes.NoSuchLockException):
                connection.unlock(ttypes.UnlockRequest(lockid=each.lockid))


@cache
def _machine() -> str:
    """What tells this machine from others, since it was started; and containers on it apart."""
    from socket import gethostname

    boot = Path("/proc/sys/kernel/random/boot_id")
    space = Path("/proc/self/ns/pid")
    parts = [boot.read_text().strip() if boot.exists() else "", str(space.readlink()) if space.exists() else ""]
    return "/".join([gethostname(), *parts])


def _owner(mark: str) -> str:
    return json.dumps([_machine(), os.getpid(), _began(os.getpid()), mark])


def _began(pid: int) -> int | None:
    """When a process began, in ticks since the machine did, which no clock changes; 0 of one that has ended and whose
    parent was not told yet. None where nobody tells (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return 0 if fields[0] in ("Z", "X") else int(fields[19])


def _is_lost(owner: str) -> bool:
    """Whether nobody has a lock any more; what cannot be told is held."""
    try:
        machine, pid, began, mark = json.loads(owner)
        if machine != _machine():
            return False
        if pid == os.getpid():
            return mark not in _in_use
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (ValueError, TypeError, OSError):
        return False
    now = _began(pid)
    return now is not None and began is not None and now != began
