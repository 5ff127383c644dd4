"""Writes docs/settings.md, connectors.md, functions.md, statements.md and a page for each family of statements from the
tables in the code: ``make docs``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bergsql.catalog.options import OptionSpec
from bergsql.catalog.registry import HADOOP_OPTIONS, HIVE_OPTIONS, JDBC_OPTIONS
from bergsql.engine.connectors.formats import FORMATS as FILE_FORMATS
from bergsql.engine.connectors.formats import format_named
from bergsql.engine.connectors.formats.base import Format
from bergsql.engine.connectors.messages import message_format, message_formats
from bergsql.engine.connectors.messages.base import MessageFormat
from bergsql.engine.connectors.registry import connector_named, connector_names
from bergsql.engine.plan.table_functions import TABLE_FUNCTIONS
from bergsql.engine.settings import SETTINGS
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.forms import FORMS, Form
from bergsql.engine.sql.functions.known_names import Known, known, sections
from bergsql.engine.sql.functions.registry import function_named
from bergsql.engine.sql.type_names import flink_name
from bergsql.shell.render.formats import FORMATS

PAGE = Path(__file__).with_name("settings.md")
FUNCTIONS_PAGE = Path(__file__).with_name("functions.md")
FUNCTIONS_HEAD = """# Functions

<!-- Written by docs/generate.py from the tables in the code: change those and run `make docs`. -->

All functions of Flink 2.2 and Spark 4.1. **yes**: it works, as that engine has it. **also**: it works, though that
engine has no such function. **not yet**, or a reason: it is known and refused by name. Where both engines have a name
and mean different things by it, the session's flavour decides ([flavours](flavours.md)).
"""
STATEMENTS_PAGE = Path(__file__).with_name("statements.md")
STATEMENTS_HEAD = """# Statements

<!-- Written by docs/generate.py from the tables in the code: change those and run `make docs`. -->

Every statement that is carried out, as `HELP` prints it too. Both engines' words are taken in both flavours; where they
mean different things, [flavours](flavours.md) says so. What is read and refused by name is in [not-yet](not-yet.md).
Each family has a page with the forms of its statements and an example of each, which a test runs.
"""
FAMILY_PAGES = Path(__file__).with_name("statements")
FAMILY_HEAD = """# {title}

<!-- Written by docs/generate.py from the tables in the code: change those and run `make docs`. -->

One family of the [statements](../statements.md). Both engines' words are taken in both flavours; where they mean
different things, [flavours](../flavours.md) says so.
"""
CONNECTORS_PAGE = Path(__file__).with_name("connectors.md")
CONNECTORS_HEAD = """# Connectors

<!-- Written by docs/generate.py from the tables in the code: change those and run `make docs`. -->

`CREATE TABLE t (…) WITH ('connector'='NAME', …)` in `default_catalog` names something to read or write that is no
Iceberg table. Names and options are Flink's. An option that a connector does not have is refused, and so is a wrong
value; behind a table's name `/*+ OPTIONS('key'='value') */` changes options for one statement. A table that ends is
read by any statement; one that does not is read as a [stream](streaming.md). Computed columns, METADATA columns and
WATERMARK are declared as in Flink; metadata is cast to the type of its column. The definition lasts as long as the
session, or in the [catalog store](shell.md).

`'connector'='iceberg'` names an Iceberg table of another catalog: it is read and written as that table is.
[Read options](streaming.md) in its WITH hold for each read of it where no hint says else.

"""
CONNECTOR_NOTES = {
    "blackhole": """
A sink that takes every change and keeps nothing.
""",
    "datagen": """
A source of rows that are made up. A random value is a function of the row's number and of a seed that each run
chooses; a sequence goes on behind a restart where it stopped, without a number twice or left out. Nested columns are
made up too: `fields.NAME.element.min`, `fields.NAME.key.length`, `fields.NAME.FIELD.max`. A batch does not wait: the
rate is for streams.
""",
    "filesystem": """
The files of a directory and of all directories below it, of one format. Names that begin with `.` or `_` are not
looked at. With `source.monitor-interval` the directory is watched: a file is read once, when two looks, one interval
apart, find it unchanged, or when it was last changed 10 seconds ago or longer. Whoever writes elsewhere and moves
files here is safe in any case. What is changed in a file after it was read is not seen. A job keeps which files it
read (about 10 bytes each), in whatever order they are listed.

Rows are written to hidden directories `.part-…` and become visible, by renaming, when their checkpoint is complete:
every row once, also through crashes. PARTITIONED BY columns are directories `name=value`. INSERT OVERWRITE replaces
the files of the partitions that get rows, or all of a table without partitions; the new ones come before the old ones
go.

In CSV a value of nothing is NULL, and `""` an empty text (Flink reads both as an empty text, and loses NULL). With
`csv.ignore-parse-errors` or `csv.allow-comments` each line is read by itself: a value cannot hold the end of a line
then, and a broken line spoils no other. What is left out is counted (`rows_skipped` of DESCRIBE JOB). With
`csv.ignore-parse-errors` a line with too few values is left out as one with too many is (Flink fills it up with NULLs).
Bytes are base64 in CSV and JSON. A column that a Parquet, Avro or ORC file does not have is NULL.
JSON numbers with a fraction are rounded where a column holds whole numbers (Flink cuts the fraction off), and true and
false are 1 and 0 there (Flink refuses them).
""",
    "jdbc": """
Tables of MySQL, MariaDB, PostgreSQL and SQLite ([more of it](connectors/jdbc.md); `pip install 'bergsql[jdbc]'`). A
query reads the columns that it needs, and the database is asked for the rows that it wants, as far as they can be
told there. A lookup join asks for keys. With a PRIMARY KEY, which the table in the database has too, changes go by it,
and only keys that changed are touched; without one, rows are added, each once.
""",
    "kafka": """
Topics of Kafka ([more of it](connectors/kafka.md); `pip install 'bergsql[kafka]'`). Offsets are kept in checkpoints:
the group only hears of them, and nobody joins it. Each message is read by itself; with `FORMAT.ignore-parse-errors`
one that cannot be read is left out and counted. Options of a format are written as `csv.ignore-parse-errors`, and with
`key.format` and `value.format` as `key.csv.…` and `value.csv.…`.
""",
    "mysql-cdc": """
The rows of tables of MySQL and MariaDB, and then their changes, by the binlog
([more of it](connectors/mysql-cdc.md); `pip install 'bergsql[mysql-cdc]'`).
""",
    "postgres-cdc": """
The rows of tables of PostgreSQL, and then their changes, by logical replication
([more of it](connectors/postgres-cdc.md); `pip install 'bergsql[postgres-cdc]'`).
""",
    "print": """
A sink that prints each change as Flink does, `+I[1, a]`: a statement's to the standard output, a job's to its
`job.out`. Rows are printed as they come: after a crash those since the last checkpoint come again.
""",
    "upsert-kafka": """
Topics of Kafka whose last message of each key counts, and where one without a value deletes its key ([more of
it](connectors/kafka.md); `pip install 'bergsql[kafka]'`). It needs a PRIMARY KEY, which keys hold. It is read from its
first message.
""",
    "values": """
A source of changes that the option `data` lists, for tests and demonstrations. It is not in Flink.
""",
}
HEAD = """# Settings and options

<!-- Written by docs/generate.py from the tables in the code: change those and run `make docs`. -->

`SET 'key' = 'value';` sets a setting, `SET 'key';` shows it, `SET;` all that are set, `RESET ['key'];` gives the
default back. `--conf key=value` sets one from the start, `-D key=value` too, and defines the variable `${key}`. A near
miss of a key is refused; a key that only Flink's or Spark's runtime knows is kept, with a note.
"""


def values(spec: OptionSpec) -> str:
    """What the option takes, as a cell."""
    return ", ".join(f"`{v}`" for v in spec.values) if spec.values else spec.type


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def option(spec: OptionSpec) -> str:
    return row(f"`{spec.key}`", values(spec), spec.doc + (" Required." if spec.required else ""))


def page() -> str:
    """The text of the page."""
    lines = [HEAD, "## Settings", "", row("key", "values", "default", "what it does"), row("---", "---", "---", "---")]
    for setting in sorted(SETTINGS, key=lambda s: s.spec.key):
        spec = setting.spec
        doc = spec.doc + "".join(f" Also `{a}`." for a in setting.aliases)
        lines.append(row(f"`{spec.key}`", values(spec), f"`{spec.default}`" if spec.default else "", doc))
    lines += [
        "",
        "## Hadoop catalogs",
        "",
        "In `CREATE CATALOG … WITH ('type'='iceberg', 'catalog-type'='hadoop', …)` and, behind",
        "`spark.sql.catalog.NAME.`, in Spark's settings (`type` there is `hadoop`). Unknown options are refused;",
        "those of caches, clients and Hadoop's configuration are checked and mean nothing here.",
        "",
        row("option", "values", "what it does"),
        row("---", "---", "---"),
    ]
    lines += [option(spec) for spec in HADOOP_OPTIONS]
    lines += [
        "",
        "## JDBC catalogs",
        "",
        "`'catalog-type'='jdbc'`, or `type` = `jdbc` in Spark's settings, on a SQLite database: tables are rows, as",
        "Java's JdbcCatalog and PyIceberg's SqlCatalog keep them, under the name that the catalog has here. Only rows",
        "of that name are seen, so other programs must call the catalog the same. Processes wait 30 seconds for each",
        "other. Java's driver may keep a read lock as long as its program runs, which keeps all others from writing;",
        "`PRAGMA journal_mode=WAL`, set once in the database, lets them.",
        "",
        row("option", "values", "what it does"),
        row("---", "---", "---"),
    ]
    lines += [option(spec) for spec in JDBC_OPTIONS]
    lines += [
        "",
        "## Hive catalogs",
        "",
        "`'catalog-type'='hive'`, or `type` = `hive` in Spark's settings: a metastore keeps where a table's metadata",
        "is, as Java's HiveCatalog does ([more of it](connectors/hive.md); `pip install 'bergsql[hive]'`).",
        "",
        row("option", "values", "what it does"),
        row("---", "---", "---"),
    ]
    lines += [option(spec) for spec in HIVE_OPTIONS]
    lines += ["", "## Formats", "", row("`--format`", "what it prints"), row("---", "---")]
    lines += [row(f"`{f.name}`", f.doc) for f in FORMATS.values()]
    return "\n".join(lines) + "\n"


def state(name: str, flavour: Flavour) -> str:
    """Whether a function works in a flavour, as a cell."""
    own = known(name, flavour)
    if function_named(name, flavour) is not None or name in TABLE_FUNCTIONS:
        return "yes" if own else "also"
    return f"no: {own.why}" if own and own.why else "not yet" if own else "no"


def functions_page() -> str:
    """The text of the page of functions."""
    lines = [FUNCTIONS_HEAD]
    for title, table in sections().items():
        lines += [
            f"## {title}",
            "",
            row("function", "what it gives", "flink", "spark"),
            row("---", "---", "---", "---"),
        ]
        names: dict[str, list[Known]] = {}
        for each in table:
            names.setdefault(each.name, []).append(each)
        for name, engines in sorted(names.items()):
            does = "; ".join(dict.fromkeys(k.does for k in engines))
            lines.append(row(f"`{name}`", does, state(name, Flavour.FLINK), state(name, Flavour.SPARK)))
        lines.append("")
    return "\n".join(lines)


def families() -> dict[str, list[Form]]:
    """The forms of each family of statements."""
    found: dict[str, list[Form]] = {}
    for form in FORMS:
        found.setdefault(form.group, []).append(form)
    return found


def statements_page() -> str:
    """The text of the index of statements."""
    lines = [STATEMENTS_HEAD]
    for family, forms in families().items():
        page = f"statements/{family}.md"
        lines += [f"## [{family.capitalize()}]({page})", "", row("statement", "what it does"), row("---", "---")]
        lines += [row(f"[{form.name}]({page}#{anchor(form.name)})", form.doc.replace("|", "\\|")) for form in forms]
        lines.append("")
    return "\n".join(lines)


def anchor(title: str) -> str:
    """What a heading is linked by."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")


def family_page(family: str) -> str:
    """The text of the page of a family of statements."""
    lines = [FAMILY_HEAD.format(title=family.capitalize())]
    for form in families()[family]:
        lines += [f"## {form.name}", "", form.doc, "", "```", form.syntax, "```", ""]
        lines += ["```sql", form.example, "```", ""]
    return "\n".join(lines)


def connectors_page() -> str:
    """The text of the page of connectors."""
    lines = [CONNECTORS_HEAD.rstrip("\n"), ""]
    for name in connector_names():
        connector = connector_named(name)
        assert connector is not None
        roles = " and ".join(role for role, made in (("source", connector.source), ("sink", connector.sink)) if made)
        lines += [f"## {name}", "", CONNECTOR_NOTES[name].strip(), "", f"It is a {roles}.", ""]
        if connector.documented:
            lines += option_table(connector.documented)
        if connector.metadata:
            names = ", ".join(f"`{key}` {flink_name(kind)}" for key, kind in connector.metadata.items())
            lines += [f"METADATA columns: {names}.", ""]
    lines += ["## Formats of files", ""]
    for name in FILE_FORMATS:
        lines += [f"### {name}", "", format_doc(format_named(name)), ""]
        if format_named(name).options:
            lines += option_table(format_named(name).options)
    lines += ["## Formats of messages", ""]
    for name in message_formats():
        kind = message_format(name)
        lines += [f"### {name}", "", format_doc(kind), ""]
        lines += option_table(kind.options) if kind.options else []
    return "\n".join(lines)


def format_doc(kind: type[Format] | type[MessageFormat]) -> str:
    """What the class of a format says of it."""
    return (kind.__doc__ or "").strip()


def option_table(specs: Sequence[OptionSpec]) -> list[str]:
    """Options with their defaults, as lines."""
    lines = [row("option", "values", "default", "what it does"), row("---", "---", "---", "---")]
    for spec in specs:
        default = f"`{spec.default}`" if spec.default else ""
        lines.append(row(f"`{spec.key}`", values(spec), default, spec.doc + (" Required." if spec.required else "")))
    return [*lines, ""]


if __name__ == "__main__":
    CONNECTORS_PAGE.write_text(connectors_page(), encoding="utf-8")
    STATEMENTS_PAGE.write_text(statements_page(), encoding="utf-8")
    FAMILY_PAGES.mkdir(exist_ok=True)
    for each in families():
        (FAMILY_PAGES / f"{each}.md").write_text(family_page(each), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    FUNCTIONS_PAGE.write_text(functions_page(), encoding="utf-8")
