"""What HELP prints: the client's commands, and one statement's forms from the table of statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.sql.forms import FORMS, Form

if TYPE_CHECKING:
    from bergsql.shell.commands import Command

_KEYS = (
    "HELP statement; shows a statement's forms and an example. SET; lists what is set, SET 'sql.dialect' = 'spark';",
    "changes the flavour. At the prompt: Ctrl-C clears the input or cancels the statement, Ctrl-D leaves, Ctrl-R",
    "searches the history.",
)


def command_help(commands: Iterable[Command]) -> str:
    """The commands, and the names of all statements."""
    rows = [(command.form, command.doc) for command in commands]
    width = max(len(form) for form, _ in rows)
    lines = ["Commands of this shell:", *(f"  {form:<{width}}  {doc}" for form, doc in rows), ""]
    lines += ["Everything else is SQL, in Flink's or Spark's grammar, and ends with a semicolon:"]
    groups: dict[str, list[str]] = {}
    for form in FORMS:
        groups.setdefault(form.group, []).append(form.name)
    width = max(map(len, groups))
    for group, names in groups.items():
        lines += _wrapped(f"  {group:<{width}}  ", ", ".join(names))
    return "\n".join([*lines, "", *_KEYS]) + "\n"


def _wrapped(head: str, text: str) -> list[str]:
    from textwrap import wrap

    return wrap(text, 118, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def topic_help(asked: str, span: Span) -> str:
    """The forms of the statements whose name begins with the words that were asked for, or has them in it.

    :raises BergError: NOT_FOUND, with the nearest name.
    """
    words = " ".join(asked.upper().split())
    found = (
        [form for form in FORMS if form.name == words]
        or [form for form in FORMS if form.name.startswith(words + " ")]
        or [form for form in FORMS if any(_is_head(line, words) for line in form.syntax.split("\n"))]
        or [form for form in FORMS if f" {words} " in f" {form.name} "]
    )
    if not found:
        hint = did_you_mean(words, (form.name for form in FORMS)) or "HELP; lists the statements."
        raise BergError(ErrorCode.NOT_FOUND, f"There is no help on '{asked}'.", span=span, hint=hint)
    return "\n".join(map(_topic, found))


def _is_head(line: str, words: str) -> bool:
    """Whether a line of syntax can begin with these words: ``SHOW [FULL] MODULES`` with SHOW MODULES."""
    head = re.match(r"[A-Z_ \[\]{}|]*", line)
    known = iter(re.findall(r"[A-Z_]+", head[0] if head else ""))
    return all(word in known for word in words.split())


def _topic(form: Form) -> str:
    lines = [f"{form.name}: {form.doc}", *(f"  {line}" for line in form.syntax.split("\n"))]
    lines += ["Example:", *(f"  {line}" for line in form.example.split("\n"))]
    return "\n".join(lines) + "\n"
