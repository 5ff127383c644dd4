"""A way to a service that breaks at a request: a process is killed, or the connection cut, before or after it.

A client is given :attr:`WireProxy.address` in place of the service's own. Requests are told by labels: of Kafka the name
of the API (``EndTxn``), of MySQL and PostgreSQL the text of the statement, of a Hive Metastore the method's name.
"Before" a request the service has not seen it; "after" it, the service has answered and the client has not heard. A
late request comes to the service only when the test lets it, long after its client found the connection broken.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import psutil

from tests.support.services.server import until

_CHUNK = 1 << 16
_DEAD = 30.0
"""Seconds until a process that was killed must be gone."""


class Frame(NamedTuple):
    """A piece of what is sent. ``label`` is told of the piece that begins a request, ``token`` ties its answer to it."""

    data: bytes
    label: str | None = None
    token: int = 0


@dataclass(slots=True)
class Fault:
    """What happens at the ``nth`` request, from 1, whose label ``kind`` (a regular expression) finds."""

    kind: re.Pattern[str]
    nth: int
    after: bool
    kill: Callable[[], int] | None
    """The process that is killed; without one the connection is cut."""
    late: bool = False
    fired: threading.Event = field(default_factory=threading.Event)
    let: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    met: int = 0

    def let_through(self) -> None:
        """Send a late request on, until the service has answered it."""
        self.let.set()
        assert self.answered.wait(_DEAD), "the service does not answer the late request"

    def at(self, label: str) -> bool:
        """Whether this is the request, which is counted."""
        if self.fired.is_set() or not self.kind.search(label):
            return False
        self.met += 1
        return self.met == self.nth

    def fire(self) -> None:
        if self.kill is not None:
            pid = self.kill()
            with suppress(ProcessLookupError, psutil.NoSuchProcess):
                process = psutil.Process(pid)
                process.kill()
                # Not waited for: its own parent may want to hear how it ended.
                until("end of the process", lambda: process.status() == psutil.STATUS_ZOMBIE, _DEAD)
        self.fired.set()


class Wire(ABC):
    """One connection's two streams, taken apart; what is not whole yet waits."""

    def __init__(self, near: int) -> None:
        self.near = near
        """The proxy's own port."""

    @abstractmethod
    def asked(self, data: bytes) -> Iterator[Frame]:
        """Pieces of what the client sends."""

    @abstractmethod
    def answered(self, data: bytes) -> Iterator[Frame]:
        """Pieces of what the service sends; ``token`` is that of the request whose answer ends or begins here."""


class Prefixed:
    """A stream of messages that begin with their length."""

    def __init__(self, head: int, length: Callable[[bytes], int]) -> None:
        self._head, self._length, self._rest = head, length, b""

    def whole(self, data: bytes) -> Iterator[bytes]:
        self._rest += data
        while len(self._rest) >= self._head:
            size = self._length(self._rest)
            if len(self._rest) < size:
                return
            message, self._rest = self._rest[:size], self._rest[size:]
            yield message


def _int32(data: bytes) -> int:
    return 4 + int.from_bytes(data[:4], "big")


class KafkaWire(Wire):
    """Requests and answers are told by their correlation ids; a broker's own port in an answer becomes the proxy's."""

    APIS: ClassVar = {
        0: "Produce",
        1: "Fetch",
        2: "ListOffsets",
        3: "Metadata",
        8: "OffsetCommit",
        9: "OffsetFetch",
        10: "FindCoordinator",
        22: "InitProducerId",
        24: "AddPartitionsToTxn",
        25: "AddOffsetsToTxn",
        26: "EndTxn",
        28: "TxnOffsetCommit",
    }

    def __init__(self, near: int) -> None:
        super().__init__(near)
        self._out, self._in = Prefixed(4, _int32), Prefixed(4, _int32)
        self._names_brokers: set[int] = set()

    def asked(self, data: bytes) -> Iterator[Frame]:
        for message in self._out.whole(data):
            api, _, number = struct.unpack_from(">hhi", message, 4)
            label = self.APIS.get(api, f"Api{api}")
            if label in ("Metadata", "FindCoordinator"):
                self._names_brokers.add(number)
            yield Frame(message, label, number)

    def answered(self, data: bytes) -> Iterator[Frame]:
        for message in self._in.whole(data):
            (number,) = struct.unpack_from(">i", message, 4)
            if number in self._names_brokers:
                self._names_brokers.discard(number)
                # A port is four bytes behind the host, however the host's length is written.
                message = re.sub(rb"127\.0\.0\.1....", b"127.0.0.1" + struct.pack(">i", self.near), message, flags=re.S)
            yield Frame(message, None, number)


class _Asking(Wire):
    """A protocol in which an answer comes before the next request; the first piece of it counts as the answer."""

    def __init__(self, near: int) -> None:
        super().__init__(near)
        self._asked = 0

    def answered(self, data: bytes) -> Iterator[Frame]:
        yield Frame(data, None, self._asked)

    def request(self, data: bytes, label: str) -> Frame:
        self._asked += 1
        return Frame(data, label, self._asked)


class MySqlWire(_Asking):
    """Packets with a number of their own: a command's is 0."""

    def __init__(self, near: int) -> None:
        super().__init__(near)
        self._out = Prefixed(4, lambda data: 4 + int.from_bytes(data[:3], "little"))

    def asked(self, data: bytes) -> Iterator[Frame]:
        for packet in self._out.whole(data):
            command, text = packet[4:5], packet[5:]
            if packet[3] != 0:
                yield Frame(packet)
            elif command == b"\x03":
                yield self.request(packet, text.decode(errors="replace"))
            elif command in (b"\x12", b"\x1e"):
                yield self.request(packet, "BINLOG DUMP")
            else:
                yield self.request(packet, f"COMMAND {command.hex()}")


class PostgresWire(_Asking):
    """Messages with a letter before their length, behind some at the start that have none."""

    _PLAIN = (80877103, 80877104)
    """Asks whether the connection may be encrypted; the answer is one letter, and the start is still to come."""

    def __init__(self, near: int) -> None:
        super().__init__(near)
        self._started = False
        self._rest = b""

    def asked(self, data: bytes) -> Iterator[Frame]:
        self._rest += data
        while True:
            head = 1 if self._started else 0
            if len(self._rest) < head + 4:
                return
            size = head + int.from_bytes(self._rest[head : head + 4], "big")
            if len(self._rest) < size:
                return
            message, self._rest = self._rest[:size], self._rest[size:]
            if not self._started:
                self._started = int.from_bytes(message[4:8], "big") not in self._PLAIN
                yield Frame(message)
            elif message[:1] == b"Q":
                yield self.request(message, message[5:-1].decode(errors="replace"))
            elif message[:1] == b"P":
                yield self.request(message, message[5:].split(b"\0")[1].decode(errors="replace"))
            else:
                yield Frame(message)


class HiveWire(_Asking):
    """Thrift's binary protocol without frames: a call begins where the answer to the one before has come."""

    def __init__(self, near: int) -> None:
        super().__init__(near)
        self._waits = True
        self._rest = b""

    def asked(self, data: bytes) -> Iterator[Frame]:
        if not self._waits:
            yield Frame(data)
            return
        self._rest += data
        size = 8 + int.from_bytes(self._rest[4:8], "big")
        if len(self._rest) < 8 or len(self._rest) < size:
            return
        call, self._rest, self._waits = self._rest, b"", False
        yield self.request(call, call[8:size].decode())

    def answered(self, data: bytes) -> Iterator[Frame]:
        self._waits = True
        yield from super().answered(data)


WIRES: dict[str, type[Wire]] = {"kafka": KafkaWire, "mysql": MySqlWire, "postgres": PostgresWire, "hive": HiveWire}


class WireProxy:
    """A proxy before the service at ``port`` of this machine, which speaks one of :data:`WIRES`.

    ``seen`` has the labels of all requests so far, in order; ``taken`` is how many connections there were.
    """

    def __init__(self, protocol: str, port: int) -> None:
        self._wire, self._far = WIRES[protocol], port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.seen: list[str] = []
        self.taken = 0
        self._faults: list[Fault] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def arm(
        self, kind: str, nth: int = 1, *, after: bool = False, kill: Callable[[], int] | None = None, late: bool = False
    ) -> Fault:
        """Let something happen at the ``nth`` request from now of a kind; see :class:`Fault`."""
        fault = Fault(re.compile(kind, re.IGNORECASE), nth, after, kill, late)
        with self._lock:
            self._faults.append(fault)
        return fault

    def disarm(self) -> None:
        with self._lock:
            self._faults.clear()

    def cut(self) -> None:
        """Cut all connections; new ones are taken."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            _reset(end)

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._far), 5)
                except OSError:
                    _reset(near)
                    continue
                far.settimeout(None)
                for end in (near, far):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self.taken += 1
                    self._open |= {near, far}
                _Connection(self, self._wire(self.port), near, far).start()

    def met(self, label: str) -> Fault | None:
        """The fault of a request, if it has one."""
        with self._lock:
            self.seen.append(label)
            found = [fault for fault in self._faults if fault.at(label)]
        return found[0] if found else None

    def over(self, *ends: socket.socket) -> None:
        with self._lock:
            self._open -= set(ends)
        for end in ends:
            _reset(end)


class _Connection:
    """Two threads, one for each direction."""

    def __init__(self, proxy: WireProxy, wire: Wire, near: socket.socket, far: socket.socket) -> None:
        self._proxy, self._wire, self._near, self._far = proxy, wire, near, far
        self._after: dict[int, Fault] = {}

    def start(self) -> None:
        for way in (self._ask, self._answer):
            threading.Thread(target=self._run, args=(way,), daemon=True).start()

    def _run(self, way: Callable[[], None]) -> None:
        with suppress(OSError):
            way()
        self._proxy.over(self._near, self._far)

    def _ask(self) -> None:
        while data := self._near.recv(_CHUNK):
            for frame in self._wire.asked(data):
                fault = None if frame.label is None else self._proxy.met(frame.label)
                if fault is not None and fault.late:
                    self._send_late(fault, frame)
                    return
                if fault is not None and not fault.after:
                    fault.fire()
                    return
                if fault is not None:
                    self._after[frame.token] = fault
                self._far.sendall(frame.data)

    def _send_late(self, fault: Fault, frame: Frame) -> None:
        self._after[frame.token] = fault
        fault.fire()
        _reset(self._near)
        fault.let.wait()
        self._far.sendall(frame.data)
        fault.answered.wait(_DEAD)

    def _answer(self) -> None:
        while data := self._far.recv(_CHUNK):
            for frame in self._wire.answered(data):
                fault = self._after.pop(frame.token, None)
                if fault is not None:
                    fault.answered.set()
                    fault.fire()
                    return
                self._near.sendall(frame.data)


def _reset(end: socket.socket) -> None:
    """Close at once, so that the other side finds the connection broken rather than ended."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Closing alone would leave the other thread in its recv.
        end.shutdown(socket.SHUT_RD)
    end.close()


@contextmanager
def proxied(protocol: str, port: int) -> Iterator[WireProxy]:
    """A proxy before a service."""
    proxy = WireProxy(protocol, port)
    try:
        yield proxy
    finally:
        proxy.close()
