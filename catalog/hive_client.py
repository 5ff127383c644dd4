"""The client of a Hive metastore: PyIceberg's Thrift classes, a connection for each question, and errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from bergsql.catalog.errors import BergError, CommitStateUnknown, ErrorCode

PORT: Final = 9083
_TIMEOUT: Final = 30_000
"""Milliseconds to wait for an answer."""


class HiveClient:
    """A metastore, or several that serve the same: the first that answers is asked."""

    def __init__(self, uri: str) -> None:
        """``uri``: ``thrift://host:port``, with commas between several.

        :raises BergError: OPTION for anything else.
        """
        self.uri = uri
        self._places = [_place(each.strip(), uri) for each in uri.split(",")]

    @contextmanager
    def open(self) -> Iterator[Any]:
        """A connection: calls are Thrift's, as in hive_metastore.thrift. Thrift's own errors pass.

        :raises BergError: CONNECTION where nobody answers, or the connection breaks.
        """
        from hive_metastore.ThriftHiveMetastore import Client
        from thrift.protocol import TBinaryProtocol
        from thrift.transport import TTransport

        transport = self._connected()
        try:
            yield Client(TBinaryProtocol.TBinaryProtocol(transport))
        except (TTransport.TTransportException, EOFError, OSError) as error:
            raise self.lost(error) from error
        finally:
            with suppress(Exception):
                transport.close()

    def _connected(self) -> Any:
        import logging

        from thrift.transport import TSocket, TTransport

        # It tells of each place that does not answer, we of all together.
        logging.getLogger("thrift.transport.TSocket").disabled = True
        for n, (host, port) in enumerate(self._places):
            socket = TSocket.TSocket(host, port)
            socket.setTimeout(_TIMEOUT)
            transport = TTransport.TBufferedTransport(socket)
            try:
                transport.open()
            except TTransport.TTransportException as error:
                if n == len(self._places) - 1:
                    raise self.lost(error) from error
                continue
            return transport
        raise AssertionError("there is one place at least")

    def lost(self, error: Exception) -> BergError:
        """The error for a metastore that does not answer."""
        return BergError(
            ErrorCode.CONNECTION,
            f"The Hive metastore at {self.uri} does not answer: {_words(error)}.",
            hint="Look whether it runs, and at 'uri'.",
        )


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What a metastore refuses, as ours: ``doing`` names what failed.

    :raises BergError: EXECUTION.
    """
    from thrift.Thrift import TException
    from thrift.transport.TTransport import TTransportException

    try:
        yield
    except TTransportException:
        raise  # the connection's, which knows where it led
    except TException as error:
        raise BergError(ErrorCode.EXECUTION, f"{doing} failed: the metastore says: {_words(error)}.") from error


@contextmanager
def outcome_counts(doing: str) -> Iterator[None]:
    """Around what changes something: where the connection breaks in it, nobody knows whether it did."""
    from thrift.transport.TTransport import TTransportException

    try:
        yield
    except (TTransportException, EOFError, OSError) as error:
        raise CommitStateUnknown(f"{doing}: the connection to the metastore broke: {_words(error)}.") from error


def _words(error: Exception) -> str:
    """The first line of what an error says."""
    text = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(text).strip().splitlines()[0].rstrip(".")[:300]


def _place(uri: str, whole: str) -> tuple[str, int]:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
        port = None
        parts = urlsplit("")
    if parts.scheme != "thrift" or not host:
        message = f"'{whole}' is not a value of 'uri': it takes thrift://host:{PORT}."
        raise BergError(ErrorCode.OPTION, message)
    return host, port or PORT
