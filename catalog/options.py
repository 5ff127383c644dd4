"""An option as data, and the checks of what a person gives for it: catalogs, settings and connectors build on these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean


class OptionSpec(NamedTuple):
    """One option. ``key`` may end in ``*``: any key with that beginning.

    ``type`` is one of ``str``, ``int``, ``number``, ``bool``, ``duration``, ``memory`` and ``enum`` (of ``values``);
    others are checked by whoever declares them. Whether it is a secret is told by its key (see secrets.py).
    """

    key: str
    type: str = "str"
    default: str | None = None
    doc: str = ""
    values: tuple[str, ...] = ()
    required: bool = False
    bounds: tuple[str, str] | None = None
    """The least and the most that an ``int``, a ``number`` or a ``memory`` may be."""

    def matches(self, key: str) -> bool:
        """Whether this is the option that ``key`` names."""
        return key.startswith(self.key[:-1]) if self.key.endswith("*") else key == self.key


def check_options(given: Mapping[str, str], specs: Iterable[OptionSpec], what: str) -> None:
    """Refuse options that ``what`` ("A Hadoop catalog") does not have, wrong values, and the lack of required ones."""
    specs = tuple(specs)
    for key, value in given.items():
        spec = next((s for s in specs if s.matches(key)), None)
        if spec is None:
            raise BergError(
                ErrorCode.OPTION,
                f"{what} has no option '{key}'.",
                hint=did_you_mean(key, [s.key for s in specs if not s.key.endswith("*")])
                or f"Its options are {', '.join(s.key for s in specs)}.",
            )
        if "${env:" not in value:
            check_value(spec, value)
    for spec in specs:
        if spec.required and not given.get(spec.key):
            raise BergError(ErrorCode.OPTION, f"{what} needs the option '{spec.key}'.", hint=spec.doc or None)


def check_value(spec: OptionSpec, value: str, span: Span | None = None) -> str:
    """``value`` in its canonical spelling; OPTION error at ``span`` when it is not of the option's type."""
    try:
        match spec.type:
            case "int":
                number = parse_int(value, spec.key)
                _check_bounds(value, number, spec, parse_int)
                return str(number)
            case "number":
                _check_bounds(value, parse_number(value, spec.key), spec, parse_number)
            case "bool":
                return "true" if parse_bool(value, spec.key) else "false"
            case "duration":
                parse_duration(value, spec.key)
            case "memory":
                _check_bounds(value, parse_memory(value, spec.key), spec, parse_memory)
            case "enum":
                return _check_enum(value, spec)
    except BergError as error:
        raise error.at(span) from None
    return value


def _check_bounds(value: str, amount: float, spec: OptionSpec, parse: Callable[[str], float]) -> None:
    if spec.bounds is not None:
        least, most = spec.bounds
        if not parse(least) <= amount <= parse(most):
            raise _wrong(value, spec.key, f"{least} to {most}")


def _check_enum(value: str, spec: OptionSpec) -> str:
    for known in spec.values:
        if known.casefold() == value.casefold():
            return known
    raise BergError(
        ErrorCode.OPTION,
        f"'{value}' is not a value of '{spec.key}': it takes {_either(spec.values)}.",
        hint=did_you_mean(value, spec.values),
    )


def _either(values: tuple[str, ...]) -> str:
    quoted = [f"'{v}'" for v in values]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _wrong(value: str, key: str | None, takes: str) -> BergError:
    subject = f"'{value}' is not a value of '{key}'" if key else f"'{value}' is not understood"
    return BergError(ErrorCode.OPTION, f"{subject}: it takes {takes}.")


def parse_int(value: str, key: str | None = None) -> int:
    """A whole number."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
        raise _wrong(value, key, "a whole number")
    return int(value)


def parse_number(value: str, key: str | None = None) -> float:
    """A number, with or without a fraction."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?", value.strip()):
        raise _wrong(value, key, "a number")
    return float(value)


def parse_bool(value: str, key: str | None = None) -> bool:
    """``true`` or ``false``, in any case."""
    match value.strip().casefold():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise _wrong(value, key, "true or false")


_AMOUNT = r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Zµ]*)"

_MILLISECONDS: dict[float, tuple[str, ...]] = {
    1e-6: ("ns", "nano", "nanos", "nanosecond", "nanoseconds"),
    1e-3: ("us", "µs", "micro", "micros", "microsecond", "microseconds"),
    1: ("", "ms", "milli", "millis", "millisecond", "milliseconds"),
    1_000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "mins", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
}
_BYTES: dict[float, tuple[str, ...]] = {
    1: ("", "b", "byte", "bytes"),
    1 << 10: ("k", "kb", "kib", "kibibytes"),
    1 << 20: ("m", "mb", "mib", "mebibytes"),
    1 << 30: ("g", "gb", "gib", "gibibytes"),
    1 << 40: ("t", "tb", "tib", "tebibytes"),
}


def parse_duration(value: str, key: str | None = None) -> int:
    """Milliseconds of ``500 ms``, ``10s``, ``1 min``, ``2 h``, ``1 d``; a bare number is milliseconds."""
    return _amount(value, key, _MILLISECONDS, "a duration such as '500 ms', '10 s' or '1 min'")


def parse_memory(value: str, key: str | None = None) -> int:
    """Bytes of ``512mb``, ``1 gb``, ``1GiB``; a bare number is bytes. Units are powers of 1024, as Flink's are."""
    return _amount(value, key, _BYTES, "a size such as '512mb' or '1 gb'")


def _amount(value: str, key: str | None, units: Mapping[float, tuple[str, ...]], takes: str) -> int:
    m = re.fullmatch(_AMOUNT, value.strip())
    factor = next((f for f, names in units.items() if m and m[2].casefold() in names), None)
    if m is None or factor is None:
        raise _wrong(value, key, takes)
    return round(float(m[1]) * factor) if "." in m[1] or factor < 1 else int(m[1]) * int(factor)


def env_refused(reference: str, span: Span | None = None) -> BergError:
    """The error for a ``${env:NAME}`` where statements may not read the environment."""
    return BergError(
        ErrorCode.INVALID,
        f"{reference} is not allowed here: bergsql was started with --safe.",
        span=span,
        hint="The command line and config.toml may name it.",
    )


def resolve_env(value: str) -> str:
    """``value`` with each ``${env:NAME}`` replaced by that environment variable, which must be set.

    Called at the last moment, so that what is shown, stored and logged holds the reference and not the secret.
    """
    if "${env:" not in value:
        return value
    import os

    def lookup(m: re.Match[str]) -> str:
        found = os.environ.get(m[1])
        if found is None:
            raise BergError(
                ErrorCode.OPTION, f"The environment variable '{m[1]}' is not set.", hint=did_you_mean(m[1], os.environ)
            )
        return found

    return re.sub(r"\$\{env:([^}]*)\}", lookup, value)
