"""The server's end of a slot: it sends the log, and hears how far we are.

Source: "Streaming Replication Protocol" in PostgreSQL's documentation. What is told has two places. Up to *flush* the
server forgets the log: that is told of what lasts with us, and of nothing else, so that a place that a checkpoint holds
is never behind where the slot is. Up to *write* all has come: a server that is stopped waits until that is all it has
sent, or flush is where that is told; so where it asks, flush is left out, and what does not last yet with us does not
hold it up.
"""

from __future__ import annotations

import select
import struct
import time
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.client import connect, shut, telling
from bergsql.engine.sql.quoting import identifier, string_literal

if TYPE_CHECKING:
    from bergsql.engine.connectors.postgres.options import Settings

_DATA: Final = struct.Struct(">cQQq")
"""w, where it begins, where it ends, when; and then a message of the plugin."""
_KEEPALIVE: Final = struct.Struct(">cQq?")
"""k, up to where all was sent, when, and whether an answer is wanted."""
_STATUS: Final = struct.Struct(">cQQQq?")
"""r, write, flush, apply, when, and whether an answer is wanted."""
_W: Final = ord("w")
_K: Final = ord("k")
_2000: Final = 946_684_800
"""The first moment of 2000, from which PostgreSQL counts, in seconds since 1970."""


class LogStream:
    """The messages of a slot from a position on."""

    def __init__(self, settings: Settings, start: int) -> None:
        """:raises BergError: where the slot cannot be read."""
        from psycopg.errors import error_from_result
        from psycopg.pq import ExecStatus

        self._settings = settings
        self.received = 0
        """Up to where the server has sent all that there is."""
        self._connection = connect(settings, replication=True)
        self._server = self._connection.pgconn
        options = f"proto_version '1', publication_names {string_literal(identifier(settings.publication))}"
        try:
            with telling(settings):
                self._server.nonblocking = 0
                at = f"{start >> 32:X}/{start & 0xFFFFFFFF:X}"
                asked = f"START_REPLICATION SLOT {identifier(settings.slot)} LOGICAL {at} ({options})"
                result = self._server.exec_(asked.encode())
                if result.status != ExecStatus.COPY_BOTH:
                    raise error_from_result(result)
        except BaseException:
            shut(self._connection)
            raise

    def next(self) -> bytes | None:
        """The next message, None where none has come.

        :raises Error: the driver's, where the connection broke off.
        :raises BergError: CONNECTION where the server ends.
        """
        looked = False
        while True:
            size, data = self._server.get_copy_data(1)
            if size < 0:
                raise self._ended()
            if size == 0:
                if looked:
                    return None
                self._server.consume_input()
                looked = True
            elif data[0] == _W:
                _, _, end, _ = _DATA.unpack_from(data)
                self.received = max(self.received, end)
                return bytes(data[_DATA.size :])
            elif data[0] == _K:
                _, end, _, asks = _KEEPALIVE.unpack_from(data)
                self.received = max(self.received, end)
                if asks:
                    self.tell(0)

    def tell(self, flushed: int) -> None:
        """Say how far we are: up to ``flushed`` the server may forget; with 0 nothing is said of that.

        :raises Error: the driver's, where the connection broke off.
        """
        now = int((time.time() - _2000) * 1_000_000)
        self._server.put_copy_data(_STATUS.pack(b"r", max(self.received, flushed), flushed, flushed, now, False))
        self._server.flush()

    def wait(self, seconds: float) -> None:
        """Until something comes, but no longer than that."""
        select.select([self._server.socket], [], [], seconds)

    def close(self) -> None:
        """Let the slot go."""
        shut(self._connection)

    def _ended(self) -> Exception:
        """Why nothing comes any more."""
        from psycopg.errors import error_from_result
        from psycopg.pq import ExecStatus

        result = self._server.get_result()
        if result is not None and result.status == ExecStatus.FATAL_ERROR:
            return error_from_result(result)
        return BergError(
            ErrorCode.CONNECTION,
            f"PostgreSQL at {self._settings.place} has ended the reading of slot '{self._settings.slot}': it is being "
            "stopped.",
            hint="A job tries again as 'restart-strategy' says.",
        )
