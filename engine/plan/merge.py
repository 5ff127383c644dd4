"""MERGE: the target joined to the source, and for each row of the join the clause that takes it.

What is joined how follows from the clauses: rows of the source without a match are needed for WHEN NOT MATCHED alone,
those of the target for WHEN NOT MATCHED BY SOURCE alone. A row of the target that matches several rows of the source is
an error whatever the conditions of the clauses say, unless no clause looks at which of them it was (Spark's rules).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan import truth
from bergsql.engine.plan.assignments import Stored
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.chosen_rows import as_query
from bergsql.engine.plan.context import Context, Cte, Planner
from bergsql.engine.plan.known import known_value
from bergsql.engine.plan.merge_sides import MERGED, NEVER, SOURCE, THERE, Sides
from bergsql.engine.plan.merge_values import clause_row
from bergsql.engine.plan.pushdown import push, says
from bergsql.engine.plan.row_changes import ChangeQuery, Clause, bind_target, change_query, place_columns
from bergsql.engine.plan.scope import Scope, Source
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements.merge import Match, MergeAction
from bergsql.engine.sql.types import BOOLEAN

if TYPE_CHECKING:
    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.plan.schema_evolution import Evolved
    from bergsql.engine.sql.statements.base import Expression
    from bergsql.engine.sql.statements.merge import Merge, MergeClause

T = TypeVar("T")


class Join(NamedTuple):
    """``target`` and ``source``: whether the rows of that side come that match nothing. ``semi``: a row of the target
    comes once, without what it matches."""

    matched: bool
    target: bool
    source: bool
    semi: bool = False

    @property
    def sql(self) -> str:
        if not self.matched and not (self.target and self.source):
            return "ANTI JOIN"
        if self.semi:
            return "SEMI JOIN"
        side = {(False, False): "", (True, False): "LEFT ", (False, True): "RIGHT ", (True, True): "FULL "}
        return f"{side[self.target, self.source]}JOIN"

    @property
    def has_target(self) -> bool:
        """Whether its rows have columns of the target."""
        return self.matched or self.target

    @property
    def has_source(self) -> bool:
        return (self.matched and not self.semi) or self.source


def join_of(clauses: Sequence[MergeClause]) -> Join:
    """How the sides are joined for these clauses."""
    kinds = {c.match for c in clauses}
    matched, target, source = (m in kinds for m in (Match.MATCHED, Match.BY_SOURCE, Match.NOT_MATCHED))
    return Join(matched, target, source, semi=not target and not source and not is_unique(clauses))


def is_unique(clauses: Sequence[MergeClause]) -> bool:
    """Whether a row of the target may match one row of the source only."""
    matched = [c for c in clauses if c.match is Match.MATCHED]
    lone_delete = len(matched) == 1 and matched[0].action is MergeAction.DELETE and matched[0].condition is None
    return bool(matched) and not lone_delete


def plan_merge(statement: Merge, relation: IcebergRelation, relations: Relations) -> ChangeQuery:
    """The change query of a MERGE into ``relation``.

    :raises BergError: with its place, when a name, a type or a form is wrong.
    """
    written = _written(statement)
    planner = Planner(relations, (*statement.source.hints, *(h for e in written for h in e.hints)))
    planner.reads = planner.prunes = True
    span = statement.source.span
    try:
        query = _Planning(statement, relation, planner).query()
        return query._replace(written=as_query(written, span)._replace(span=span))
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("The statement", span) from None
    except BergError as error:
        raise error.at(span) from None


def _written(statement: Merge) -> list[Expression]:
    """The expressions of the statement, in their order."""
    found = [statement.on]
    for clause in statement.clauses:
        found += [clause.condition] if clause.condition is not None else []
        found += [a.value for a in clause.assignments if a.value is not None]
    return found


class _Planning:
    """One MERGE on its way to a change query: its two sides are bound first, the source before what may grow by it."""

    def __init__(self, statement: Merge, relation: IcebergRelation, planner: Planner) -> None:
        self.statement, self.planner = statement, planner
        self.join = join_of(statement.clauses)
        node = statement.source.ast
        self.ctes: dict[str, Cte] = {}
        self.head: list[str] = []
        if node.args.get("with_") is not None:
            from bergsql.engine.plan.ctes import bind_with

            others = [e.ast for e in _written(statement)]
            self.ctes, self.head = bind_with(node, planner, None, {}, others)
        scope, sql = self._bind_source(node)
        source = scope.sources[0]
        self.evolved: Evolved | None = None
        if statement.evolves:
            from bergsql.engine.plan.schema_evolution import evolved

            self.evolved = evolved(relation, statement, source, planner.flavour)
            relation = self.evolved.relation
        target = bind_target(relation, statement.alias, Scope(planner.flavour), planner, statement.target.span)
        self._refuse_same_name(target.source, source)
        self.sides = Sides(target, source, sql, scope.slots, planner)

    def _bind_source(self, node: exp.Expr) -> tuple[Scope, str]:
        from bergsql.engine.plan.from_clause import bind_from

        try:
            scope, sql = bind_from(node, self.planner, None, self.ctes)
        except BergError as error:
            raise error.at(self.statement.source.span) from None
        if len(scope.sources) != 1:
            raise BergError(
                ErrorCode.INVALID,
                "MERGE reads one source.",
                span=self.statement.source.span,
                hint="Give the join an alias: USING (a JOIN b ON …) AS s.",
            )
        return scope, sql

    def _refuse_same_name(self, target: Source, source: Source) -> None:
        """Spark only minds when a name is ambiguous."""
        if self.planner.flavour is Flavour.FLINK and source.names and target.names == source.names:
            name = ".".join(source.names[-1:])
            raise BergError(
                ErrorCode.INVALID,
                f"The target and the source are both called '{name}'.",
                span=self.statement.source.span,
                hint=f"Give them aliases: MERGE INTO {name} AS t USING {name} AS s ON t.… = s.…",
            )

    # --- the query ---------------------------------------------------------------------------------------------------

    def query(self) -> ChangeQuery:
        on = self._on()
        conditions = [self._condition(c) for c in self.statement.clauses]
        self._push(on, conditions)
        rows = [self._row(c) for c in self.statement.clauses]
        clauses = tuple(_clause(c) for c in self.statement.clauses)
        writes = any(row is not None for row in rows)
        joined = self._joined(on, conditions, writes=writes)
        items = [f"{MERGED}.{name}" for name in ("file", "position", "clause", "row_id")]
        if writes:
            items += _columns(rows)
        unique = is_unique(self.statement.clauses)
        head = f"WITH {'RECURSIVE ' if self._is_recursive else ''}{', '.join(self.head)} " if self.head else ""
        kept = f"{MERGED}.clause IS NOT NULL" + (f" OR {MERGED}.matched" if unique else "")
        sql = f"{head}SELECT {', '.join(items)} FROM ({joined}) AS {MERGED} WHERE {kept}"
        planned = change_query(sql, self.sides.target, self.planner, clauses, unique=unique)
        narrowed = dict(n for row in rows if row is not None for n in row.narrowed)
        places = tuple(place for row in rows if row is not None for place in row.places)
        planned = planned._replace(narrowed=tuple(narrowed.items()), values=places)
        if self.evolved is None:
            return planned
        return planned._replace(updates=self.evolved.updates, evolution=self.evolved.text)

    @property
    def _is_recursive(self) -> bool:
        return bool(self.statement.source.ast.args["with_"].args.get("recursive"))

    def _context(self, match: Match | None, clause: str, *, merged: bool) -> Context:
        scope = self.sides.scope(match, merged=merged)
        return Context(self.planner, scope, clause, self.ctes, aggregates_allowed=False, windows_allowed=False)

    def _on(self) -> list[Bound]:
        """The parts of ON that all must hold."""
        context = self._context(None, "ON", merged=False)
        try:
            return [bound_condition(n, context, "ON") for n in _conjuncts(self.statement.on.ast)]
        except BergError as error:
            raise error.at(self.statement.on.span) from None

    def _condition(self, clause: MergeClause) -> Bound | None:
        if clause.condition is None:
            return None
        node = clause.condition.ast
        return self._seen(
            clause, f"WHEN {clause.match}", clause.condition.span, lambda c: bound_condition(node, c, "AND")
        )

    def _row(self, clause: MergeClause) -> Stored | None:
        """What a clause writes; None for a DELETE."""
        if clause.action is MergeAction.DELETE:
            return None
        word = "SET" if clause.action is MergeAction.UPDATE else "VALUES"
        evolves = self.statement.evolves
        return self._seen(
            clause, word, clause.span, lambda c: clause_row(clause, self.sides, c, evolves=evolves), merged=True
        )

    def _seen(
        self, clause: MergeClause, word: str, span: Span, bind: Callable[[Context], T], *, merged: bool = False
    ) -> T:
        """What ``bind`` makes of the names that a clause sees; its error says so if another clause would see a name."""
        try:
            return bind(self._context(clause.match, word, merged=merged))
        except BergError as error:
            missed = error.at(span)
        if missed.code is ErrorCode.NOT_FOUND and clause.match is not Match.MATCHED:
            try:
                bind(self._context(Match.MATCHED, word, merged=merged))
            except BergError as error:
                if error.code is not ErrorCode.INVALID:  # or else it would be ambiguous there
                    raise missed from None
            there, gone = ("source", "target") if clause.match is Match.NOT_MATCHED else ("target", "source")
            missed.hint = f"WHEN {clause.match} has no row of the {gone}: it sees columns of the {there} only."
        raise missed from None

    # --- which files are read ----------------------------------------------------------------------------------------

    def _push(self, on: Sequence[Bound], conditions: Sequence[Bound | None]) -> None:
        """Tell the scans what rows of theirs matter: a side whose rows come only where they match needs no others."""
        join, sides = self.join, self.sides
        only = set() if join.target else {sides.target.slot}
        only |= set() if join.source else sides.source_slots
        scope = sides.scope(None, merged=False)
        for part in on:
            push(self.planner, scope, part, only)
        left = [
            c for c, clause in zip(conditions, self.statement.clauses, strict=True) if clause.match is Match.BY_SOURCE
        ]
        wanted = [says(c, self.planner) for c in left if c is not None]
        if not join.target or len(wanted) < len(left):
            return
        if join.matched or join.source:
            wanted.append(truth.conjunction([says(part, self.planner) for part in on]))
        touched = Bound("", BOOLEAN, "")
        touched.truth = truth.disjunction(wanted)
        push(self.planner, scope, touched, {sides.target.slot})

    # --- SQL ---------------------------------------------------------------------------------------------------------

    def _joined(self, on: Sequence[Bound], conditions: Sequence[Bound | None], *, writes: bool) -> str:
        """The rows of the join, with what :meth:`query` reads of them."""
        join, sides = self.join, self.sides
        none = "CAST(NULL AS BIGINT)"
        file, position = place_columns(sides.target) if join.has_target else (none, none)
        row_id = sides.target.row_id if writes and join.has_target else none
        found = f"{file} IS NOT NULL"
        clause = self._clause_sql(conditions, found)
        items = [f"{file} AS file", f"{position} AS position", f"CAST({clause} AS INTEGER) AS clause"]
        items.append(f"{row_id} AS row_id")
        if is_unique(self.statement.clauses):
            flags = [found] if join.source else []
            flags += [f"{THERE} IS NOT NULL"] if join.target else []
            items.append(f"({' AND '.join(flags) or 'TRUE'}) AS matched")
        on_sql = self._on_sql(on, position)
        items += sides.items(target=join.has_target, source=join.has_source)
        first, second = sides.target.sql, sides.source_sql()
        if not join.has_target:
            first, second = second, first
        return f"SELECT {', '.join(items)} FROM {first} {join.sql} {second} ON {on_sql}"

    def _clause_sql(self, conditions: Sequence[Bound | None], found: str) -> str:
        """The index of the clause that takes a row of the join, or NULL. ``found``: it has a row of the target."""
        takes: dict[Match, list[str]] = {}
        otherwise: dict[Match, str] = {}
        for number, (clause, bound) in enumerate(zip(self.statement.clauses, conditions, strict=True)):
            if bound is None:
                otherwise[clause.match] = str(number)
            else:
                takes.setdefault(clause.match, []).append(f"WHEN {bound.sql} THEN {number}")

        def taken(match: Match) -> str:
            last = otherwise.get(match, "NULL")
            return f"CASE {' '.join(takes[match])} ELSE {last} END" if match in takes else last

        join = self.join
        ways = [(f"{found} AND {THERE}", Match.MATCHED)] if join.matched or (join.source and join.target) else []
        ways += [(THERE, Match.NOT_MATCHED)] if join.source else []
        ways += [("TRUE", Match.BY_SOURCE)] if join.target else []
        if len(ways) == 1:
            return taken(ways[0][1])
        return f"CASE {' '.join(f'WHEN {test} THEN {taken(match)}' for test, match in ways)} END"

    def _on_sql(self, on: Sequence[Bound], position: str) -> str:
        """ON so that DuckDB joins by a hash wherever something is equal on both sides."""
        if any(known_value(part, self.planner) in (False, None) for part in on):
            return f"{position} = {NEVER}" if self.join.target and self.join.source else "FALSE"
        alias = f"{self.sides.target.alias}."
        sides = [(alias in part.sql, f"{SOURCE}." in part.sql) for part in on]
        if (True, True) in sides or self.join.sql == "JOIN":
            return " AND ".join(part.sql for part in on)
        pairs = zip(on, sides, strict=True)
        return " AND ".join(f"({p.sql} = {THERE})" if side == (True, False) else p.sql for p, side in pairs)


def bound_condition(node: exp.Expr, context: Context, clause: str) -> Bound:
    """A condition of ON or of a clause."""
    from bergsql.engine.plan.comparison import condition
    from bergsql.engine.plan.expressions import bind

    return condition(bind(node, context), context, node, clause)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _columns(rows: Sequence[Stored | None]) -> list[str]:
    """The columns of the rows that are written: each as the row's clause gives it."""
    written = [(number, row.columns) for number, row in enumerate(rows) if row is not None]
    items = []
    for i in range(len(written[0][1])):
        by_sql: dict[str, list[str]] = {}
        for number, columns in written:
            by_sql.setdefault(columns[i], []).append(str(number))
        ways = (f"WHEN {MERGED}.clause IN ({', '.join(numbers)}) THEN {sql}" for sql, numbers in by_sql.items())
        items.append(f"CASE {' '.join(ways)} END")
    return items


def _clause(clause: MergeClause) -> Clause:
    condition = f" AND {clause.condition.text}" if clause.condition is not None else ""
    return Clause(clause.action.value, f"WHEN {clause.match}{condition} THEN {clause.action.value.upper()}")
