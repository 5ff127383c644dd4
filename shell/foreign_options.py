"""Options of Flink's and Spark's clients that mean nothing here: taken with a note, or refused with another's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bergsql.shell.options import Option, Options, UsageError

GATEWAY = "There is no SQL gateway to connect to yet."


def _noted(why: str) -> Callable[[Options, str], None]:
    return lambda options, _: options.notes.append(why)


def _refused(why: str, hint: str) -> Callable[[Options, str], None]:
    def apply(options: Options, value: str) -> None:  # noqa: ARG001 - an option's signature
        raise UsageError(why, hint)

    return apply


_NO_JARS = "No jars or packages are needed: {} is ignored."
_NO_CLUSTER = "There is no cluster: {} is ignored."
_NO_SIZES = "One process runs everything: {} is ignored; engine.memory-limit and engine.threads are its settings."
_FOREIGN = {
    _NO_JARS: (
        *(
            "--jar -j",
            "--library -l",
            "--jars",
            "--packages",
            "--repositories",
            "--exclude-packages",
            "--pyFiles -pyfs",
        ),
        *("--pyExecutable -pyexec", "--pyArchives -pyarch", "--pyClientExecutable -pyclientexec", "--py-files"),
        *("--files", "--archives", "--driver-class-path", "--driver-library-path", "--driver-java-options"),
    ),
    _NO_CLUSTER: (
        *("--master", "--deploy-mode", "--name", "--queue", "--principal", "--keytab", "--proxy-user", "--session -s"),
    ),
    _NO_SIZES: (
        *("--driver-memory", "--driver-cores", "--executor-memory", "--executor-cores", "--num-executors"),
        "--total-executor-cores",
    ),
}
"""Options of Flink's and Spark's clients that take a value and mean nothing here, by the note that tells so."""


def _options() -> Iterator[Option]:
    for note, names in _FOREIGN.items():
        for each in names:
            name, _, short = each.partition(" ")
            yield Option(name, "VALUE", "", _noted(note.format(name)), short=short or None)
    here = "Without --endpoint, statements run in this process."
    yield Option("--endpoint", "ADDRESS", "", _refused(GATEWAY, here))
    file = "A file of properties is not read."
    yield Option("--properties-file", "FILE", "", _refused(file, "Use --conf KEY=VALUE, or config.toml."))


OPTIONS = tuple(_options())
_BY_NAME = {name: option for option in OPTIONS for name in (option.name, option.short) if name}


def foreign_option(name: str) -> Option | None:
    """The option of that name."""
    return _BY_NAME.get(name)
