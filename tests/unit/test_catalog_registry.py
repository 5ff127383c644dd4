"""CREATE CATALOG's and Spark's options, and default_catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.base import TableIdent
from bergsql.catalog.default import DefaultCatalog
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import UNPARTITIONED
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.registry import build_catalog

SPARK = "org.apache.iceberg.spark.SparkCatalog"
HADOOP = {"type": "iceberg", "catalog-type": "hadoop"}
SCHEMA = Schema(0, (NestedField(1, "id", parse_type("int"), required=False),))


def test_flinks_form(tmp_path: Path) -> None:
    options = {
        **HADOOP,
        "warehouse": str(tmp_path),
        "property-version": "1",
        "cache-enabled": "true",
        "clients": "5",
        "default-database": "d",
    }
    catalog = build_catalog("c", options)
    assert isinstance(catalog, HadoopCatalog)
    assert (catalog.name, catalog.type, catalog.warehouse) == ("c", "hadoop", str(tmp_path))
    assert catalog.options == options
    assert catalog.default_namespace == ("d",)


def test_sparks_form(tmp_path: Path) -> None:
    catalog = build_catalog("c", {"type": "hadoop", "warehouse": str(tmp_path)}, spark_class=SPARK)
    assert isinstance(catalog, HadoopCatalog)
    assert catalog.default_namespace == ("default",)
    by_class = {"catalog-impl": "org.apache.iceberg.hadoop.HadoopCatalog", "warehouse": str(tmp_path)}
    assert build_catalog("c", by_class, spark_class=SPARK).type == "hadoop"


@pytest.mark.parametrize(
    ("options", "code", "says", "hint"),
    [
        ({}, "OPTION", "A catalog needs the option 'type'.", "Write 'type'='iceberg'."),
        ({"typ": "iceberg"}, "OPTION", "A catalog has no option 'typ'.", "Did you mean 'type'?"),
        ({"type": "icberg"}, "OPTION", "There is no catalog type 'icberg'.", "Did you mean 'iceberg'?"),
        ({"type": "generic_in_memory", "zzz": "1"}, "OPTION", "A catalog in memory has no option 'zzz'.", None),
        ({"type": "jdbc"}, "UNSUPPORTED", "'jdbc' is not supported yet", "Write 'type'='iceberg'."),
        ({"type": "iceberg"}, "OPTION", "needs the option 'catalog-type'", "'catalog-type'='hadoop'"),
        (
            {"type": "iceberg", "catalog-typ": "hadoop"},
            *("OPTION", "An Iceberg catalog has no option 'catalog-typ'.", "Did you mean 'catalog-type'?"),
        ),
        ({**HADOOP, "catalog-type": "hadop"}, "OPTION", "There is no catalog type 'hadop'", "Did you mean 'hadoop'?"),
        ({**HADOOP, "catalog-type": "hive"}, "OPTION", "A Hive catalog needs the option 'uri'.", "thrift://host:9083"),
        ({**HADOOP, "catalog-type": "rest"}, "UNSUPPORTED", "The catalog type 'rest' is not supported yet", "hadoop"),
        (HADOOP, "OPTION", "A Hadoop catalog needs the option 'warehouse'.", "directory"),
        ({**HADOOP, "warehous": "/w"}, "OPTION", "A Hadoop catalog has no option 'warehous'.", "'warehouse'"),
        ({**HADOOP, "warehouse": " "}, "OPTION", "The option 'warehouse' is empty.", None),
        ({**HADOOP, "warehouse": "s3://b/w"}, "UNSUPPORTED", "Storage on s3 is not supported yet.", None),
        ({**HADOOP, "warehouse": "/w", "cache-enabled": "yes"}, "OPTION", "'yes' is not a value of", None),
        ({**HADOOP, "warehouse": "/w", "property-version": "2"}, "OPTION", "'2' is not a value of", None),
        ({**HADOOP, "warehouse": "/w", "table-default.a": "b"}, "UNSUPPORTED", "option 'table-default.a'", "property"),
        ({**HADOOP, "catalog-impl": "x.Y"}, "OPTION", "'catalog-type' and 'catalog-impl' cannot both", None),
        ({"type": "iceberg", "catalog-impl": "x.Y"}, "UNSUPPORTED", "x.Y ('catalog-impl') is not supported", None),
    ],
)
def test_what_is_refused(options: dict[str, str], code: str, says: str, hint: str | None) -> None:
    with pytest.raises(BergError) as caught:
        build_catalog("c", options)
    assert caught.value.code is ErrorCode(code)
    assert says in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("spark_class", "options", "says"),
    [
        (SPARK, {"warehouse": "/w"}, "needs the option 'type'"),
        (SPARK, {"type": "hadoop", "warehouse": "/w", "catalog-typ": "x"}, "no option 'catalog-typ'"),
        ("org.apache.iceberg.spark.SparkSessionCatalog", {"type": "hadoop"}, "SparkSessionCatalog is not supported"),
        ("org.apache.iceberg.spark.SparkCatalogue", {"type": "hadoop"}, "is not known here"),
    ],
)
def test_what_is_refused_of_spark(spark_class: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(BergError, match=says):
        build_catalog("c", options, spark_class=spark_class)


def test_secrets_of_a_catalog_are_masked(tmp_path: Path) -> None:
    options = {**HADOOP, "warehouse": str(tmp_path), "hadoop.fs.s3a.secret.key": "geheim"}
    assert "geheim" not in str(dict(build_catalog("c", options).options))


# --- default_catalog -------------------------------------------------------------------------------------------------

T = TableIdent(("default_database",), "t")


def create(catalog: DefaultCatalog, ident: TableIdent) -> None:
    location = catalog.default_table_location(ident)
    catalog.create_table(ident, new_table_metadata(SCHEMA, UNPARTITIONED, UNSORTED, location, {}))


def test_databases_of_default_catalog_keep_properties(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path)
    catalog.create_namespace(("d",), {"comment": "the d", "k": "v"})
    catalog.update_namespace_properties(("d",), {"k": "w", "l": "日本"}, ("comment", "nope"))
    catalog.update_namespace_properties(("default_database",), {"comment": "x"})
    again = DefaultCatalog(tmp_path)
    assert again.namespace_properties(("d",)) == {"k": "w", "l": "日本", "location": f"{tmp_path}/d"}
    assert again.namespace_properties(("default_database",))["comment"] == "x"
    assert again.list_namespaces() == [("d",), ("default_database",)]
    assert again.list_tables(("d",)) == []
    again.drop_namespace(("d",))
    assert not (tmp_path / "d").exists()


def test_a_database_of_default_catalog_stays_where_it_is(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path)
    with pytest.raises(BergError, match=r"The 'location' of default_catalog\.d cannot be chosen"):
        catalog.create_namespace(("d",), {"location": "/elsewhere"})
    assert not catalog.namespace_exists(("d",))
    with pytest.raises(BergError, match="The 'location' of"):
        catalog.update_namespace_properties(("default_database",), {}, ("location",))
    with pytest.raises(BergError, match="not found"):
        catalog.update_namespace_properties(("d",), {"a": "b"})


def test_a_database_that_is_not_dropped_keeps_its_properties(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path)
    catalog.create_namespace(("d",), {"k": "v"})
    (tmp_path / "d" / "someone's").touch()
    with pytest.raises(BergError, match="files that are no table's"):
        catalog.drop_namespace(("d",), cascade=True)
    assert catalog.namespace_properties(("d",))["k"] == "v"
    (tmp_path / "d" / ".database.json").write_text("[]")
    with pytest.raises(BergError, match=r"d/\.database\.json is not a JSON object"):
        catalog.namespace_properties(("d",))


def test_default_database_is_always_there(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path / "wh")
    assert catalog.list_namespaces() == [("default_database",)]
    assert catalog.list_namespaces(("default_database",)) == []
    assert catalog.namespace_exists(("default_database",))
    assert catalog.list_tables(("default_database",)) == []
    assert not (tmp_path / "wh").exists()
    with pytest.raises(BergError, match="already exists"):
        catalog.create_namespace(("default_database",))
    with pytest.raises(BergError, match="cannot be dropped"):
        catalog.drop_namespace(("default_database",), cascade=True)


def test_its_iceberg_tables_last(tmp_path: Path) -> None:
    create(DefaultCatalog(tmp_path), T)
    again = DefaultCatalog(tmp_path)
    assert again.list_tables(T.namespace) == [T]
    assert again.load_table(T).full_name == "default_catalog.default_database.t"
    again.create_namespace(("other",))
    assert again.list_namespaces() == [("default_database",), ("other",)]
    with pytest.raises(BergError, match=r"Database default_catalog\.nope was not found"):
        create(again, TableIdent(("nope",), "t"))


def test_definitions_last_as_long_as_the_session(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path)
    create(catalog, T)
    source, definition = TableIdent(T.namespace, "source"), object()
    catalog.put_definition(source, definition)
    assert catalog.definition(source) is definition
    assert catalog.definition(T) is None
    assert catalog.list_tables(T.namespace) == [source, T]
    assert catalog.table_exists(source)
    with pytest.raises(BergError, match="is not an Iceberg table"):
        catalog.load_table(source)
    for taken in (source, T):
        with pytest.raises(BergError, match="already exists"):
            catalog.put_definition(taken, object())
        with pytest.raises(BergError, match="already exists"):
            create(catalog, taken)
    catalog.put_definition(source, other := object(), replace=True)
    assert catalog.definition(source) is other
    with pytest.raises(BergError, match="was not found"):
        catalog.put_definition(TableIdent(("nope",), "x"), object())
    catalog.drop_table(source)
    assert catalog.list_tables(T.namespace) == [T]
    assert DefaultCatalog(tmp_path).definition(source) is None


def test_a_dropped_database_takes_its_definitions_along(tmp_path: Path) -> None:
    catalog = DefaultCatalog(tmp_path)
    catalog.create_namespace(("d",))
    catalog.put_definition(TableIdent(("d",), "x"), object())
    with pytest.raises(BergError, match="not empty"):
        catalog.drop_namespace(("d",))
    catalog.drop_namespace(("d",), cascade=True)
    assert catalog.definition(TableIdent(("d",), "x")) is None
