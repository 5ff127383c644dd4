"""What operators that group share: a batch reduced to a row a key, brought into the states of these keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import StreamColumn, column
from bergsql.engine.streaming.operators.accumulators.layout import Layout, Result, Stage
from bergsql.engine.streaming.operators.aggregate_rules import lay_out
from bergsql.engine.streaming.operators.group_state import GroupState, numbers, same_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.nodes import AggregateCall
    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.operators.distinct_values import DistinctCounts
    from bergsql.engine.streaming.operators.kept_values import KeptValues
    from bergsql.engine.streaming.state.keyed import Fetched

_ORDERED = 50_000
"""Groups of a batch up to which they come out in the order in which their first rows came."""


class Groups:
    """The groups of some calls over an input: their states, and what changes do to them.

    keys
        Positions of the input's columns by which it is grouped. In the state and in what is merged they are named
        k0, k1, … (:attr:`names`).
    """

    def __init__(
        self,
        columns: Sequence[StreamColumn],
        keys: Sequence[int],
        calls: Sequence[AggregateCall],
        *,
        retracts: bool,
        merges: bool = False,
    ) -> None:
        self.columns = tuple(columns)
        self.keys = tuple(keys)
        self.retracts = retracts
        self.layout = Layout(self.columns, retracts=retracts, merges=merges)
        self.results: list[Result] = [lay_out(self.layout, call) for call in calls]
        self.types = [duckdb_name(call.type) for call in calls]
        self.names = [f"k{i}" for i in range(len(keys))]
        self.key_types = [duckdb_name(columns[k].type) for k in keys]

    def open(self, context: OperatorContext, place: str, more: Mapping[str, str]) -> None:
        """``place``: SQL over the keys' names. ``more``: further columns of the state, names and types."""
        from bergsql.engine.streaming.operators.distinct_values import DistinctCounts
        from bergsql.engine.streaming.operators.kept_values import kept_values

        self._context = context
        self._place = place
        self._more = list(more)
        scope, layout = context.state, self.layout
        columns = dict(zip(self.names, self.key_types, strict=True))
        columns |= {name: type_ for name, (type_, _) in layout.states.items()} | dict(more)
        self.state = GroupState(context, scope, columns, place)
        self._distinct: dict[str, DistinctCounts] = {
            stage.alias: DistinctCounts(
                context, scope.part(stage.alias), self.keys, values, self.columns, retracts=self.retracts
            )
            for values, stage in layout.distinct.items()
        }
        self._kept: dict[str, KeptValues] = {
            kept.alias: kept_values(context, scope.part(kept.alias), self.keys, kept) for kept in layout.kept
        }

    def bring_in(self, source: str, alive: str = "TRUE") -> tuple[Fetched, pa.Table] | None:
        """Reduce the changes of a relation and merge them with what is there; nothing is written of the groups yet.

        Gives a row for each changed key: ``place``, ``row`` (of the old state, NULL for a new group), the keys, the new
        state, the further columns of the old one, ``alive`` (SQL over the new state, alias m), and the results, n0, …
        of the new state and q0, … of the old one.
        """
        deltas = self._context.query(self.deltas_sql(self.layout.rows, source, ordered=True))
        if deltas.num_rows == 0:
            return None
        fetched, old = self.state.fetch(numbers(deltas, "place"))
        return fetched, self._context.query(self._merged_sql(deltas, old, self._stages(source), alive))

    def drop(self, groups: pa.Table) -> None:
        """Forget what is kept of groups beside their states."""
        for distinct in self._distinct.values():
            distinct.drop(self._context.relation(groups), self.names)
        for kept in self._kept.values():
            kept.drop(groups, self.names)

    # --- SQL ------------------------------------------------------------------------------------------------------

    def deltas_sql(self, stage: Stage, source: str, more: Sequence[str] = (), *, ordered: bool = False) -> str:
        """A row for each key of a relation with a stage's deltas. ``more``: further columns that are keys, too.

        ``ordered``: with the key's place, and ``seen``, when its first row came.
        """
        keys = [f"i.{column(k)}" for k in self.keys]
        items = [f"{sql} AS {name}" for sql, name in zip(keys, self.names, strict=True)]
        items += [f"i.{name}" for name in more]
        keys += [f"i.{name}" for name in more]
        items += [f"{sql} AS {name}" for sql, name in stage.deltas.items()]
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        if not ordered:
            groups = groups or " HAVING count(*) > 0"
            return f"SELECT {', '.join(items or ['TRUE AS there'])} FROM {source} AS i{groups}"
        items.append("min(i.rowid) AS seen")
        return f"SELECT {self._place} AS place, * FROM (SELECT {', '.join(items)} FROM {source} AS i{groups})"

    def _stages(self, source: str) -> dict[str, str]:
        """Relations of what else is told of groups, by their aliases: of distinct values, and of kept ones."""
        sources = {self.layout.rows.alias: source}
        found: dict[str, str] = {}
        for stage in self.layout.distinct.values():
            sources[stage.alias] = self._distinct[stage.alias].changed(source)
            if stage.deltas:
                found[stage.alias] = f"({self.deltas_sql(stage, sources[stage.alias])})"
        for kept in self.layout.kept:
            found[kept.alias] = self._kept[kept.alias].told(sources[kept.source])
        return found

    def _merged_sql(self, deltas: pa.Table, old: str, stages: Mapping[str, str], alive: str) -> str:
        keys, states = self.names, self.layout.states
        joins = [f"LEFT JOIN {sql} AS {alias} ON {same_sql('d', alias, keys)}" for alias, sql in stages.items()]
        joins.append(f"LEFT JOIN {old} AS o ON {same_sql('d', 'o', keys)}")
        items = ["d.place", "d.seen", "o.row", *self._keys_sql(), *(f"o.{name}" for name in self._more)]
        items += [f"{sql} AS {name}, o.{name} AS p_{name}" for name, (_, sql) in states.items()]
        inner = f"SELECT {', '.join(items)} FROM {self._context.relation(deltas)} AS d {' '.join(joins)}"
        items = [f"m.{name}" for name in ("place", "row", *keys, *states, *self._more)] + [f"{alive} AS alive"]
        items += [*self.results_sql("m", "n"), *self.results_sql("m", "q", "p_")]
        order = " ORDER BY m.seen" if deltas.num_rows <= _ORDERED else ""
        return f"SELECT {', '.join(items)} FROM ({inner}) AS m{order}"

    def _keys_sql(self) -> list[str]:
        """The keys as they were first told: 0.0 and -0.0 are one group, and what is taken back is what was given."""
        return [f"coalesce(o.{key}, d.{key}) AS {key}" for key in self.names]

    def results_sql(self, alias: str, name: str, prefix: str = "") -> list[str]:
        """The results of states as items named ``name`` and a number; the states' columns begin with ``prefix``."""
        return [
            f"CAST({result(lambda s: f'{alias}.{prefix}{s}')} AS {type_}) AS {name}{i}"
            for i, (result, type_) in enumerate(zip(self.results, self.types, strict=True))
        ]

    def differ_sql(self, alias: str) -> str:
        """The condition that new and old results of what was merged differ."""
        return " OR ".join(f"{alias}.n{i} IS DISTINCT FROM {alias}.q{i}" for i in range(len(self.results))) or "FALSE"
