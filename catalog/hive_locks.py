"""Locks of a Hive metastore: one holds a table's while its pointer is moved (Iceberg's HiveTableOperations).

A lock outlives its holder and keeps others out until Hive forgets it, which takes minutes. So each lock says in itself
whose it is (``agentInfo``: machine, process and when that began): a process that waits for one whose process has died
on this machine takes it away. Nothing is written elsewhere that a crash could part from the lock.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hive_client import told

if TYPE_CHECKING:
    from bergsql.catalog.base import TableIdent
    from bergsql.catalog.hive_client import HiveClient

_OURS: Final = "bergsql:"
_LONGEST_PAUSE: Final = 0.5
"""Seconds between two looks at a lock that is waited for."""


@contextmanager
def locked(client: HiveClient, ident: TableIdent, patience: float) -> Iterator[Any]:
    """Hold a table's lock; gives the connection that asked for it.

    :param patience: seconds to wait for whoever has it.
    :raises BergError: CONNECTION; EXECUTION where it is not given in time.
    """
    with client.open() as connection:
        number = _taken(connection, ident, patience)
        try:
            yield connection
        finally:
            _released(client, connection, number)


def _taken(connection: Any, ident: TableIdent, patience: float) -> int:
    """The number of the lock, when it is ours."""
    from hive_metastore import ttypes

    with told(f"Locking {ident}"):
        answer = connection.lock(_request(ident))
        number = int(answer.lockid)
        try:
            end = time.monotonic() + patience
            pause = 0.02
            while answer.state == ttypes.LockState.WAITING:
                if time.monotonic() > end:
                    raise _held(connection, ident, patience)
                _release_dead(connection, ident)
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


def _request(ident: TableIdent) -> Any:
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
    return ttypes.LockRequest(component=[part], user=getuser(), hostname=gethostname(), agentInfo=_OURS + _owner())


def _released(client: HiveClient, connection: Any, number: int) -> None:
    """Give a lock back, over another connection where the first broke. What cannot be given back, Hive forgets."""
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


def _release_dead(connection: Any, ident: TableIdent) -> None:
    """Take away the locks of processes of this machine that have died, whether they held them or waited."""
    from hive_metastore import ttypes

    for each in _locks(connection, ident):
        info = each.agentInfo or ""
        if info.startswith(_OURS) and _is_dead(info.removeprefix(_OURS)):
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


def _owner() -> str:
    import psutil

    pid = os.getpid()
    return json.dumps([_machine(), pid, psutil.Process(pid).create_time()])


def _is_dead(owner: str) -> bool:
    """Whether a process of this machine has died; what cannot be told is alive."""
    import psutil

    try:
        machine, pid, began = json.loads(owner)
        if machine != _machine():
            return False
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - began) > 0.5 or process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
    except (ValueError, TypeError, psutil.Error):
        return False
