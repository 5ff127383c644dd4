"""The client of a Hive metastore: PyIceberg's Thrift classes, connections that are used again, and errors as ours."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from bergsql.catalog.errors import BergError, CommitStateUnknown, ErrorCode

PORT: Final = 9083
_TIMEOUT: Final = 30_000
"""Milliseconds to wait for an answer."""
_LONGEST_IDLE: Final = 60.0
"""Seconds after which a connection that nobody used is not trusted: what lies between may have forgotten it."""


class NoAnswer(BergError):
    """The metastore gave no answer: nobody knows whether it did what it was asked."""

    def __init__(self, uri: str, why: str) -> None:
        message = f"The Hive metastore at {uri} does not answer: {why}."
        super().__init__(ErrorCode.CONNECTION, message, hint="Look whether it runs, and at 'uri'.")
        self.why = why


class Connection:
    """One of a metastore's connections. Its methods are Thrift's, as in hive_metastore.thrift.

    What the metastore refuses is raised as Thrift's exception, for want of an answer :class:`NoAnswer`.
    """

    def __init__(self, client: Any, transport: Any, uri: str) -> None:
        self._client, self._transport, self._uri = client, transport, uri
        self._asking = False
        self._used = time.monotonic()

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._client, method)

        def ask(*arguments: Any) -> Any:
            from thrift.protocol.TProtocol import TProtocolException
            from thrift.Thrift import TException
            from thrift.transport.TTransport import TTransportException

            # An interruption in a call leaves this as it is.
            self._asking = True
            try:
                answer = call(*arguments)
            except TProtocolException as error:
                raise NoAnswer(self._uri, "what answers there is no metastore") from error
            except (TTransportException, EOFError, OSError) as error:
                raise NoAnswer(self._uri, _broken(error)) from error
            except TException:
                self._asking = False
                raise
            self._asking = False
            return answer

        return ask

    def serves(self) -> bool:
        """Whether it can be used again. The other side is not asked, but it is known when it has ended."""
        recent = time.monotonic() - self._used < _LONGEST_IDLE
        return not self._asking and recent and bool(self._transport.isOpen())

    def keep(self) -> None:
        self._used = time.monotonic()

    def close(self) -> None:
        with suppress(Exception):
            self._transport.close()


class HiveClient:
    """A metastore, or several that serve the same: the first that answers is asked."""

    def __init__(self, uri: str, most: int = 2) -> None:
        """``uri``: ``thrift://host:port``, with commas between several; ``most`` connections are kept for later.

        :raises BergError: OPTION for anything else.
        """
        self.uri = uri
        self._places = [_place(each.strip(), uri) for each in uri.split(",")]
        self._most = most
        self._idle: list[Connection] = []
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def open(self) -> Iterator[Connection]:
        """A connection for some calls.

        :raises BergError: CONNECTION where nobody answers, or the connection breaks.
        """
        connection = self._kept() or self._connected()
        try:
            yield connection
        finally:
            if len(self._idle) < self._most and connection.serves():
                connection.keep()
                self._idle.append(connection)
            else:
                connection.close()

    def _kept(self) -> Connection | None:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                connection = self._idle.pop()
                if connection.serves():
                    return connection
                connection.close()
        return None

    def _connected(self) -> Connection:
        import logging
        import socket as sockets

        from hive_metastore.ThriftHiveMetastore import Client
        from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
        from thrift.transport import TSocket, TTransport

        # It tells of each place that does not answer, we of all together.
        logging.getLogger("thrift.transport.TSocket").disabled = True
        for n, (host, port) in enumerate(self._places):
            socket = TSocket.TSocket(host, port, socket_keepalive=True)
            socket.setTimeout(_TIMEOUT)
            try:
                socket.open()
                # A table of many columns is more than a packet: the last one is not to wait for an acknowledgement.
                socket.handle.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
            except (TTransport.TTransportException, OSError) as error:
                if n == len(self._places) - 1:
                    raise NoAnswer(self.uri, _broken(error)) from error
                continue
            transport = TTransport.TBufferedTransport(socket)
            return Connection(Client(TBinaryProtocolAccelerated(transport, strictRead=True)), transport, self.uri)
        raise AssertionError("there is one place at least")


def _close_all(connections: list[Connection]) -> None:
    for each in connections:
        each.close()


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What a metastore refuses, as ours: ``doing`` names what failed.

    :raises BergError: EXECUTION.
    """
    from thrift.Thrift import TException

    try:
        yield
    except TException as error:
        raise BergError(ErrorCode.EXECUTION, f"{doing} failed: the metastore says: {_words(error)}.") from error


class OutcomeCounts:
    """Around one call that changes something. Where it gets no answer, or is interrupted, ``happened`` looks whether it
    did what it was to: then all is well. Not to see it proves nothing, as it may still happen.

    :raises CommitStateUnknown: it was not seen.
    """

    # No generator: contextlib changes what is raised through one, and the metastore's exceptions refuse that.
    def __init__(self, client: HiveClient, doing: str, happened: Callable[[Connection], bool]) -> None:
        self._client, self._doing, self._happened = client, doing, happened

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        from thrift.Thrift import TException

        if error is None or isinstance(error, TException):
            return False  # an answer
        if self._seen():
            return True
        why = error.why if isinstance(error, NoAnswer) else _words(error)
        message = f"{self._doing}: the metastore gave no answer ({why}), and it may still happen."
        raise CommitStateUnknown(message, hint="Look whether it has happened before you do it again.") from error

    def _seen(self) -> bool:
        from thrift.Thrift import TException

        with suppress(BergError), self._client.open() as other:
            try:
                return self._happened(other)
            except TException:
                return False
        return False


def _broken(error: Exception) -> str:
    """What became of a connection: Thrift tells it in the words of its parts."""
    from thrift.transport.TTransport import TTransportException

    below = getattr(error, "inner", None) or error
    if isinstance(below, TimeoutError):
        return f"nothing came for {_TIMEOUT // 1000} s"
    if isinstance(below, EOFError) or getattr(error, "type", None) == TTransportException.END_OF_FILE:
        return "the connection was closed"
    return below.strerror if isinstance(below, OSError) and below.strerror else _words(error)


def _words(error: BaseException) -> str:
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
