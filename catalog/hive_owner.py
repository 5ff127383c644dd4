"""Whose a lock of a Hive metastore is, as the lock itself tells in its ``agentInfo``, which holds 128 characters."""

from __future__ import annotations

import json
import os
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

_OURS: Final = "bergsql:"


class Owner(NamedTuple):
    """What has a lock: a machine, a process of it, when that began, and which of its locks it is.

    ``before`` stands for where the table's metadata is as long as what is done under the lock has not happened.
    """

    machine: str
    pid: int
    began: int | None
    mark: str
    before: str

    @classmethod
    def here(cls, mark: str, before: str | None) -> Owner:
        """This process."""
        return cls(machine(), os.getpid(), began(os.getpid()), mark, shortened(before))

    @classmethod
    def told(cls, text: str | None) -> Owner | None:
        """The owner in a lock's ``agentInfo``; None for locks that are not bergsql's."""
        if text is None or not text.startswith(_OURS):
            return None
        try:
            name, pid, began_at, mark, before = json.loads(text.removeprefix(_OURS))
            return cls(str(name), int(pid), None if began_at is None else int(began_at), str(mark), str(before))
        except (ValueError, TypeError):
            return None

    def text(self) -> str:
        return _OURS + json.dumps(self, separators=(",", ":"))

    def is_this_process(self) -> bool:
        return self[:3] == (machine(), os.getpid(), began(os.getpid()))

    def is_dead(self) -> bool:
        """Whether the process has certainly ended; of other machines that cannot be told."""
        if self.machine != machine():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        now = began(self.pid)
        return now is not None and self.began is not None and now != self.began

    def has_changed(self, location: str | None) -> bool:
        """Whether the table shows what was to be done under the lock, or something later; it is at ``location``."""
        return location is None or self.before not in ("", shortened(location))


def shortened(text: str | None) -> str:
    """Some letters that stand for a text; none for None."""
    return "" if text is None else sha256(text.encode()).hexdigest()[:16]


@cache
def machine() -> str:
    """What tells this machine from others, since it was started; and containers on it apart."""
    from socket import gethostname

    boot = Path("/proc/sys/kernel/random/boot_id")
    space = Path("/proc/self/ns/pid")
    parts = [boot.read_text().strip() if boot.exists() else "", str(space.readlink()) if space.exists() else ""]
    return shortened("/".join([gethostname(), *parts]))


def began(pid: int) -> int | None:
    """When a process began, in ticks since the machine did, which no clock changes; 0 of one that has ended and whose
    parent was not told yet. None where nobody tells (proc_pid_stat(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return 0 if fields[0] in ("Z", "X") else int(fields[19])
