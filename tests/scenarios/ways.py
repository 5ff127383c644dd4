"""The three ways to run a scenario: from a file, from standard input, typed at the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.scenarios.script import Step
from tests.support.answers import Failure, parse_answer
from tests.support.berg import Berg
from tests.support.prompt import Prompt

WAYS = ("file", "stdin", "prompt")


@dataclass(slots=True)
class Outcome:
    """What a run gave so far: the lines of data in order, and the error of each step (by index) that failed."""

    data: list[str] = field(default_factory=list)
    errors: dict[int, Failure] = field(default_factory=dict)


def run_scenario(
    way: str,
    path: Path,
    steps: Sequence[Step],
    berg: Berg,
    arguments: Sequence[str] = (),
    after_step: Callable[[Step, Outcome], None] | None = None,
    until: Callable[[str], bool] | None = None,
) -> Outcome:
    """Run the unedited script. At the prompt ``after_step`` is called behind each statement.

    ``until``: the last statement has no end. Ctrl-C is pressed when what was printed is enough.
    """
    if way == "prompt":
        return _typed(steps, berg, arguments, after_step, until)
    everything = ("--continue-on-error", *arguments, *(("-f", str(path)) if way == "file" else ()))
    stdin = None if way == "file" else path.read_text(encoding="utf-8")
    if until is None:
        done = berg.run(*everything, stdin=stdin)
    else:
        done = berg.followed(*everything, until=(until,), stdin=stdin)
    outcome = Outcome([line for line in done.out.splitlines() if line])
    for failure in parse_answer(done.err.splitlines()).errors:
        outcome.errors[_failed_step(steps, failure)] = failure
    assert done.code == (int(bool(outcome.errors)) if until is None else 130), done.err
    return outcome


def _failed_step(steps: Sequence[Step], failure: Failure) -> int:
    assert failure.line is not None, f"an error without a place: {failure}"
    return next(i for i, step in enumerate(steps) if step.first_line <= failure.line <= step.last_line)


def _typed(
    steps: Sequence[Step],
    berg: Berg,
    arguments: Sequence[str],
    after_step: Callable[[Step, Outcome], None] | None,
    until: Callable[[str], bool] | None,
) -> Outcome:
    outcome = Outcome()
    with Prompt(berg, *arguments) as prompt:
        for index, step in enumerate(steps):
            endless = until if step is steps[-1] else None
            answer = prompt.answer(step.sql) if endless is None else prompt.followed(step.sql, endless)
            outcome.data += answer.data
            if answer.errors:
                (outcome.errors[index],) = answer.errors
            if after_step:
                after_step(step, outcome)
        assert prompt.leave() == 0
    return outcome


def check_errors(steps: Sequence[Step], outcome: Outcome, unsupported: Callable[[Step], bool]) -> None:
    """The steps that failed are those that must, each with the text that the script asks for."""
    for index, step in enumerate(steps):
        failure = outcome.errors.get(index)
        if unsupported(step):
            assert failure is not None, f"line {step.first_line}: {step.sql}: ran"
            assert "not supported yet" in failure.message, failure
        elif step.error is not None:
            assert failure is not None, f"line {step.first_line}: {step.sql}: ran"
            assert step.error.casefold() in str(failure).casefold(), failure
        else:
            assert failure is None, f"line {step.first_line}: {step.sql}\n{failure}"
