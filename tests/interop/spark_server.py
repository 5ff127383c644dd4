"""Runs inside the oracle's Python: one real Spark, statements in, answers out.

Standard input holds one JSON object a line, ``{"sql": …}``; for each one line comes back: ``{"columns", "types",
"rows"}`` or ``{"error"}``. Values are written as the oracle's README says. What Spark itself prints goes to stderr.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import sys
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import DataType, DecimalType


def encoded(value: Any, type_: DataType | None = None) -> Any:
    """A value as JSON; the type of a decimal tells how many digits it shows."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, decimal.Decimal):
        digits = type_.scale if isinstance(type_, DecimalType) else max(0, -int(value.as_tuple().exponent))
        return f"{value:.{digits}f}"
    if isinstance(value, (bytes, bytearray)):
        return {"$hex": bytes(value).hex()}
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Row):
        return {k: encoded(v) for k, v in value.asDict().items()}
    if isinstance(value, dict):
        return {"$map": [[encoded(k), encoded(v)] for k, v in value.items()]}
    if isinstance(value, list):
        return [encoded(v) for v in value]
    return value


def answer(spark: SparkSession, sql: str) -> dict[str, Any]:
    try:
        frame = spark.sql(sql)
        types = [field.dataType for field in frame.schema.fields]
        rows = [[encoded(v, t) for v, t in zip(row, types, strict=True)] for row in frame.collect()]
        return {"columns": frame.columns, "types": [t for _, t in frame.dtypes], "rows": rows}
    except Exception as error:  # whatever Spark or the JVM raises is the answer
        return {"error": str(error).split("\n\tat ")[0]}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    (jar,) = sys.argv[1:]
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.jars": jar,
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.iceberg.executor-cache.enabled": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for line in sys.stdin:
        answers.write(json.dumps(answer(spark, json.loads(line)["sql"]), ensure_ascii=False) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
