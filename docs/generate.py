"""Writes docs/settings.md from the tables of settings, catalog options and formats: ``make docs``."""

from __future__ import annotations

from pathlib import Path

from bergsql.catalog.options import OptionSpec
from bergsql.catalog.registry import HADOOP_OPTIONS
from bergsql.engine.settings import SETTINGS
from bergsql.shell.render.formats import FORMATS

PAGE = Path(__file__).with_name("settings.md")
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
    for spec in HADOOP_OPTIONS:
        doc = spec.doc + (" Required." if spec.required else "")
        lines.append(row(f"`{spec.key}`", values(spec), doc))
    lines += ["", "## Formats", "", row("`--format`", "what it prints"), row("---", "---")]
    lines += [row(f"`{f.name}`", f.doc) for f in FORMATS.values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
