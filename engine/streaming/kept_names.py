"""Which part of a plan goes on with which part of what a store keeps, when the query was changed in between.

What is kept is kept under the uids of the plan that made it, which count its nodes. So where INSERTs changed places, or
an aggregate came before another, a number stands for another node: a sink is found again by its table, another node by
all that it computes from its sources on. What is left goes by its uid, as where a condition was added, and must mean
the same by itself then (``recovery.py``). A node that is new gets a uid that nothing is kept under.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bergsql.engine.streaming.nodes import CollectNode, Node, SinkNode, StreamPlan
from bergsql.engine.streaming.signature import signature_of

if TYPE_CHECKING:
    from bergsql.engine.streaming.sources.base import Json


def origins(nodes: Sequence[Node]) -> dict[str, str]:
    """By uid, a digest of all that a node computes, from its sources on. ``nodes``: each behind its inputs."""
    found: dict[str, str] = {}
    for node in nodes:
        said: list[Json] = [signature_of(node), [found[each.uid] for each in node.inputs]]
        text = json.dumps(said, sort_keys=True)
        found[node.uid] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return found


def as_kept(plan: StreamPlan, kept: Mapping[str, Any]) -> StreamPlan:
    """The plan, with the uids under which its parts are kept. ``kept``: the descriptions of ``recovery.py``, by uid."""
    nodes = plan.nodes()
    names = _names(nodes, kept)
    if all(uid == name for uid, name in names.items()):
        return plan
    made: dict[str, Node] = {}
    for node in nodes:
        made[node.uid] = replace(node, uid=names[node.uid], inputs=tuple(made[each.uid] for each in node.inputs))
    ends = (made[end.uid] for end in plan.ends)
    return replace(plan, ends=tuple(end for end in ends if isinstance(end, SinkNode | CollectNode)))


def _names(nodes: Sequence[Node], kept: Mapping[str, Any]) -> dict[str, str]:
    """For each uid of a plan, the one to go by."""
    free = dict(kept)
    names: dict[str, str] = {}

    def match(fits: Callable[[Node, str, Any], bool]) -> None:
        for node in nodes:
            if node.uid in names:
                continue
            found = next((uid for uid, before in _own_first(node.uid, free) if fits(node, uid, before)), None)
            if found is not None:
                names[node.uid] = found
                del free[found]

    made = origins(nodes)
    match(lambda node, _, before: isinstance(node, SinkNode) and before["signature"].get("sink") == node.sink.name)
    match(lambda node, _, before: not isinstance(node, SinkNode) and before.get("origin") == made[node.uid])
    match(lambda node, uid, _: not isinstance(node, SinkNode) and uid == node.uid)
    taken = {*kept, *names.values()}
    for node in nodes:
        if node.uid not in names:
            names[node.uid] = next(uid for uid in _numbered(node.uid) if uid not in taken)
            taken.add(names[node.uid])
    return names


def _own_first(uid: str, free: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if uid in free:
        yield uid, free[uid]
    yield from ((each, before) for each, before in free.items() if each != uid)


def _numbered(uid: str) -> Iterator[str]:
    """The uid itself, then the same with other numbers."""
    yield uid
    kind, _, number = uid.rpartition("-")
    count = int(number)
    while True:
        count += 1
        yield f"{kind}-{count}"
