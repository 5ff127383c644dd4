"""Going on from a store: whether the plan fits what is kept, and what was prepared is carried on.

A store is that of the same job, or the copy that a savepoint is. What it keeps is found again by the uids of the plan's
nodes; what does not fit is refused by name, before anything is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.checkpoint import Checkpoint
from bergsql.engine.streaming.kept_names import origins
from bergsql.engine.streaming.nodes import CollectNode, Node, SinkNode, SourceNode

if TYPE_CHECKING:
    from bergsql.engine.streaming.operators.base import Operator
    from bergsql.engine.streaming.sources.base import Json
    from bergsql.engine.streaming.state.store import Store

IGNORE_KEY: Final = "execution.state-recovery.ignore-unclaimed-state"
"""Flink's: whether state of an operator that the query has no more is dropped."""

_JOB: Final = "job"
_NODES: Final = "nodes"

_PREPARED: Final = "changes that are not committed yet"
_READ: Final = "how far it was read"


def check_job(store: Store, job_id: str) -> None:
    """Refuse the state of another job: its sinks would take one for the other.

    :raises BergError: INVALID.
    """
    owner = store.get_meta(_JOB)
    if owner is None:
        store.put_meta(_JOB, job_id)
    elif owner != job_id:
        raise BergError(ErrorCode.INVALID, f"The state in '{store.path}' is of the job {owner}, not of {job_id}.")


def kept_nodes(store: Store) -> Mapping[str, Any]:
    """The nodes of the plan that made what is kept, by uid; none of a new store."""
    kept: Any = store.get_meta(_NODES)
    return kept or {}


def check_plan(
    store: Store,
    nodes: Sequence[Node],
    operators: Mapping[str, Operator],
    signature: Callable[[Node], Json],
    setting: Callable[[str], str | None],
) -> None:
    """Compare a plan with what is kept, and keep what it is from now on.

    New nodes begin without state. State that belongs to no node any more is refused, or dropped where
    ``execution.state-recovery.ignore-unclaimed-state`` is true.

    :raises BergError: INVALID, naming the operator, source or sink that does not fit, and why.
    """
    from bergsql.catalog.options import parse_bool

    made = origins(nodes)
    now: dict[str, Json] = {node.uid: _description(node, operators, signature, made[node.uid]) for node in nodes}
    kept = kept_nodes(store)
    if kept != now:
        checkpoint = Checkpoint.last(store)
        scopes = [name for name in store.scopes() if store.entries(name)]
        ignore = parse_bool(setting(IGNORE_KEY) or "false", IGNORE_KEY)
        for uid, before in kept.items():
            held = _held(uid, checkpoint, checkpoint.is_committed(store), scopes)
            if held is not None:
                _compare(store, uid, held, before, now.get(uid), ignore)
        store.put_meta(_NODES, now)


def _held(uid: str, checkpoint: Checkpoint, committed: bool, scopes: list[str]) -> str | None:
    """What is kept of a node that must not be lost; None for nothing."""
    if checkpoint.committables.get(uid) is not None and not committed:
        return _PREPARED
    if checkpoint.offsets.get(uid) is not None:
        return _READ
    return "state" if any(name.partition("/")[0] == uid for name in scopes) else None


def _compare(store: Store, uid: str, held: str, before: Any, after: Any, ignore: bool) -> None:
    if after is None:
        if ignore and held == "state":
            store.drop(uid)
            return
        if ignore and held == _READ:
            return  # the offsets of the next checkpoint are without it
        raise _unfit(
            uid, held, before, "the query has it no more", can_ignore=held != "changes that are not committed yet"
        )
    if before["version"] != after["version"]:
        raise _unfit(uid, held, before, "another version of bergsql made it")
    for what in _differences(before["signature"], after["signature"]):
        raise _unfit(uid, held, before, what)


def _unfit(uid: str, held: str, before: Any, why: str, *, can_ignore: bool = False) -> BergError:
    return BergError(
        ErrorCode.INVALID,
        f"The state that was kept does not fit the query: there is {held} of {uid} ({before['name']}), but {why}.",
        hint=(
            f"SET '{IGNORE_KEY}' = 'true'; drops it."
            if can_ignore
            else "Go on with the query as it was, or start without this state."
        ),
    )


def _differences(before: Any, after: Any, name: str = "meaning") -> Iterator[str]:
    """Where two signatures differ, in words."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _differences(before.get(key), after.get(key), str(key))
    else:
        known = all(value is None or isinstance(value, str | int | bool) for value in (before, after))
        yield f"its '{name}' was {before!r} and is {after!r} now" if known else f"its '{name}' is another one now"


def _description(node: Node, operators: Mapping[str, Operator], signature: Callable[[Node], Json], origin: str) -> Json:
    """What is kept of a node, as JSON has it."""
    import json

    operator = operators.get(node.uid)
    made: dict[str, Json] = {
        "name": _name(node),
        "version": 1 if operator is None else operator.version,
        "signature": signature(node),
        "origin": origin,
    }
    plain: Json = json.loads(json.dumps(made))  # tuples are lists there
    return plain


def _name(node: Node) -> str:
    """A node in words, for people."""
    if isinstance(node, SourceNode):
        return f"the source {node.source.name}"
    if isinstance(node, SinkNode):
        return f"the sink {node.sink.name}"
    if isinstance(node, CollectNode):
        return "the result"
    return type(node).__name__.removesuffix("Node")
