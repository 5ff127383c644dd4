"""The join of two streams: both sides are kept, and each batch is joined with what it meets only.

A row of one side is kept with how often it is there. What rows without a partner need to know is how many partners a
row has: of a join by keys alone it is one number for each key, else one for each row. So a change costs what it is
joined with, and a semi or anti join reads the rows of a key only when its first partner comes or the last one goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.changelog import OP, Batch, ChangelogMode, RowKind, column
from bergsql.engine.streaming.nodes import JoinKind, JoinNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import changes, held, names, watermark_of, with_columns
from bergsql.engine.streaming.operators.join_keys import equal_columns, key_sql
from bergsql.engine.streaming.operators.join_side import FEW, Part, Side
from bergsql.engine.streaming.state.ttl import KEY as TTL

if TYPE_CHECKING:
    import pyarrow as pa

_LEFT_STAYS = frozenset({JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI})
_RIGHT_STAYS = frozenset({JoinKind.RIGHT, JoinKind.FULL})
_HALF = frozenset({JoinKind.SEMI, JoinKind.ANTI})
_COUNTED = b"counted by"

Totals = dict[bytes, tuple[int, int]]
"""Of each key: how many rows one side had of it, and has."""


class Join(Operator):
    """See the module."""

    def __init__(self, node: JoinNode) -> None:
        self._node = node
        self._half = node.kind in _HALF
        self._appends = node.kind is JoinKind.INNER and all(
            each.mode is ChangelogMode.INSERT_ONLY for each in node.inputs
        )

    def open(self, context: OperatorContext) -> None:
        node = self._node
        self._context = context
        left, right = node.inputs
        equal = equal_columns(node.left_keys, node.right_keys, node.null_safe)
        self._on = " AND ".join([*equal, *([f"({node.condition})"] if node.condition else [])]) or "true"
        strict = [position for position, safe in enumerate(node.null_safe) if not safe]
        left_keys, right_keys = key_sql(context, left, right, node.left_keys, node.right_keys)
        self._left = Side(context, "l", left, left_keys, strict)
        self._right = Side(context, "r", right, right_keys, strict)
        self._by_row = self._counts_by_row()
        self._right.stored = not self._half or self._by_row

    def _counts_by_row(self) -> bool:
        """Whether partners are counted row by row, not key by key: where not all of a key meet, or live as long.

        :raises BergError: INVALID where the state that is there counts them otherwise.
        """
        by_row = self._node.condition is not None or self._left.retention is not None
        if self._node.kind is JoinKind.INNER:
            return by_row
        counted = b"row" if by_row else b"key"
        (known,) = self._context.state.get_many([_COUNTED])
        if known not in (None, counted):
            raise BergError(
                ErrorCode.INVALID,
                f"The state of this {self._node.kind.value} join was kept {'with' if known == b'row' else 'without'}"
                f" '{TTL}', and cannot go on {'without' if known == b'row' else 'with'} it.",
                hint=f"Set '{TTL}' as it was, or start the job anew without this state.",
            )
        self._context.state.put_many([(_COUNTED, counted)])
        return by_row

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        watermark = watermark_of(inputs)
        self._left.expire(now)
        self._right.expire(now)
        left, left_alone = self._left.take(inputs[0].batch)
        right, right_alone = self._right.take(inputs[1].batch)
        parts = self._joined(left, right) if left or right else []
        if left_alone is not None and self._node.kind in _LEFT_STAYS - {JoinKind.SEMI}:
            parts.append(self._padded(self._left, left_alone))
        if right_alone is not None and self._node.kind in _RIGHT_STAYS:
            parts.append(self._padded(self._right, right_alone))
        if not parts:
            return Flow(None, watermark)
        weighted = " UNION ALL ".join(parts)
        columns = len(self._node.columns)
        few = sum(part.rows.num_rows for part in (left, right) if part) <= FEW
        if self._appends:
            order = " ORDER BY a, b" if few else ""
            sql = (
                f"(SELECT {names(columns)}, {RowKind.INSERT.value}::TINYINT AS {OP} FROM ({weighted}), range(w){order})"
            )
            return Flow(held(self._context, sql), watermark)
        return Flow(changes(self._context, weighted, columns, self._node.key, ("a", "b") if few else ()), watermark)

    def _joined(self, left: Part | None, right: Part | None) -> list[str]:
        """Queries of what changes by rows that may have partners; the state is brought up to date."""
        left_totals: Totals = {}
        right_totals: Totals = {}
        left_asked, right_asked = (right.prefixes if right else []), (left.prefixes if left else [])
        if not self._by_row and self._node.kind in _RIGHT_STAYS:
            left_totals = self._left.total(left, left_asked)
        if not self._by_row and self._node.kind in _LEFT_STAYS:
            right_totals = self._right.total(right, right_asked)
        if self._half and not self._by_row:
            # Not how many partners there are matters, but whether there are any.
            left_asked = [key for key, (old, new) in right_totals.items() if (old > 0) != (new > 0)]
        left_others = self._left.unchanged(left_asked, left)
        right_others = self._right.unchanged(right_asked, right) if self._right.stored else None
        pairs = ""
        if self._right.stored:
            pairs = self._pairs([left, left_others], [right, right_others])
        if pairs and self._by_row and self._node.kind is not JoinKind.INNER:
            pairs = f"FROM {self._context.table(Batch(f'({pairs})')).sql}"
        parts = []
        if pairs and not self._half:
            columns = names(len(self._node.columns))
            parts.append(f"SELECT {columns}, w, lid AS a, rid AS b FROM ({pairs}) WHERE w <> 0")
        if self._node.kind in _LEFT_STAYS:
            parts += self._stay(self._left, left, left_others, self._partners("l", "r", pairs), right_totals)
        elif left:
            self._left.store(left)
        if self._node.kind in _RIGHT_STAYS:
            parts += self._stay(self._right, right, right_others, self._partners("r", "l", pairs), left_totals)
        elif right:
            self._right.store(right)
        return parts

    def _pairs(self, lefts: Sequence[Part | None], rights: Sequence[Part | None]) -> str:
        """A query of the rows that meet, where at least one of both has changed; both come as [changed, unchanged]."""
        width = self._left.count
        columns = [f"l.{column(position)} AS {column(position)}" for position in range(width)]
        columns += [f"r.{column(position)} AS {column(width + position)}" for position in range(self._right.count)]
        counts = ["l.id AS lid", "l.n AS ln", "l.dw AS ldw", "r.id AS rid", "r.n AS rn", "r.dw AS rdw"]
        items = [*([] if self._half else columns), *counts, "(l.n + l.dw) * (r.n + r.dw) - l.n * r.n AS w"]
        left_sql = [self._left.rows.relation(each.rows) if each else "" for each in lefts]
        right_sql = [self._right.rows.relation(each.rows) if each else "" for each in rights]
        return " UNION ALL ".join(
            f"SELECT {', '.join(items)} FROM {a} AS l JOIN {b} AS r ON {self._on}"
            for a, b in ((left_sql[0], right_sql[0]), (left_sql[0], right_sql[1]), (left_sql[1], right_sql[0]))
            if a and b
        )

    def _partners(self, own: str, other: str, pairs: str) -> dict[int, tuple[int, int]]:
        """Of each row by its id: how many partners it had and has, among those that were looked at."""
        if not self._by_row or not pairs:
            return {}
        found = self._context.query(
            f"SELECT {own}id AS id, sum({other}n)::BIGINT AS old, sum({other}n + {other}dw)::BIGINT AS new"
            f" FROM ({pairs}) GROUP BY {own}id"
        )
        old, new = found["old"].to_pylist(), found["new"].to_pylist()
        return dict(zip(found["id"].to_pylist(), zip(old, new, strict=True), strict=True))

    def _stay(
        self,
        side: Side,
        changed: Part | None,
        others: Part | None,
        partners: dict[int, tuple[int, int]],
        totals: Totals,
    ) -> list[str]:
        """Queries of the rows that are in the result for want of a partner (of a SEMI join: for having one)."""
        parts = []
        for part in (changed, others):
            if part is None:
                continue
            m = part.rows["m"].to_pylist()
            if not self._by_row:
                both = [totals[prefix] for prefix in part.prefixes]
            elif part is changed:
                # All that it may meet were looked at.
                both = [partners.get(each, (0, 0)) for each in part.rows["id"].to_pylist()]
            else:
                found = (partners.get(each, (0, 0)) for each in part.rows["id"].to_pylist())
                both = [(own, own + new - old) for own, (old, new) in zip(m, found, strict=True)]
            if part is changed:
                side.store(part, [new for _, new in both] if self._by_row else m)
            elif self._by_row:
                side.recount({key: new for key, (old, new) in zip(part.keys, both, strict=True) if old != new})
            parts += self._staying(side, part, both)
        return parts

    def _staying(self, side: Side, part: Part, partners: Sequence[tuple[int, int]]) -> list[str]:
        import numpy as np
        import pyarrow as pa

        counts = np.array(partners, np.int64).reshape(-1, 2)
        stays = counts > 0 if self._node.kind is JoinKind.SEMI else counts == 0
        n = part.rows["n"].to_numpy()
        weights = np.where(stays[:, 1], n + part.rows["dw"].to_numpy(), 0) - np.where(stays[:, 0], n, 0)
        rows = with_columns(part.rows.select([*side.rows.names, "id"]), w=weights).filter(pa.array(weights != 0))
        return [self._padded(side, rows)] if rows.num_rows else []

    def _padded(self, side: Side, rows: pa.Table) -> str:
        """A query of rows of one side, with NULL for the other's columns, ``w``, and their order, a and b."""
        relation = side.rows.relation(rows)
        if self._half:
            return f"SELECT {names(side.count)}, w, id AS a, -1 AS b FROM {relation}"
        own = list(side.rows.names)
        columns = [*own, *self._right.rows.nulls()] if side is self._left else [*self._left.rows.nulls(), *own]
        aliased = ", ".join(f"{sql} AS {column(position)}" for position, sql in enumerate(columns))
        order = "id AS a, -1 AS b" if side is self._left else "NULL::BIGINT AS a, id AS b"
        return f"SELECT {aliased}, w, {order} FROM {relation}"
