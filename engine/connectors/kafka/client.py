"""The client of Kafka, librdkafka: its configuration by a table's options, and its errors as ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.extras import need

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

PREFIX: Final = "properties."
TIMEOUT: Final = 10.0
"""Seconds to wait for an answer of the brokers."""

_NAMES: Final[Mapping[str, str]] = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
}
"""What librdkafka calls otherwise than Java."""
_HEARD: Final = frozenset({"auto.offset.reset", "commit.offsets.on.checkpoint", "partition.discovery.interval.ms"})
"""What our reader does by itself."""
_WITHOUT_EFFECT: Final = frozenset(
    """
    auto.commit.interval.ms auto.include.jmx.reporter client.id.prefix default.api.timeout.ms enable.auto.commit
    enable.auto.offset.store enable.partition.eof exclude.internal.topics interceptor.classes key.deserializer
    key.serializer max.block.ms max.poll.records metadata.max.idle.ms metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partitioner.availability.timeout.ms
    partitioner.adaptive.partitioning.enable register.consumer.metrics security.providers
    socket.connection.setup.timeout.max.ms ssl.keymanager.algorithm ssl.protocol ssl.provider
    ssl.secure.random.implementation ssl.trustmanager.algorithm transactional.id value.deserializer value.serializer
    """.split()
)
"""What only Java's clients have, or what is ours to say: how values are read, when offsets are committed."""
_OURS: Final = frozenset(
    {"debug", "log_level", "log.queue", "logger", "on_commit", "on_delivery", "default.topic.config"}
)
"""What only a program can say, or what would write lines between a person's results."""
_STORES: Final = re.compile(r"ssl\.(truststore|keystore)\.")


def check_installed(connector: str) -> None:
    """Refuse a table of Kafka where its client is not installed."""
    need(f"Connector '{connector}'", "kafka", "confluent_kafka")


def configuration(options: Mapping[str, str]) -> dict[str, Any]:
    """librdkafka's configuration of a table: what its options ``properties.…`` say, and no lines on stderr.

    :raises BergError: OPTION for what librdkafka does not have.
    """
    made: dict[str, Any] = {"log_level": 0}
    for key, value in options.items():
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        if name in _HEARD or name in _WITHOUT_EFFECT:
            continue
        if name in _OURS or name.endswith("_cb"):
            raise BergError(ErrorCode.OPTION, f"The option '{key}' is for programs: it cannot be given here.")
        if _STORES.match(name):
            raise BergError(
                ErrorCode.OPTION,
                f"The option '{key}' is for Java's key stores, which are not read here.",
                hint="Use files of PEM: 'properties.ssl.ca.location', 'properties.ssl.certificate.location', "
                "'properties.ssl.key.location'.",
            )
        if name == "sasl.jaas.config":
            made |= _login(value)
        elif name == "ssl.endpoint.identification.algorithm" and not value:
            made[name] = "none"
        elif name == "buffer.memory":
            made["queue.buffering.max.kbytes"] = max(1, whole_number(options, key) >> 10)
        else:
            made[_NAMES.get(name, name)] = value
    return made


def check_properties(options: Mapping[str, str]) -> None:
    """Refuse properties that nobody knows. Those of :data:`KNOWN` are not asked for, nor is anything where the client
    is not installed: it is refused when the table is used.

    :raises BergError: OPTION.
    """
    plain = {key: value for key, value in options.items() if "${env:" not in value}
    asked = {name: value for name, value in configuration(plain).items() if name not in KNOWN and name != "log_level"}
    if not asked or find_spec("confluent_kafka") is None:
        return
    from confluent_kafka import KafkaException, Producer

    for name, value in asked.items():
        try:
            Producer({name: value, "log_level": 0})  # without servers, it connects to nothing
        except KafkaException as error:
            if "No such" in error.args[0].str():  # what values mean together is known when it is used
                raise translated(error.args[0], "", "") from None


def whole_number(options: Mapping[str, str], key: str) -> int:
    """
    :raises BergError: OPTION.
    """
    try:
        return int(options[key])
    except ValueError:
        raise BergError(
            ErrorCode.OPTION, f"'{options[key]}' is not a value of '{key}': it takes a whole number."
        ) from None


def without_effect(options: Mapping[str, str]) -> str | None:
    """What to say of options that a table may have and that do nothing here."""
    found = [f"'{key}'" for key in options if key.removeprefix(PREFIX) in _WITHOUT_EFFECT and key.startswith(PREFIX)]
    return f"Without effect here, as they are for Java's client: {', '.join(sorted(found))}." if found else None


def _login(text: str) -> dict[str, str]:
    """User and password of Java's way to say them."""
    found = dict(re.findall(r"""(username|password)\s*=\s*["']([^"']*)["']""", text))
    if set(found) != {"username", "password"}:
        raise BergError(
            ErrorCode.OPTION,
            "'properties.sasl.jaas.config' names no username and password.",
            hint="Or use 'properties.sasl.username' and 'properties.sasl.password'.",
        )
    return {f"sasl.{key}": value for key, value in found.items()}


@contextmanager
def told(as_ours: Callable[[KafkaError], BergError]) -> Iterator[None]:
    """Errors of the client as ours."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise as_ours(error.args[0]) from error


def translated(error: KafkaError, servers: str, doing: str) -> BergError:
    """An error of librdkafka, as it is told: ``doing`` says what failed, "Reading topic t"."""
    from confluent_kafka import KafkaError

    text = error.str()
    match error.code():
        case KafkaError._INVALID_ARG:
            unknown = re.search(r'No such configuration property: "([^"]+)"', text)
            if unknown is not None:
                return BergError(
                    ErrorCode.OPTION,
                    f"Kafka's client has no property '{unknown[1]}': the option 'properties.{unknown[1]}' is unknown.",
                    hint=did_you_mean(unknown[1], KNOWN),
                )
            return BergError(ErrorCode.OPTION, f"Kafka's client refuses its configuration: {text}.")
        case KafkaError._TRANSPORT | KafkaError._ALL_BROKERS_DOWN | KafkaError._TIMED_OUT | KafkaError._RESOLVE:
            return BergError(
                ErrorCode.CONNECTION,
                f"{doing} failed: no broker answers at {servers}.",
                hint="Is 'properties.bootstrap.servers' right, and is the broker running?",
            )
        case KafkaError._AUTHENTICATION | KafkaError.SASL_AUTHENTICATION_FAILED:
            return BergError(ErrorCode.CONFIG, f"{doing} failed: {servers} refuses the login: {text}.")
        case (
            KafkaError.TOPIC_AUTHORIZATION_FAILED
            | KafkaError.GROUP_AUTHORIZATION_FAILED
            | KafkaError.CLUSTER_AUTHORIZATION_FAILED
            | KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return BergError(ErrorCode.CONFIG, f"{doing} failed: the user may not do that: {text}.")
        case KafkaError.UNKNOWN_TOPIC_OR_PART | KafkaError._UNKNOWN_TOPIC | KafkaError._UNKNOWN_PARTITION:
            return BergError(ErrorCode.NOT_FOUND, f"{doing} failed: {text}.")
    return BergError(ErrorCode.CONNECTION, f"{doing} failed: {text}.")


KNOWN: Final = (
    *_NAMES,
    *_HEARD,
    *_WITHOUT_EFFECT,
    *"""
    acks allow.auto.create.topics batch.size bootstrap.servers broker.address.family buffer.memory check.crcs
    client.dns.lookup client.id client.rack compression.codec compression.level compression.type
    connections.max.idle.ms delivery.timeout.ms enable.idempotence fetch.error.backoff.ms fetch.max.bytes
    fetch.message.max.bytes fetch.min.bytes fetch.wait.max.ms group.id group.instance.id group.protocol
    heartbeat.interval.ms isolation.level linger.ms max.in.flight.requests.per.connection max.partition.fetch.bytes
    max.poll.interval.ms message.max.bytes message.send.max.retries message.timeout.ms metadata.max.age.ms
    partition.assignment.strategy partitioner queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages reconnect.backoff.max.ms
    reconnect.backoff.ms request.required.acks retries retry.backoff.max.ms retry.backoff.ms sasl.jaas.config
    sasl.kerberos.keytab sasl.kerberos.kinit.cmd sasl.kerberos.principal sasl.kerberos.service.name sasl.mechanism
    sasl.mechanisms sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.method
    sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol session.timeout.ms
    socket.connection.setup.timeout.ms socket.keepalive.enable socket.timeout.ms ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem ssl.cipher.suites ssl.endpoint.identification.algorithm
    ssl.key.location ssl.key.password ssl.key.pem sticky.partitioning.linger.ms transaction.timeout.ms
    """.split(),
)
"""Names that people write, to hint at."""


class Troubles:
    """What the client says of brokers that it cannot reach, told once while it lasts: it connects again by itself."""

    def __init__(self, servers: str, note: Callable[[str], None]) -> None:
        self._servers, self._note = servers, note
        self.down = False
        self.fatal: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        lasting = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED)
        if error.fatal() or error.code() in lasting:
            self.fatal = self.fatal or error
        elif error.code() == KafkaError._ALL_BROKERS_DOWN and not self.down:
            self.down = True
            self._note(f"No broker answers at {self._servers}; the client tries again.")

    def over(self) -> None:
        """Messages came."""
        if self.down:
            self.down = False
            self._note(f"The brokers at {self._servers} answer again.")
