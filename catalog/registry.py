"""From what CREATE CATALOG or Spark's settings say to a catalog."""

from __future__ import annotations

from collections.abc import Mapping

from bergsql.catalog.base import Catalog
from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.catalog.options import OptionSpec, check_options

CATALOG_TYPES = ("hadoop", "hive", "rest", "jdbc", "glue", "nessie")
"""The kinds of Iceberg catalogs that there are."""

_SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
_SPARK_SESSION_CATALOG = "org.apache.iceberg.spark.SparkSessionCatalog"
_CLASSES = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
}
_KINDS = {"hadoop": "A Hadoop catalog", "hive": "A Hive catalog", "jdbc": "A JDBC catalog"}
"""Those that work."""
_MEMORY = "generic_in_memory"
_HADOOP_IO = "org.apache.iceberg.hadoop.HadoopFileIO"

_LATER = ("table-default.", "table-override.", "view-default.", "view-override.")


HADOOP_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("type", doc="'iceberg' in CREATE CATALOG, the kind of catalog in Spark's settings."),
    OptionSpec("catalog-type", doc="The kind of Iceberg catalog."),
    OptionSpec("catalog-impl", doc="The Java class of the catalog; only Iceberg's own are known."),
    OptionSpec("warehouse", required=True, doc="The directory that holds the databases."),
    OptionSpec("default-database", doc="The database that USE CATALOG leads to."),
    OptionSpec("default-namespace", doc="The same in Spark's settings."),
    # What follows is checked, and means nothing here.
    OptionSpec("property-version", "enum", values=("1",), doc="The version of these options."),
    OptionSpec("io-impl", "enum", values=(_HADOOP_IO,), doc="The Java class that reads files."),
    OptionSpec("clients", "int", doc="Connections to a Hive metastore."),
    OptionSpec("uri", doc="The address of a Hive metastore."),
    OptionSpec("cache-enabled", "bool", doc="Whether Java caches tables; here a table is always as it is now."),
    OptionSpec("cache.expiration-interval-ms", "int", doc="How long Java caches tables."),
    OptionSpec("cache.case-sensitive", "bool", doc="How Java's cache compares names."),
    OptionSpec("use-nullable-query-schema", "bool", doc="CREATE TABLE AS makes nullable columns anyway."),
    OptionSpec("hadoop-conf-dir", "str", doc="Hadoop's configuration, which local files do not need."),
    OptionSpec("hadoop.*", "str", doc="Hadoop's configuration, which local files do not need."),
)
"""The options of a Hadoop catalog, in Flink's and in Spark's form."""


JDBC_OPTIONS: tuple[OptionSpec, ...] = (
    *(spec for spec in HADOOP_OPTIONS if spec.key not in ("uri", "warehouse", "hadoop-conf-dir", "hadoop.*")),
    OptionSpec("uri", required=True, doc="The database: `jdbc:sqlite:/path/catalog.db`."),
    OptionSpec("warehouse", required=True, doc="The directory for new tables."),
    OptionSpec(
        "jdbc.schema-version",
        "enum",
        values=("V0", "V1"),
        doc="The layout of a new database; 'V1' also adds views' column to one of V0. A new one is V1.",
    ),
    OptionSpec("jdbc.strict-mode", "bool", "false", doc="Whether a table's database must have been created."),
    OptionSpec("jdbc.init-catalog-tables", "bool", "true", doc="Whether the catalog's own tables are made if missing."),
)
"""The options of a JDBC catalog, in Flink's and in Spark's form."""


HIVE_OPTIONS: tuple[OptionSpec, ...] = (
    *(spec for spec in HADOOP_OPTIONS if spec.key not in ("uri", "warehouse", "clients")),
    OptionSpec("clients", "int", "2", doc="Connections that are kept and used again.", bounds=("1", "1000")),
    OptionSpec("uri", required=True, doc="The metastore: `thrift://host:9083`, with commas between several."),
    OptionSpec("warehouse", doc="The directory for new databases; without it, that of the metastore's database."),
    OptionSpec(
        "iceberg.hive.lock-timeout-ms",
        "int",
        "180000",
        doc="How long to wait for a table's lock.",
        bounds=("1", "86400000"),
    ),
)
"""The options of a Hive catalog, in Flink's and in Spark's form."""


def build_catalog(name: str, options: Mapping[str, str], spark_class: str | None = None) -> Catalog:
    """The catalog ``name`` that ``options`` describe.

    With ``spark_class`` (the value of ``spark.sql.catalog.NAME``) they are Spark's options, without their prefix.
    Unknown options, kinds and classes are refused with the nearest known one as hint.
    """
    kind = check_catalog(options, spark_class)
    if kind == _MEMORY:
        from bergsql.catalog.memory import MemoryCatalog

        return MemoryCatalog(name, options)
    catalog = _made(kind, name, options)
    default = options.get("default-database") or options.get("default-namespace")
    if default:
        catalog.default_namespace = tuple(default.split("."))
    return catalog


def check_catalog(options: Mapping[str, str], spark_class: str | None = None) -> str:
    """The kind of catalog that ``options`` describe, checked as :func:`build_catalog` does; nothing is opened."""
    if spark_class is None and options.get("type") == _MEMORY:
        from bergsql.catalog.memory import MEMORY_OPTIONS

        check_options(options, MEMORY_OPTIONS, "A catalog in memory")
        return _MEMORY
    kind = _spark_kind(options, spark_class) if spark_class is not None else _flink_kind(options)
    if kind not in CATALOG_TYPES:
        raise BergError(
            ErrorCode.OPTION,
            f"There is no catalog type '{kind}'.",
            hint=did_you_mean(kind, CATALOG_TYPES) or f"It is one of {', '.join(CATALOG_TYPES)}.",
        )
    if kind not in _KINDS:
        raise not_supported(f"The catalog type '{kind}'", hint="'catalog-type'='hadoop' keeps tables in directories.")
    for key in options:
        if key.startswith(_LATER):
            raise not_supported(f"The catalog option '{key}'", hint="Give the property where the table is created.")
    check_options(options, option_specs(kind), _KINDS[kind])
    return kind


def option_specs(kind: str) -> tuple[OptionSpec, ...]:
    """The options of Iceberg catalogs of a kind."""
    return {"jdbc": JDBC_OPTIONS, "hive": HIVE_OPTIONS}.get(kind, HADOOP_OPTIONS)


def _made(kind: str, name: str, options: Mapping[str, str]) -> Catalog:
    if kind == "jdbc":
        from bergsql.catalog.jdbc import JdbcCatalog

        return JdbcCatalog(name, options)
    if kind == "hive":
        from bergsql.catalog.hive import HiveCatalog

        return HiveCatalog(name, options)
    from bergsql.catalog.hadoop import HadoopCatalog

    return HadoopCatalog(name, options["warehouse"], options)


def _flink_kind(options: Mapping[str, str]) -> str:
    given = options.get("type")
    if given is None:
        raise _lack("A catalog", "type", options, "Write 'type'='iceberg'.")
    if given in ("hive", "jdbc"):
        raise not_supported(f"The catalog type '{given}'", hint="Write 'type'='iceberg'.")
    if given != "iceberg":
        hint = did_you_mean(given, ["iceberg", "generic_in_memory"]) or "Tables are Iceberg's: write 'type'='iceberg'."
        raise BergError(ErrorCode.OPTION, f"There is no catalog type '{given}'.", hint=hint)
    return _kind_of(options, options.get("catalog-type"), "catalog-type")


def _spark_kind(options: Mapping[str, str], spark_class: str) -> str:
    if spark_class == _SPARK_SESSION_CATALOG:
        raise not_supported(f"The catalog class {spark_class}", hint=f"Use {_SPARK_CATALOG}.")
    if spark_class != _SPARK_CATALOG:
        hint = did_you_mean(spark_class, [_SPARK_CATALOG]) or f"Use {_SPARK_CATALOG}."
        raise BergError(ErrorCode.OPTION, f"The catalog class '{spark_class}' is not known here.", hint=hint)
    return _kind_of(options, options.get("type"), "type")


def _kind_of(options: Mapping[str, str], kind: str | None, key: str) -> str:
    impl = options.get("catalog-impl")
    if impl is not None:
        if kind is not None:
            raise BergError(ErrorCode.OPTION, f"'{key}' and 'catalog-impl' cannot both be given.")
        if impl in _CLASSES:
            return _CLASSES[impl]
        raise not_supported(f"The catalog class {impl} ('catalog-impl')")
    if kind is None:
        raise _lack("An Iceberg catalog", key, options, f"Write '{key}'='hadoop' for tables in directories.")
    return kind.casefold()


def _lack(what: str, key: str, options: Mapping[str, str], hint: str) -> BergError:
    """The error for options without ``key``: an unknown one that is spelled like it is the fault, if there is one."""
    for given in options:
        near = did_you_mean(given, [key])
        if near and not any(spec.matches(given) for spec in (*HADOOP_OPTIONS, *JDBC_OPTIONS, *HIVE_OPTIONS)):
            return BergError(ErrorCode.OPTION, f"{what} has no option '{given}'.", hint=near)
    return BergError(ErrorCode.OPTION, f"{what} needs the option '{key}'.", hint=hint)
