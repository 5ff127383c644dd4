"""MERGE in the situations that Iceberg's Java project tests it in (its TestMerge), told in our own words and tables.

Every test runs copy-on-write (format versions 1, 2, 3) and merge-on-read (2, 3). The situations there, by name:

Clauses: testMergeWithAllClauses, testMergeWithOneNotMatchedBySourceClause, testMergeNotMatchedBySourceClausesPartitioned-
Table, testMergeWithOnlyUpdateClause, testMergeWithOnlyUpdateClauseAndNullValues, testMergeWithOnlyUpdateNullUnmatched-
Values, testMergeWithOnlyUpdateSingleFieldNullUnmatchedValues, testMergeWithOnlyDeleteNullUnmatchedValues, testMergeWith-
OnlyDeleteClause, testMergeWithMatchedAndNotMatchedClauses, testMergeWithAllCausesWithExplicitColumnSpecification,
testMergeInsertOnly, testMergeInsertOnlyWithCondition, testMergeWithMultipleNotMatchedActions (with and without
conditions), testMergeWithUnconditionalDelete, testMergeWithSingleConditionalDelete, testMergeWithNullActionConditions.
Sources: testMergeWithSourceCTE, testMergeWithSourceFromSetOps, testSelfMerge, testSelfMergeWithCaching, testMergeWith-
SourceAsSelfSubquery, testMergeWithExtraColumnsInSource, testMergeIntoEmptyTargetInsertAllNonMatchingRows, testMergeInto-
EmptyTargetInsertOnlyMatchingRows, testMergeEmptyTable, testMergeSinglePartitionPartitioning.
A row that matches twice: testMergeWithMultipleUpdatesForTargetRow (small target and large source, without an equality,
without NOT MATCHED, without both), testMergeWithOneMatchingBranchButMultipleSourceRowsForTargetRow.
Conditions: testMergeWithNullsInTargetAndSource, testMergeWithNullSafeEquals, testMergeWithNullCondition, testMergeCondition-
SplitIntoTargetPredicateAndJoinCondition, testMergeWithStaticPredicatePushDown, testMergeWithNonDeterministicConditions,
testMergeWithSubqueriesInConditions (both of which we take), testMergeWithAggregateExpressions, testMergeWithTargetColumns-
InInsertConditions.
Layout: testMergeWithDaysTransform, testMergeWithBucketTransform, testMergeWithTruncateTransform, testMergeIntoPartitioned-
AndOrderedTable, testMergeWithMultipleRowGroupsParquet, testMergeWithVectorizedReads, testCoalesceMerge, testSkewMerge.
Values: testMergeAlignsUpdateAndInsertActions, testMergeMixedCaseAlignsUpdateAndInsertActions, testMergeUpdatesNested-
StructFields, testMergeWithInferredCasts, testMergeModifiesNullStruct, testMergeResolvesColumnsByName, testMergeShould-
ResolveWhenThereAreNoUnresolvedExpressionsOrColumns, testMergeWithTableWithNonNullableColumn, testMergeWithNonExisting-
Columns, testMergeWithInvalidColumnsInInsert, testMergeWithMissingOptionalColumnsInInsert, testMergeWithInvalidUpdates,
testMergeWithConflictingUpdates, testMergeWithInvalidAssignmentsAnsi, testMergeRefreshesRelationCache.
Branches: testMergeNonExistingBranch, testMergeToWapBranch, testMergeToWapBranchWithTableBranchIdentifier.
Elsewhere: testMergeWithSerializableIsolation, testMergeWithSnapshotIsolation (row_delta's tests), testMergeWithInvalid-
AssignmentsStrict (a setting that bergsql has not).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour

MODES = [(1, "copy-on-write"), (2, "copy-on-write"), (3, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")]


class Shop:
    """A session, and one table of its in one mode: ``target``."""

    def __init__(self, session: Session, version: int, mode: str, number: int) -> None:
        self.session, self.version, self.mode = session, version, mode
        self.target, self.source = f"t{number}", f"s{number}"

    def do(self, statement: str) -> tuple[str, ...]:
        return self.session.execute(statement.format(t=self.target, s=self.source)).messages

    def create(self, columns: str, *rows: str, layout: str = "") -> None:
        """The target, each of ``rows`` (tuples of SQL) in files of its own."""
        properties = f"'format-version' = '{self.version}', 'write.merge.mode' = '{self.mode}'"
        self.do(f"CREATE TABLE {{t}} ({columns}) USING iceberg {layout} TBLPROPERTIES ({properties})")
        for row in rows:
            self.do(f"INSERT INTO {{t}} VALUES {row}")

    def give(self, query: str) -> None:
        """The source, as a view."""
        self.do(f"CREATE OR REPLACE TEMPORARY VIEW {{s}} AS {query}")

    def merge(self, on: str, clauses: str) -> tuple[str, ...]:
        return self.do(f"MERGE INTO {{t}} t USING {{s}} s ON {on} {clauses}")

    def rows(self, columns: str = "*", of: str = "{t}") -> list[tuple[Any, ...]]:
        return sorted(self.session.execute(f"SELECT {columns} FROM {of.format(t=self.target)}").rows(), key=_key)

    def refused(self, on: str, clauses: str) -> BergError:
        """The error of a MERGE, which must leave no trace."""
        before = self.rows(), self.rows("snapshot_id", "{t}.snapshots")
        with pytest.raises(BergError) as caught:
            self.merge(on, clauses)
        assert (self.rows(), self.rows("snapshot_id", "{t}.snapshots")) == before
        return caught.value


def _key(row: tuple[Any, ...]) -> list[tuple[bool, str]]:
    return [(value is not None, f"{value + 10**9:>20}" if isinstance(value, int) else str(value)) for value in row]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(SessionConfig(home=tmp_path_factory.mktemp("home"), flavour=Flavour.SPARK))
    yield session
    session.close()


numbers = iter(range(10_000))


def _named(mode: tuple[int, str]) -> str:
    return f"v{mode[0]}-{mode[1]}"


third = pytest.mark.parametrize("shop", [m for m in MODES if m[0] == 3], indirect=True, ids=_named)


@pytest.fixture(params=MODES, ids=_named)
def shop(session: Session, request: pytest.FixtureRequest) -> Shop:
    version, mode = request.param
    return Shop(session, version, mode, next(numbers))


STAFF = "id int, dep string"
NEWS = "VALUES (2, 'new two'), (1, 'new one'), (6, 'new six') AS s(id, dep)"


def staffed(shop: Shop, layout: str = "") -> None:
    shop.create(STAFF, "(1, 'one')", "(6, 'six'), (7, 'seven')", layout=layout)
    shop.give(f"SELECT * FROM {NEWS}")


# --- clauses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["", "PARTITIONED BY (dep)", "PARTITIONED BY (bucket(2, id))"])
def test_all_clauses_at_once(shop: Shop, layout: str) -> None:
    staffed(shop, layout)
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN MATCHED AND t.id = 6 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 2 THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 7 THEN UPDATE SET dep = 'gone'",
    )
    assert shop.rows() == [(1, "new one"), (2, "new two"), (7, "gone")]


@pytest.mark.parametrize("layout", ["", "PARTITIONED BY (dep)"])
def test_not_matched_by_source_alone(shop: Shop, layout: str) -> None:
    staffed(shop, layout)
    shop.merge("t.id = s.id", "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = concat(dep, '!')")
    assert shop.rows() == [(1, "one"), (6, "six"), (7, "seven!")]
    shop.merge("t.id = s.id AND t.id > 1", "WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN DELETE")
    assert shop.rows() == [(6, "six"), (7, "seven!")]
    shop.merge(
        "t.id = s.id AND t.dep = 'six'",
        "WHEN MATCHED THEN UPDATE SET dep = 'kept' WHEN NOT MATCHED BY SOURCE AND t.id = 7 THEN UPDATE SET id = 8 "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    )
    assert shop.rows() == [(6, "kept"), (8, "seven!")]


def test_one_clause_alone(shop: Shop) -> None:
    staffed(shop)
    shop.merge("t.id = s.id", "WHEN MATCHED AND t.id = 1 THEN UPDATE SET *")
    assert shop.rows() == [(1, "new one"), (6, "six"), (7, "seven")]
    shop.merge("t.id = s.id", "WHEN MATCHED AND t.id = 6 THEN DELETE")
    assert shop.rows() == [(1, "new one"), (7, "seven")]
    shop.merge("t.id = s.id", "WHEN NOT MATCHED AND s.id > 2 THEN INSERT *")
    assert shop.rows() == [(1, "new one"), (6, "new six"), (7, "seven")]
    shop.merge("t.id = s.id", "WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(1, "new one"), (2, "new two"), (6, "new six"), (7, "seven")]
    shop.merge("t.id = s.id", "WHEN MATCHED THEN DELETE")
    assert shop.rows() == [(7, "seven")]


def test_columns_named_one_by_one(shop: Shop) -> None:
    staffed(shop)
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET t.id = s.id, t.dep = s.dep WHEN MATCHED AND t.id = 6 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 2 THEN INSERT (t.id, t.dep) VALUES (s.id, s.dep)",
    )
    assert shop.rows() == [(1, "new one"), (2, "new two"), (7, "seven")]


def test_rows_that_match_nothing_keep_their_nulls(shop: Shop) -> None:
    shop.create("id int, value int", "(1, 2)", "(6, null), (5, null)")
    shop.give("SELECT 1 AS id, 100 AS value")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET id = 123")
    assert shop.rows() == [(5, None), (6, None), (123, 2)]
    shop.give("SELECT 123 AS id, 100 AS value UNION ALL SELECT null, 1")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET id = 124, value = 456")
    assert shop.rows() == [(5, None), (6, None), (124, 456)]
    shop.give("SELECT 124 AS id")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN DELETE")
    assert shop.rows() == [(5, None), (6, None)]


def test_a_condition_on_the_target_beside_rows_of_null(shop: Shop) -> None:
    shop.create(STAFF, "(null, 'none')", "(1, 'one'), (6, 'six')")
    shop.give(f"SELECT * FROM {NEWS}")
    shop.merge("t.id = s.id AND t.id < 3", "WHEN MATCHED THEN UPDATE SET *")
    assert shop.rows() == [(None, "none"), (1, "new one"), (6, "six")]


def test_several_inserts_each_with_its_condition(shop: Shop) -> None:
    shop.create(STAFF, "(0, 'zero')")
    shop.give(f"SELECT * FROM {NEWS}")
    shop.merge(
        "t.id = s.id",
        "WHEN NOT MATCHED AND s.id = 1 THEN INSERT (dep, id) VALUES (s.dep, -1) "
        "WHEN NOT MATCHED AND s.id >= 1 THEN INSERT *",
    )
    assert shop.rows() == [(-1, "new one"), (0, "zero"), (2, "new two"), (6, "new six")]
    shop.merge(
        "t.id = s.id",
        "WHEN NOT MATCHED AND s.id = 100 THEN INSERT * WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id * 10)",
    )
    assert shop.rows()[-1] == (10, None)


# --- a row that matches twice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("many", [0, 5_000])
@pytest.mark.parametrize("on", ["t.id = s.id", "t.id > s.id - 1 AND t.id < s.id + 1"])
@pytest.mark.parametrize("insert", ["", "WHEN NOT MATCHED AND s.dep = 'no' THEN INSERT *"])
def test_a_row_that_matches_twice_is_refused_before_anything_is_written(
    shop: Shop, many: int, on: str, insert: str
) -> None:
    staffed(shop)
    shop.give(
        f"SELECT * FROM {NEWS} UNION ALL SELECT 1, 'again' UNION ALL SELECT id + 100, 'far' FROM range({many}) AS r(id)"
    )
    for clause in ("UPDATE SET *", "DELETE"):
        error = shop.refused(on, f"WHEN MATCHED AND s.dep <> 'again' THEN {clause} {insert}")
        assert error.code is ErrorCode.CARDINALITY
    error = shop.refused(on, f"WHEN MATCHED AND t.id = 6 THEN UPDATE SET dep = 'x' WHEN MATCHED THEN DELETE {insert}")
    assert error.code is ErrorCode.CARDINALITY


def test_a_lone_delete_takes_a_row_that_matches_twice(shop: Shop) -> None:
    staffed(shop)
    shop.give(f"SELECT * FROM {NEWS} UNION ALL SELECT 1, 'again'")
    messages = shop.merge("t.id = s.id", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(2, "new two"), (7, "seven")]
    assert "2 rows deleted" in messages[-1]
    shop.give("SELECT 2 AS id UNION ALL SELECT 2 UNION ALL SELECT 7")
    messages = shop.merge("t.id = s.id", "WHEN MATCHED THEN DELETE")
    assert shop.rows() == []
    assert "2 rows deleted" in messages[-1]


# --- sources ----------------------------------------------------------------------------------------------------------


def test_sources_of_every_kind(shop: Shop) -> None:
    staffed(shop)
    when = "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN NOT MATCHED AND s.id = 3 THEN INSERT *"
    shop.do(
        f"WITH c AS (SELECT id + 1 AS id, dep FROM {{s}}) MERGE INTO {{t}} AS t USING c AS s ON t.id == s.id {when}"
    )
    assert shop.rows() == [(1, "one"), (3, "new two"), (6, "six"), (7, "seven")]
    union = (
        "(SELECT * FROM {s} WHERE id = 1 UNION SELECT id, 'twice' FROM {s} WHERE id = 6 INTERSECT SELECT 6, 'twice')"
    )
    shop.do(f"MERGE INTO {{t}} AS t USING {union} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    assert shop.rows() == [(1, "new one"), (3, "new two"), (6, "twice"), (7, "seven")]
    shop.do(
        "MERGE INTO {t} t USING {t} s ON t.id = s.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET dep = 'self' "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    assert shop.rows()[0] == (1, "self")
    own = "(SELECT r.id AS value FROM {t} r JOIN {s} ON r.id = {s}.id)"
    shop.do(
        f"MERGE INTO {{t}} t USING {own} s ON t.id = s.value WHEN MATCHED AND t.id = 6 THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (dep, id) VALUES ('invalid', -1)"
    )
    assert shop.rows() == [(1, "self"), (3, "new two"), (7, "seven")]


def test_columns_that_only_the_source_has_are_left_out(shop: Shop) -> None:
    staffed(shop)
    shop.give("SELECT 'extra' AS more, dep, id FROM VALUES (2, 'two'), (1, 'new one') AS s(id, dep)")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(1, "new one"), (2, "two"), (6, "six"), (7, "seven")]


def test_a_table_without_data(shop: Shop) -> None:
    shop.create(STAFF)
    shop.give(f"SELECT * FROM {NEWS}")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY SOURCE THEN DELETE")
    assert shop.rows() == []
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND s.id >= 2 THEN INSERT *")
    assert shop.rows() == [(2, "new two"), (6, "new six")]


def test_a_source_without_rows(shop: Shop) -> None:
    staffed(shop)
    shop.give("SELECT 1 AS id, 'x' AS dep WHERE false")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(1, "one"), (6, "six"), (7, "seven")]
    shop.merge("t.id = s.id", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE AND t.id < 7 THEN DELETE")
    assert shop.rows() == [(7, "seven")]


# --- conditions -------------------------------------------------------------------------------------------------------


def test_nulls_match_nothing_unless_they_are_asked_for(shop: Shop) -> None:
    shop.create("id int, v string", "(null, 'n')", "(2, 'b')")
    shop.give("SELECT * FROM VALUES (null, 'N'), (4, 'd') AS s(id, v)")
    shop.merge(
        "t.id = s.id", "WHEN MATCHED THEN UPDATE SET v = 'x' WHEN NOT MATCHED THEN INSERT (v, id) VALUES (s.v, s.id)"
    )
    assert shop.rows() == [(None, "N"), (None, "n"), (2, "b"), (4, "d")]
    shop.do("MERGE INTO {t} t USING (SELECT 1) s ON t.v = 'N' OR t.id = 4 WHEN MATCHED THEN DELETE")
    shop.merge("t.id <=> s.id", "WHEN MATCHED THEN UPDATE SET v = 'x' WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(None, "x"), (2, "b"), (4, "d")]


def test_conditions_that_are_null_hold_never(shop: Shop) -> None:
    staffed(shop)
    shop.merge(
        "t.id = s.id AND cast(null AS boolean)", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id = 2 THEN INSERT *"
    )
    assert shop.rows() == [(1, "one"), (2, "new two"), (6, "six"), (7, "seven")]
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND t.id = 1 AND null THEN UPDATE SET dep = 'x' WHEN MATCHED AND t.id = 6 THEN UPDATE SET dep = 'y' "
        "WHEN MATCHED AND null THEN DELETE WHEN NOT MATCHED AND null THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND null THEN DELETE",
    )
    assert shop.rows() == [(1, "one"), (2, "new two"), (6, "y"), (7, "seven")]


def test_a_condition_on_partitions_of_the_target(shop: Shop) -> None:
    shop.create(
        "id int, pay int, dep string, sub string",
        "(1, 100, 'd1', 's1')",
        "(6, 600, 'd6', 's6')",
        layout="PARTITIONED BY (dep, sub)",
    )
    shop.give(
        "SELECT * FROM VALUES (1, 101, 'd1', 's1'), (2, 200, 'd2', 's2'), (6, 1, 'd6', 's9') AS s(id, pay, dep, sub)"
    )
    on = "t.id == s.id AND ((t.dep = 'd1' AND t.sub IN ('s1', 's3')) OR (t.dep = 'd6' AND t.sub IN ('s2', 's7')))"
    shop.merge(on, "WHEN MATCHED THEN UPDATE SET pay = s.pay WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(1, 101, "d1", "s1"), (2, 200, "d2", "s2"), (6, 1, "d6", "s9"), (6, 600, "d6", "s6")]


def test_conditions_with_queries_and_chance(shop: Shop) -> None:
    """Spark refuses both; a condition is worked out once a row here."""
    staffed(shop)
    shop.merge("t.id = s.id AND t.id < (SELECT max(id) FROM {s})", "WHEN MATCHED THEN UPDATE SET dep = 'low'")
    shop.merge(
        "t.id = s.id", "WHEN MATCHED AND t.dep NOT IN (SELECT dep FROM {t} WHERE id < 6) AND rand() < 2 THEN DELETE"
    )
    assert shop.rows() == [(1, "low"), (7, "seven")]


def test_aggregates_and_the_other_sides_columns_are_refused(shop: Shop) -> None:
    staffed(shop)
    assert "aggregate" in shop.refused("t.id = s.id AND max(t.id) = 1", "WHEN MATCHED THEN DELETE").message.lower()
    assert "aggregate" in shop.refused("t.id = s.id", "WHEN MATCHED AND sum(t.id) < 1 THEN DELETE").message.lower()
    assert shop.refused("t.id = s.id", "WHEN NOT MATCHED AND t.dep = 'x' THEN INSERT *").code is ErrorCode.NOT_FOUND


# --- layouts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["days(ts)", "bucket(2, id)", "truncate(2, dep)", "dep", "hours(ts)"])
def test_transforms_and_orders(shop: Shop, part: str) -> None:
    shop.create("id int, dep string, ts timestamp")
    shop.do(f"ALTER TABLE {{t}} ADD PARTITION FIELD {part}")
    shop.do("ALTER TABLE {t} WRITE ORDERED BY (id)")
    shop.do(
        "INSERT INTO {t} VALUES (1, 'one', timestamp'2000-01-01 00:00:00'), (6, 'six', timestamp'2000-01-06 00:00:00')"
    )
    shop.give(
        "SELECT * FROM VALUES (2, 'two', timestamp'2001-01-02 00:00:00'), (1, 'uno', timestamp'2001-01-01 00:00:00'), "
        "(6, 'sex', timestamp'2001-01-06 00:00:00') AS s(id, dep, ts)"
    )
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN MATCHED AND t.id = 6 THEN DELETE "
        "WHEN NOT MATCHED AND s.id = 2 THEN INSERT *",
    )
    assert shop.rows("id, dep, cast(ts AS string)") == [
        (1, "uno", "2001-01-01 00:00:00"),
        (2, "two", "2001-01-02 00:00:00"),
    ]


def test_rows_scattered_over_many_files_and_row_groups(shop: Shop) -> None:
    shop.create("id int, pay int")
    shop.do("ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.row-group-size-bytes' = '4096')")
    for start in range(0, 6000, 2000):
        shop.do(f"INSERT INTO {{t}} SELECT id, 1 FROM range({start}, {start + 2000}) AS r(id)")
    shop.give("SELECT id * 7 AS id, -1 AS pay FROM range(1000) AS r(id)")
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND s.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id % 1000 = 999 THEN DELETE",
    )
    source = {i * 7 for i in range(1000)}
    expected = {i: (-1 if i in source else 1) for i in range(6000) if not (i in source and i % 2 == 0)}
    expected = {i: pay for i, pay in expected.items() if i in source or i % 1000 != 999}
    expected |= {i: -1 for i in source if i >= 6000}
    assert shop.rows() == sorted(expected.items())
    assert len(shop.rows("id")) == len(expected)


def test_merging_again_and_again(shop: Shop) -> None:
    """Deletes lie upon deletes; rows that moved are found where they are."""
    staffed(shop)
    for turn in range(4):
        shop.give(f"SELECT * FROM VALUES (1, 'turn {turn}'), ({turn + 10}, 'new'), (6, 'six {turn}') AS s(id, dep)")
        shop.merge(
            "t.id = s.id",
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
            "WHEN NOT MATCHED BY SOURCE AND t.dep = 'new' THEN DELETE",
        )
    assert shop.rows() == [(1, "turn 3"), (6, "six 3"), (7, "seven"), (13, "new")]


# --- values -----------------------------------------------------------------------------------------------------------


def test_assignments_in_any_order_and_case(shop: Shop) -> None:
    shop.create("id int, a int, b string", "(1, 2, 'str')")
    shop.give("SELECT * FROM VALUES (1, -2, 'new_str_1'), (2, -20, 'new_str_2') AS s(id, c1, c2)")
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED THEN UPDATE SET B = c2, A = s.c1, t.Id = s.ID "
        "WHEN NOT MATCHED THEN INSERT (b, A, iD) VALUES (c2, c1, id)",
    )
    assert shop.rows() == [(1, -2, "new_str_1"), (2, -20, "new_str_2")]


def test_fields_of_structs(shop: Shop) -> None:
    shop.create(
        "id int, s struct<c1:int,c2:struct<a:array<int>,m:map<string,string>>>",
        "(1, named_struct('c1', 2, 'c2', named_struct('a', array(1, 2), 'm', map('a', 'b')))), (2, null)",
    )
    shop.give("SELECT 1 AS id, -2 AS c1 UNION ALL SELECT 2, -5")
    shop.merge("t.id = s.id AND s.id = 1", "WHEN MATCHED THEN UPDATE SET t.s.c1 = -2")
    shop.merge(
        "t.id = s.id AND s.id = 1",
        "WHEN MATCHED THEN UPDATE SET t.s.c2.m = map('k', 'v'), t.s.c2.a = array(-1), t.id = 10",
    )
    assert shop.rows() == [(2, None), (10, (-2, ([-1], [("k", "v")])))]
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET t.s.c1 = s.c1")
    assert shop.rows() == [(2, (-5, None)), (10, (-2, ([-1], [("k", "v")])))]
    shop.give("SELECT 10 AS id")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET t.s.c2 = named_struct('m', map('x', 'y'), 'a', array(7))")
    assert shop.rows()[1] == (10, (-2, ([7], [("x", "y")])))


def test_values_are_cast_where_spark_casts_them(shop: Shop) -> None:
    shop.create("id int, s string, x double", "(1, 'value', 1.5)")
    shop.give("SELECT 1 AS id, -2 AS n, date'2024-01-01' AS d")
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET t.s = s.n, t.x = s.n")
    assert shop.rows() == [(1, "-2", -2.0)]
    shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET t.s = s.d")
    assert shop.rows() == [(1, "2024-01-01", -2.0)]


def test_clauses_without_names(shop: Shop) -> None:
    staffed(shop)
    shop.merge(
        "1 <> 1",
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id = 2 THEN INSERT (id, dep) VALUES (100, 'unmatched')",
    )
    assert shop.rows()[-1] == (100, "unmatched")


def test_columns_that_take_no_null(shop: Shop) -> None:
    shop.create(
        "id int NOT NULL, s struct<n1:int NOT NULL, n2:string> NOT NULL", "(1, named_struct('n1', 1, 'n2', 'a'))"
    )
    shop.give("SELECT 1 AS c1, cast(null AS int) AS c2 UNION ALL SELECT 2, 5")
    assert "'id'" in shop.refused("t.id = s.c1", "WHEN MATCHED THEN UPDATE SET t.id = s.c2").message
    shop.refused("t.id = s.c1", "WHEN MATCHED THEN UPDATE SET t.s = null")
    shop.refused("t.id = s.c1", "WHEN MATCHED THEN UPDATE SET t.s.n1 = s.c2")
    assert "'s'" in shop.refused("t.id = s.c1", "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.c1)").message
    shop.merge("t.id = s.c1", "WHEN NOT MATCHED THEN INSERT (s, id) VALUES (named_struct('n2', 'b', 'n1', s.c2), s.c1)")
    assert shop.rows() == [(1, (1, "a")), (2, (5, "b"))]


def test_wrong_columns_and_values_are_refused(shop: Shop) -> None:
    shop.create("id int, c struct<n1:int,n2:struct<dn1:int,dn2:int>>, a array<int>", "(1, null, array(1))")
    shop.give("SELECT 1 AS c1, named_struct('n1', 5) AS c2, 'str' AS c3")
    for clauses, code in (
        ("WHEN MATCHED THEN UPDATE SET t.invalid_col = s.c2", ErrorCode.NOT_FOUND),
        ("WHEN MATCHED THEN UPDATE SET t.c.n2.invalid_col = s.c1", ErrorCode.NOT_FOUND),
        (
            "WHEN MATCHED THEN UPDATE SET t.c.n2.dn1 = s.c1 WHEN NOT MATCHED THEN INSERT (id, invalid_col) VALUES (s.c1, null)",
            ErrorCode.NOT_FOUND,
        ),
        ("WHEN NOT MATCHED THEN INSERT (id, c.n2) VALUES (s.c1, null)", ErrorCode.INVALID),
        ("WHEN NOT MATCHED THEN INSERT (id, id) VALUES (s.c1, null)", ErrorCode.INVALID),
        ("WHEN MATCHED THEN UPDATE SET t.a.element = s.c1", ErrorCode.TYPE),
        ("WHEN MATCHED THEN UPDATE SET t.id = 1, t.c.n1 = 2, t.id = 2", ErrorCode.INVALID),
        ("WHEN MATCHED THEN UPDATE SET t.c.n1 = 1, t.id = 2, t.c.n1 = 2", ErrorCode.INVALID),
        ("WHEN MATCHED THEN UPDATE SET c.n1 = 1, c = named_struct('n1', 1, 'n2', null)", ErrorCode.INVALID),
        ("WHEN MATCHED THEN UPDATE SET t.id = s.c3", ErrorCode.TYPE),
        ("WHEN MATCHED THEN UPDATE SET t.c = s.c2", ErrorCode.NOT_FOUND),
        ("WHEN MATCHED THEN UPDATE SET t.c.n1 = s.c3", ErrorCode.TYPE),
        ("WHEN MATCHED THEN UPDATE SET t.c.n2 = s.c2", ErrorCode.NOT_FOUND),
        ("WHEN MATCHED THEN UPDATE SET *", ErrorCode.NOT_FOUND),
        ("WHEN NOT MATCHED THEN INSERT *", ErrorCode.NOT_FOUND),
    ):
        assert shop.refused("t.id = s.c1", clauses).code is code, clauses


def test_columns_that_an_insert_leaves_out(shop: Shop) -> None:
    shop.create("id int NOT NULL, v string, p int", "(1, 'a', 1)", layout="PARTITIONED BY (p)")
    shop.give("SELECT 2 AS id, 'b' AS v")
    shop.merge("t.id = s.id", "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert shop.rows() == [(1, "a", 1), (2, None, None)]


@third
def test_defaults(shop: Shop) -> None:
    shop.create("id int, v string, n int", "(1, 'a', 1)")
    shop.do("ALTER TABLE {t} ADD COLUMN d int DEFAULT 5")
    shop.give("SELECT * FROM VALUES (1, 'x'), (2, 'y') AS s(id, v)")
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED THEN UPDATE SET v = s.v, n = DEFAULT WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    )
    assert shop.rows() == [(1, "x", None, 5), (2, "y", None, 5)]


@third
def test_rows_keep_their_ids(shop: Shop) -> None:
    staffed(shop)
    before = dict(shop.rows("id, _row_id"))
    shop.merge(
        "t.id = s.id",
        "WHEN MATCHED AND t.id = 1 THEN UPDATE SET * WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET dep = 'gone'",
    )
    after = dict(shop.rows("id, _row_id"))
    assert (after[1], after[7]) == (before[1], before[7])
    assert after[2] > max(before.values())
    sequence = dict(shop.rows("id, _last_updated_sequence_number"))
    assert sequence == dict.fromkeys((1, 2, 7), max(sequence.values()))


def test_a_column_that_came_later(shop: Shop) -> None:
    staffed(shop)
    shop.do("ALTER TABLE {t} ADD COLUMN more int")
    shop.do("ALTER TABLE {t} RENAME COLUMN dep TO name")
    shop.give("SELECT 1 AS id, 'x' AS name, 5 AS more UNION ALL SELECT 2, 'y', null")
    shop.merge("t.id = s.id", "WHEN MATCHED AND t.more IS NULL THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    assert shop.rows() == [(1, "x", 5), (2, "y", None), (6, "six", None), (7, "seven", None)]


# --- branches ---------------------------------------------------------------------------------------------------------


def test_a_branch_that_is_not_there(shop: Shop) -> None:
    staffed(shop)
    with pytest.raises(BergError) as caught:
        shop.do("MERGE INTO {t}.branch_test t USING {s} s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert caught.value.code is ErrorCode.NOT_FOUND


def test_the_branch_that_is_audited(shop: Shop) -> None:
    staffed(shop)
    main = shop.rows()
    shop.do("ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    shop.do("SET spark.wap.branch = wap")
    try:
        shop.merge("t.id = s.id", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
        found = [(1, "new one"), (2, "new two"), (6, "new six"), (7, "seven")]
        assert shop.rows() == shop.rows(of="{t}.branch_wap") == found
        assert shop.rows(of="{t}.branch_main") == main
        shop.merge("t.id = s.id", "WHEN MATCHED AND t.id < 6 THEN DELETE WHEN NOT MATCHED THEN INSERT *")
        assert shop.rows() == found[2:]
        with pytest.raises(BergError):
            shop.do("MERGE INTO {t}.branch_wap t USING {s} s ON t.id = s.id WHEN MATCHED THEN DELETE")
    finally:
        shop.do("RESET spark.wap.branch")
    assert shop.rows() == main
    shop.do(
        "MERGE INTO {t}.branch_wap t USING {t} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert shop.rows(of="{t}.branch_wap") == main
