"""MERGE as a change query: how the sides are joined, which files are read, which clause takes a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.duck import set_variables
from bergsql.engine.plan.merge import join_of, plan_merge
from bergsql.engine.plan.relations import IcebergRelation
from bergsql.engine.plan.row_changes import ChangeQuery
from bergsql.engine.relations import SessionRelations
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements.merge import Match, Merge

DELETE = "WHEN MATCHED THEN DELETE"
UPDATE = "WHEN MATCHED THEN UPDATE SET v = s.v"
SOME = "WHEN MATCHED AND t.v = 'a' THEN DELETE"
INSERT = "WHEN NOT MATCHED THEN INSERT *"
GONE = "WHEN NOT MATCHED BY SOURCE THEN DELETE"
SOME_GONE = "WHEN NOT MATCHED BY SOURCE AND t.p = 2 THEN DELETE"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A table of one file a partition: p = 0, 1, 2, ids 0 to 2, 10 to 12, 20 to 22."""
    session = Session(SessionConfig(home=tmp_path_factory.mktemp("home"), flavour=Flavour.SPARK))
    try:
        session.execute("CREATE TABLE t (id int, p int, v string) USING iceberg PARTITIONED BY (p)")
        session.execute(
            "INSERT INTO t SELECT id, id div 10, 'a' FROM (VALUES 0, 1, 2, 10, 11, 12, 20, 21, 22) AS r(id)"
        )
        session.execute("CREATE TABLE s (id int, p int, v string) USING iceberg")
        session.execute("INSERT INTO s VALUES (0, 0, 'x'), (11, 1, 'y'), (30, 3, 'z')")
        yield session
    finally:
        session.close()


def merge(text: str) -> Merge:
    statement = parse(text, Flavour.SPARK)
    assert isinstance(statement, Merge)
    return statement


def planned(session: Session, text: str) -> ChangeQuery:
    statement = merge(text)
    relations = SessionRelations(session)
    target = relations.resolve(statement.target.parts, statement.target.span)
    assert isinstance(target, IcebergRelation)
    return plan_merge(statement, target, relations)


def run(session: Session, query: ChangeQuery, prefix: str = "") -> list[tuple[Any, ...]]:
    cursor = session.duck.cursor()
    try:
        set_variables(cursor, query.variables)
        return list(cursor.execute(prefix + query.sql).fetchall())
    finally:
        session.duck.done(cursor)


def taken(session: Session, text: str) -> list[int | None]:
    """The clauses of the rows that come, those of none last."""
    return sorted((row[2] for row in run(session, planned(session, text))), key=lambda c: (c is None, c))


@pytest.mark.parametrize(
    ("clauses", "sql"),
    [
        ([UPDATE], "JOIN"),
        ([DELETE], "SEMI JOIN"),
        ([SOME], "JOIN"),
        ([DELETE, INSERT], "RIGHT JOIN"),
        ([UPDATE, INSERT], "RIGHT JOIN"),
        ([INSERT], "ANTI JOIN"),
        ([GONE], "ANTI JOIN"),
        ([UPDATE, GONE], "LEFT JOIN"),
        ([INSERT, GONE], "FULL JOIN"),
        ([UPDATE, INSERT, SOME_GONE], "FULL JOIN"),
    ],
)
def test_only_rows_that_a_clause_may_take_are_joined(clauses: list[str], sql: str) -> None:
    statement = merge(f"MERGE INTO t USING s ON t.id = s.id {' '.join(clauses)}")
    assert join_of(statement.clauses).sql == sql


@pytest.mark.parametrize(
    ("clauses", "unique"),
    [
        ([DELETE], False),
        ([SOME], True),
        ([SOME, DELETE], True),
        ([UPDATE], True),
        ([INSERT, GONE], False),
        ([DELETE, INSERT], False),
    ],
)
def test_a_lone_delete_does_not_care_which_row_it_matched(session: Session, clauses: list[str], unique: bool) -> None:
    assert planned(session, f"MERGE INTO t USING s ON t.id = s.id {' '.join(clauses)}").unique is unique


MIXES = (
    [UPDATE],
    [DELETE],
    [INSERT],
    [GONE],
    [SOME, UPDATE],
    [UPDATE, INSERT],
    [UPDATE, GONE],
    [INSERT, GONE],
    [UPDATE, INSERT, GONE],
)
EQUAL = (
    "t.id = s.id",
    "t.id <=> s.id",
    "t.id = s.id AND t.p = 1",
    "t.id = s.id AND s.v = 'x'",
    "(t.id = s.id AND t.p <= s.p) AND t.v <> s.v",
    "t.id = s.id AND t.p + s.p > 1",
    "t.id = s.id + 1 AND length(t.v) = s.p",
    "cast(t.id as string) = s.v",
)


@pytest.mark.parametrize("clauses", MIXES, ids=" ".join)
def test_what_is_equal_on_both_sides_is_joined_by_a_hash(session: Session, clauses: list[str]) -> None:
    for on in EQUAL:
        query = planned(session, f"MERGE INTO t USING s ON {on} {' '.join(clauses)}")
        plan = "\n".join(str(row[-1]) for row in run(session, query, "EXPLAIN "))
        assert "Hash Join" in plan, on
        assert "Nested Loop" not in plan, on
        assert "Blockwise" not in plan, on
        assert "Cross" not in plan, on


@pytest.mark.parametrize("on", ["false", "1 = 0", "null = 1", "t.id = s.id AND false", "t.p = 1 AND 1 > 2"])
@pytest.mark.parametrize("clauses", MIXES, ids=" ".join)
def test_a_condition_that_never_holds_joins_nothing(session: Session, clauses: list[str], on: str) -> None:
    query = planned(session, f"MERGE INTO t USING s ON {on} {' '.join(clauses)}")
    assert "Blockwise" not in "\n".join(str(row[-1]) for row in run(session, query, "EXPLAIN "))
    found = [row[2] for row in run(session, query)]
    assert len(found) == 9 * (GONE in clauses) + 3 * (INSERT in clauses)


@pytest.mark.parametrize(
    ("on", "clauses", "files"),
    [
        ("t.id = s.id AND t.p = 1", [UPDATE], 1),
        ("t.id = s.id AND t.p = 1", [UPDATE, INSERT], 1),
        ("t.id = s.id AND t.p = 1", [INSERT], 1),
        ("t.id = s.id AND t.p = 1", [UPDATE, GONE], 3),
        ("t.id = s.id AND t.p = 1", [UPDATE, INSERT, SOME_GONE], 2),
        ("t.id = s.id AND t.p = 1", [SOME_GONE], 1),
        ("t.id = s.id AND s.p = 1", [UPDATE], 3),
        ("t.p = s.p AND s.p = 1 AND t.id = s.id", [UPDATE], 1),
        ("t.id = s.id AND t.id > 15", [DELETE], 1),
        ("false", [UPDATE, INSERT], 0),
        ("t.id = s.id", [UPDATE, INSERT, GONE], 3),
    ],
)
def test_files_that_no_clause_looks_at_are_not_read(session: Session, on: str, clauses: list[str], files: int) -> None:
    query = planned(session, f"MERGE INTO t USING s ON {on} {' '.join(clauses)}")
    assert query.target.scan.plan.files_kept == files


def test_what_the_source_is_filtered_by_prunes_the_target(session: Session) -> None:
    for clauses, files in (([UPDATE, INSERT], 1), ([UPDATE, GONE], 3)):
        text = f"MERGE INTO t USING (SELECT * FROM s WHERE p = 1) s ON t.p = s.p {' '.join(clauses)}"
        assert planned(session, text).target.scan.plan.files_kept == files


def test_pruning_changes_no_rows(session: Session) -> None:
    """A condition on the target alone, told in a way that prunes and in one that does not."""
    for clauses in (*MIXES, [UPDATE, INSERT, SOME_GONE], [SOME_GONE]):
        pruned, other = (
            sorted(str(row[3:]) + str(row[2]) for row in run(session, planned(session, text)))
            for text in (
                f"MERGE INTO t USING s ON t.id = s.id AND t.p = 1 {' '.join(clauses)}",
                f"MERGE INTO t USING s ON t.id = s.id AND abs(t.p - 1) = 0 {' '.join(clauses)}",
            )
        )
        assert pruned == other, clauses


def test_the_first_clause_whose_condition_is_true_takes_the_row(session: Session) -> None:
    when = "WHEN MATCHED AND {} THEN UPDATE SET v = '{}'"
    clauses = (when.format("t.id > 5", "big"), when.format("null", "never"), when.format("s.v = 'x'", "x"))
    assert taken(session, f"MERGE INTO t USING s ON t.id = s.id {' '.join(clauses)}") == [0, 2]
    assert taken(session, f"MERGE INTO t USING s ON t.id = s.id {clauses[1]}") == [None, None]
    insert = "WHEN NOT MATCHED AND s.id > 100 THEN INSERT (id) VALUES (1) WHEN NOT MATCHED AND s.id > 0 THEN INSERT *"
    assert taken(session, f"MERGE INTO t USING s ON t.id = s.id {insert}") == [1]
    gone = "WHEN NOT MATCHED BY SOURCE AND p = 2 THEN DELETE WHEN NOT MATCHED BY SOURCE THEN UPDATE SET p = 0"
    assert taken(session, f"MERGE INTO t USING s ON t.id = s.id {gone}") == [0] * 3 + [1] * 4


def test_rows_that_match_twice_come_twice_whatever_the_clauses_say(session: Session) -> None:
    twice = "(SELECT * FROM s UNION ALL SELECT * FROM s) AS s"
    rows = run(
        session, planned(session, f"MERGE INTO t USING {twice} ON t.id = s.id WHEN MATCHED AND false THEN DELETE")
    )
    places = [row[:2] for row in rows]
    assert len(places) == 4
    assert len(set(places)) == 2
    assert taken(session, f"MERGE INTO t USING {twice} ON t.id = s.id {DELETE}") == [0, 0]


def test_a_value_that_does_not_hold_in_its_clause_is_not_worked_out(session: Session) -> None:
    text = (
        "MERGE INTO t USING (SELECT 1 AS id, 3000000000 AS big UNION ALL SELECT 99, 5) AS s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.big)"
    )
    assert taken(session, text) == [0, 1]


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", "t.id", "WHEN NOT MATCHED has no row of the target"),
        ("WHEN NOT MATCHED AND t.p = 1 THEN INSERT *", "t.p", "WHEN NOT MATCHED has no row of the target"),
        (
            "WHEN NOT MATCHED BY SOURCE AND s.p = 1 THEN DELETE",
            "s.p",
            "WHEN NOT MATCHED BY SOURCE has no row of the source",
        ),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET p = s.p",
            "s.p",
            "WHEN NOT MATCHED BY SOURCE has no row of the source",
        ),
        ("WHEN MATCHED THEN UPDATE SET p = s.nope", "s.nope", "Columns here"),
    ],
)
def test_a_clause_says_whose_columns_it_sees(session: Session, text: str, place: str, hint: str) -> None:
    statement = f"MERGE INTO t USING s ON t.id = s.id {text}"
    with pytest.raises(BergError) as caught:
        planned(session, statement)
    span = caught.value.span
    assert span is not None
    assert statement[span.start : span.end] == place
    assert hint in (caught.value.hint or "")


def test_a_clause_of_the_parser_knows_its_kind() -> None:
    clauses = merge(f"MERGE INTO t USING s ON t.id = s.id {SOME} {UPDATE} {INSERT} {SOME_GONE} {GONE}").clauses
    assert [c.match for c in clauses] == [Match.MATCHED] * 2 + [Match.NOT_MATCHED] + [Match.BY_SOURCE] * 2


ODD = (
    "t.id > s.id",
    "t.id >= s.id AND t.p = s.p",
    "t.p = 1",
    "s.v = 'x'",
    "t.p = 1 AND s.v = 'x'",
    "t.id = s.id OR t.p = 2",
    "true",
    "t.v IS NULL",
    "t.id IN (SELECT id FROM s)",
    "s.id IN (SELECT id FROM t WHERE p > 0)",
    "t.id = s.id AND t.p = (SELECT max(p) FROM t WHERE id < 20)",
    "t.id = s.id AND EXISTS (SELECT 1 FROM s x WHERE x.id > t.id)",
    "t.id + s.id IN (0, 22)",
    "t.id = s.id AND coalesce(t.p = s.p, false)",
    "t.p <=> s.p",
    "NOT (t.id <=> s.id)",
)


@pytest.mark.parametrize("on", [*EQUAL, *ODD])
def test_every_condition_matches_what_a_cross_join_finds(session: Session, on: str) -> None:
    """However the sides are joined: which rows of the target match, which of the source do not, and how often."""
    pairs = list(session.execute(f"SELECT t.id, s.id FROM t CROSS JOIN s WHERE {on}").rows())
    ids = {table: {row[0] for row in session.execute(f"SELECT id FROM {table}").rows()} for table in "ts"}
    matched, taken_from = {a for a, _ in pairs}, {b for _, b in pairs}
    for clauses in MIXES:
        found = [row[2] for row in run(session, planned(session, f"MERGE INTO t USING s ON {on} {' '.join(clauses)}"))]
        words = [c.split(" THEN ")[0] for c in clauses]
        expected = 0
        if "WHEN MATCHED" in words:
            alone = clauses == [DELETE]
            expected += len(matched) if alone else len(pairs)
        expected += len(ids["s"] - taken_from) * ("WHEN NOT MATCHED" in words)
        expected += len(ids["t"] - matched) * ("WHEN NOT MATCHED BY SOURCE" in words)
        assert len(found) == expected, clauses
