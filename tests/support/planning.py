"""Planning and running a query without a session: relations are given by hand, DuckDB runs the plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from bergsql.catalog.base import Catalog, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.engine.duck import set_variables
from bergsql.engine.plan.query import QueryPlan, plan_query
from bergsql.engine.plan.relations import IcebergRelation, Relation
from bergsql.engine.rows import converted, presentable
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.type_names import duckdb_name, flink_name, spark_name
from bergsql.engine.sql.types import DataType, Kind

FLINK, SPARK = Flavour.FLINK, Flavour.SPARK


@dataclass
class Tables:
    """What a session would tell the planner. Names are looked up by their last part."""

    flavour: Flavour
    time_zone: str = "UTC"
    current_catalog: str = "spark_catalog"
    current_database: str = "default"
    relations: Mapping[str, Relation] = field(default_factory=dict)

    def setting(self, key: str) -> str | None:  # noqa: ARG002
        return None

    def afresh(self) -> Tables:
        return self

    def evaluate(self, sql: str, variables: Mapping[str, object] | None = None) -> object:
        with connection(self.time_zone) as duck:
            for name, value in (variables or {}).items():
                duck.execute(f"SET VARIABLE {name} = ?", [value])
            try:
                return duck.execute(f"SELECT {sql}").fetchall()[0][0]
            except duckdb.Error as error:
                raise BergError(ErrorCode.INVALID, str(error)) from error

    def function(self, parts: tuple[str, ...], span: Span | None, *, system: bool = False) -> None:
        """There are no functions of a session."""

    def resolve(self, parts: tuple[str, ...], span: Span | None) -> Relation:
        found = self.relations.get(parts[-1])
        if found is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"Table {'.'.join(parts)} was not found.",
                span=span,
                hint=did_you_mean(parts[-1], self.relations),
            )
        return found


@dataclass(frozen=True)
class Answer:
    """A result as the reference answers are written: column names, the flavour's type names, JSON-like rows."""

    names: list[str]
    types: list[str]
    rows: list[list[Any]]


def plan(sql: str, flavour: Flavour, tables: Tables | None = None) -> QueryPlan:
    statement: Any = parse(sql, flavour)
    return plan_query(statement.query, tables or Tables(flavour))


def connection(time_zone: str = "UTC") -> duckdb.DuckDBPyConnection:
    """A DuckDB as a session sets it up."""
    made = duckdb.connect()
    made.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    made.execute(f"SET TimeZone = '{time_zone}'")
    return made


def ask(sql: str, flavour: Flavour, tables: Tables | None = None) -> Answer:
    """Plan ``sql``, run it, and check that DuckDB's types are those that were planned."""
    tables = tables or Tables(flavour)
    planned = plan(sql, flavour, tables)
    types = [c.type for c in planned.columns]
    assert None not in types
    with connection(tables.time_zone) as duck:
        set_variables(duck, planned.variables)
        _check_types(planned, duck)
        duck.execute(presentable(planned.sql, [t for t in types if t]))
        chunks = converted(iter([duck.fetchall()]), [t for t in types if t])
        rows = [[as_json(v, t) for v, t in zip(row, types, strict=True) if t] for chunk in chunks for row in chunk]
    written = spark_name if flavour is SPARK else flink_name
    return Answer([c.name for c in planned.columns], [written(t) for t in types if t], rows)


def _check_types(planned: QueryPlan, duck: duckdb.DuckDBPyConnection) -> None:
    """That DuckDB gives the types that were planned; a bare NULL's is its own affair."""
    got = [row[1] for row in duck.execute("DESCRIBE " + planned.sql).fetchall()]
    nulls = ", ".join(f"CAST(NULL AS {duckdb_name(c.type)})" for c in planned.columns)
    want = [row[1] for row in duck.execute(f"DESCRIBE SELECT {nulls}").fetchall()]
    assert [g for g in got if "NULL" not in g] == [w for g, w in zip(got, want, strict=True) if "NULL" not in g]


def as_json(value: Any, type_: DataType) -> Any:
    """A value as the reference answers have it; a struct is ``{"$row": […]}``."""
    if value is None:
        return None
    match type_.kind:
        case Kind.ARRAY:
            return [as_json(v, type_.children[0].type) for v in value]
        case Kind.MAP:
            key, item = (c.type for c in type_.children)
            return {"$map": [[as_json(k, key), as_json(v, item)] for k, v in value]}
        case Kind.ROW:
            return {"$row": [as_json(v, f.type) for f, v in zip(type_.children, value, strict=True)]}
        case Kind.INTERVAL_DAY_TIME:
            return str(timedelta(microseconds=value))
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Decimal():
            return f"{value:f}"
        case bytes():
            return {"$hex": value.hex()}
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        case date() | time():
            return str(value)
    return value


def iceberg_tables(folder: Path, flavour: Flavour, **declared: str) -> Tables:
    """Empty Iceberg tables in a Hadoop catalog in ``folder``: name → columns as a CREATE TABLE declares them."""
    from bergsql.catalog.metadata.new_table import new_table_metadata
    from bergsql.catalog.metadata.partition import UNPARTITIONED
    from bergsql.catalog.metadata.sort import UNSORTED
    from bergsql.engine.execute.table_definition import declared_schema

    catalog: Catalog = HadoopCatalog("c", str(folder))
    catalog.create_namespace(("db",))
    relations: dict[str, Relation] = {}
    for name, columns in declared.items():
        statement: Any = parse(f"CREATE TABLE {name} ({columns})", flavour)
        ident = TableIdent(("db",), name)
        schema = declared_schema(statement, 2, lambda *_: None)
        location = catalog.default_table_location(ident)
        table = catalog.create_table(ident, new_table_metadata(schema, UNPARTITIONED, UNSORTED, location, {}))
        relations[name] = IcebergRelation(("c", "db", name), table, catalog.storage(), None)
    return Tables(flavour, relations=relations)
