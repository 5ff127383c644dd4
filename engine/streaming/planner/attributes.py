"""What kinds of change a node gives, and which of its columns tell its rows apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import JoinKind

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import Node


def only_inserts(*nodes: Node) -> bool:
    return all(node.mode is ChangelogMode.INSERT_ONLY for node in nodes)


def join_mode(kind: JoinKind, left: Node, right: Node) -> ChangelogMode:
    """A join that only ever adds pairs gives inserts; one with rows that wait for a partner takes them back."""
    inserts = kind in (JoinKind.INNER, JoinKind.SEMI) and only_inserts(left, right)
    return ChangelogMode.INSERT_ONLY if inserts else ChangelogMode.RETRACT


def join_key(
    kind: JoinKind, left: Node, right: Node, left_keys: tuple[int, ...], right_keys: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The key of a join: both keys; one of them where each of its rows finds one row of the other side at most."""
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.key
    offset = len(left.columns)
    one_right = right.key is not None and set(right.key) <= set(right_keys)
    one_left = left.key is not None and set(left.key) <= set(left_keys)
    if one_right and left.key is not None and kind in (JoinKind.INNER, JoinKind.LEFT):
        return left.key
    if one_left and right.key is not None and kind in (JoinKind.INNER, JoinKind.RIGHT):
        return tuple(offset + n for n in right.key)
    if left.key is None or right.key is None:
        return None
    return (*left.key, *(offset + n for n in right.key))
