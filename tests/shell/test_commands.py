"""The client's own commands, from scripts and at the prompt; and the options that go with them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bergsql.engine.execute import HANDLERS
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.forms import FORMS, Form
from bergsql.shell.sources import statements
from tests.shell.terminal import Terminal
from tests.support.berg import Berg

CSV = ("--format", "csv", "--quiet")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".sql")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


# --- HELP ------------------------------------------------------------------------------------------------------------


def test_help_names_the_commands_and_every_statement(berg: Berg) -> None:
    done = berg.run("-e", "HELP;")
    assert done.code == 0
    assert all(word in done.out for word in ("SOURCE file;", "!command", "QUIT; EXIT;", "CLEAR;"))
    assert all(form.name in " ".join(done.out.split()) for form in FORMS)


def test_help_of_a_statement(berg: Berg) -> None:
    out = berg.run("-e", "help drop catalog; HELP -- all of them\n create;").out
    assert out.startswith("DROP CATALOG: ")
    assert all(f"{form.name}: {form.doc}" in out for form in FORMS if form.name.startswith("CREATE "))
    wrong = berg.run("-e", "HELP CREAT TABLE;")
    assert wrong.code == 1
    assert "line 1, column 6" in wrong.err
    assert "Did you mean 'CREATE TABLE'?" in wrong.err


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_example_runs(form: Form, tmp_path: Path) -> None:
    flavour = Flavour(form.flavour)
    config = SessionConfig(home=tmp_path, flavour=flavour, variables={"WAREHOUSE": str(tmp_path / "lake")})
    session = Session(config)
    try:
        for statement in statements(iter((form.setup, "\n", form.example)), lambda: flavour):
            result = session.execute(statement)
            list(result.rows())
            result.close()
    finally:
        session.close()


def test_every_family_of_statements_has_an_example() -> None:
    """Of a family, a statement is enough: its kin stand in its forms."""
    words = " ".join(f"{form.name} {form.syntax}" for form in FORMS).upper()
    assert [name for name in HANDLERS if not all(w in words for w in family(name))] == []


def family(name: str) -> list[str]:
    """The words of a statement whose class has this name."""
    if name in ("Unsupported", "CommentOnColumn", "DescribeQuery"):
        return []
    found = [word.upper() for word in re.findall("[A-Z][a-z]+", name)]
    return ["TBLPROPERTIES" if word == "PROPERTIES" else word for word in found if word != "CHANGE"]


# --- SOURCE ----------------------------------------------------------------------------------------------------------


def test_a_file_is_found_beside_the_one_that_sources_it(berg: Berg) -> None:
    write(
        berg.home,
        main="SELECT 1 AS n;\nSOURCE sub/inner.sql; SELECT 4 AS n;",
        sub__inner="SELECT 2 AS n;\nsource '../${WHICH} one.sql'",
    )
    (berg.home / "last one.sql").write_text("SELECT 3 AS n")
    done = berg.run(*CSV, "-D", "WHICH=last", "-f", str(berg.home / "main.sql"))
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == ["n", "1", "n", "2", "n", "3", "n", "4"]


def test_an_error_in_a_sourced_file_names_its_line_and_ends_all(berg: Berg) -> None:
    write(berg.home, main="SOURCE inner.sql; SELECT 9 AS n;", inner="\nSELECT 1 AS n;\n SELECT nope; SELECT 2 AS n;")
    main = str(berg.home / "main.sql")
    done = berg.run(*CSV, "-f", main)
    assert (done.code, done.out.split()) == (1, ["n", "1"])
    assert f"{berg.home}/inner.sql:3:9" in done.err
    on = berg.run(*CSV, "--continue-on-error", "-f", main)
    assert (on.code, on.out.split()) == (1, ["n", "1", "n", "2", "n", "9"])


def test_what_sources_itself_is_refused(berg: Berg) -> None:
    write(berg.home, a="SOURCE b.sql;", b="\nSOURCE a.sql;")
    done = berg.run("-f", str(berg.home / "a.sql"))
    assert done.code == 1
    assert f"{berg.home}/b.sql:2:8" in done.err
    assert "would source itself" in done.err


def test_files_source_one_another_only_so_deep(berg: Berg) -> None:
    write(berg.home, **{f"f{i}": f"SOURCE f{i + 1}.sql;" for i in range(20)})
    done = berg.run("-f", str(berg.home / "f0.sql"))
    assert done.code == 1
    assert "more than 16 deep" in done.err
    assert f"{berg.home}/f16.sql:1:8" in done.err


def test_a_file_that_is_not_there_is_named(berg: Berg) -> None:
    done = berg.run("-e", "SOURCE /no/such/file.sql; SELECT 1")
    assert (done.code, done.out) == (3, "")
    assert "Cannot read /no/such/file.sql" in done.err
    assert "line 1, column 8" in done.err
    assert "SOURCE needs a file." in berg.run("-e", "SOURCE;").err


# --- ! ---------------------------------------------------------------------------------------------------------------


def test_the_systems_shell_runs_a_line(berg: Berg) -> None:
    done = berg.run(*CSV, stdin="!echo \"a;b\" | cat -- --x; echo 'it''s'\nSELECT 1 AS n;\n!echo last", merged=False)
    assert "--x" in done.err
    assert done.out.split() == ["its", "n", "1", "last"]


def test_its_exit_code_is_told(berg: Berg) -> None:
    done = berg.run(*CSV, "-e", "!exit 3\nSELECT 1 AS n;")
    assert (done.code, done.out) == (1, "")
    assert "[ERROR] The command ended with exit code 3." in done.err
    assert "line 1, column 2" in done.err


def test_at_the_prompt_it_needs_no_semicolon(berg: Berg) -> None:
    with Terminal(berg) as terminal:
        terminal.prompted()
        assert terminal.enter("!echo it''s") == ["its"]
        assert terminal.enter("!exit 2")[0] == "[ERROR] The command ended with exit code 2."


# --- options ---------------------------------------------------------------------------------------------------------


def test_catalogs_last_in_a_store(berg: Berg) -> None:
    store = ("--catalog-store", str(berg.home / "store"))
    make = "CREATE CATALOG k WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}')"
    assert berg.run(*store, "-e", f"{make}; CREATE DATABASE k.d").code == 0
    later = berg.run(*store, *CSV, "--database", "k.d", "-e", "SHOW CURRENT DATABASE; ALTER CATALOG k COMMENT 'kept'")
    assert (later.code, later.out.split()[-1]) == (0, "d"), later.err
    assert "COMMENT 'kept'" in berg.run(*store, "-e", "SHOW CREATE CATALOG k; DROP CATALOG k").out
    assert berg.run(*store, *CSV, "-e", "SHOW CATALOGS").out.split("\n")[1:] == ["default_catalog", ""]
    assert berg.run(*store, *CSV, "--database", "k.d", "-e", "SELECT 1").code == 3


def test_a_stored_catalog_with_a_secret_is_refused_and_not_made(berg: Berg) -> None:
    text = "CREATE CATALOG k WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='/w', 'hadoop.password'='hunter2');"
    done = berg.run("--catalog-store", str(berg.home / "s"), "--continue-on-error", "-e", f"{text} SHOW CATALOGS")
    assert done.code == 1
    assert "Put it into the environment" in done.err
    assert "hunter2" not in done.err + done.out
    assert "k |" not in done.out
    assert not (berg.home / "s").exists()


def test_catalogs_of_the_configuration(berg: Berg) -> None:
    text = "[catalogs.lake]\ntype = 'iceberg'\ncatalog-type = 'hadoop'\nwarehouse = '{}'\n"
    (berg.home / "config.toml").write_text(text.format(berg.warehouse))
    assert berg.run(*CSV, "-e", "CREATE DATABASE lake.d; USE lake.d; SHOW CURRENT CATALOG").out.split()[-1] == "lake"
    (berg.home / "config.toml").write_text(text.format(berg.warehouse) + "warehous = 'x'\n")
    done = berg.run(*CSV, "-e", "USE CATALOG lake")
    assert done.code == 3
    assert f"{berg.home}/config.toml:5: the catalog 'lake': A Hadoop catalog has no option 'warehous'." in done.err


def test_verbose_shows_statements_without_their_secrets(berg: Berg) -> None:
    done = berg.run("-v", *CSV, "-e", "SET 'my_password' = 'hunter2'; SELECT 1 AS n")
    assert done.err.splitlines() == ["SET 'my_password' = '******';", "SELECT 1 AS n;"]
    assert done.out == "n\n1\n"


def test_timing_tells_each_statement(berg: Berg) -> None:
    done = berg.run("--timing", *CSV, "-e", "SET 'a' = 'b'; SELECT 1 AS n; SELECT nope")
    assert done.err.count("Time: ") == 3
    assert done.out == "n\n1\n"


def test_options_that_mean_nothing_are_told(berg: Berg) -> None:
    done = berg.run("embedded", "--format", "csv", "-l", "/jars", "--master", "local", "-e", "SELECT 1 AS n")
    assert (done.code, done.out) == (0, "n\n1\n")
    assert done.err.splitlines() == [
        "[INFO] No jars or packages are needed: --library is ignored.",
        "[INFO] There is no cluster: --master is ignored.",
    ]


@pytest.mark.parametrize("name", ["''", '"  "'])
def test_source_needs_a_name(name: str, berg: Berg) -> None:
    done = berg.run("-e", f"SOURCE {name}")
    assert done.code == 1
    assert f"[ERROR] SOURCE needs the name of a file.\n  line 1, column 8\n  SOURCE {name}\n" in done.err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("DESC JOB", "SHOW JOBS: "),
        ("REMOVE JAR", "SHOW MODULES: "),
        ("REPLACE TABLE", "CREATE TABLE: "),
        ("create schema", "CREATE DATABASE: "),
        ("ALTER FUNCTION", "CREATE FUNCTION: "),
        ("LATERAL VIEW", "LATERAL VIEW: "),
    ],
)
def test_help_on_a_form_is_that_of_its_family(asked: str, told: str, berg: Berg) -> None:
    done = berg.run("-e", f"HELP {asked};")
    assert done.code == 0, done.err
    assert done.out.startswith(told)


def test_connector_tables_and_views_last_in_the_catalog_store(berg: Berg) -> None:
    store = ("--catalog-store", str(berg.home / "store"))
    table = "CREATE TABLE src (id INT, k AS id * 2) WITH ('connector'='datagen', 'number-of-rows'='3');"
    made = berg.run(*store, "-e", f"{table} CREATE VIEW v AS SELECT COUNT(*) AS n FROM src;")
    assert made.code == 0
    assert "lasts as long as the session" not in made.err
    secret = "CREATE TABLE s (id INT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://h/d', 'table-name'='t', 'password'='geheim');"
    done = berg.run(*store, "--continue-on-error", "--format", "csv", "-e", f"SHOW TABLES; SELECT n FROM v; {secret}")
    assert done.out.split() == ["table", "name", "src", "v", "n", "3"]
    assert "which the catalog store does not keep" in done.err
    assert "geheim" not in done.out + done.err
    changed = "ALTER TABLE src RENAME TO source; ALTER TABLE source SET ('number-of-rows'='4'); DROP VIEW v;"
    assert berg.run(*store, "-e", changed).code == 0
    done = berg.run(*store, "--format", "csv", "-e", "SHOW TABLES; SELECT COUNT(*) AS n FROM source;")
    assert done.out.split() == ["table", "name", "source", "n", "4"]
    kept = [*(berg.home / "store").rglob("*.json")]
    assert [path.stat().st_mode & 0o777 for path in kept] == [0o600]
    assert "src" not in berg.run("-e", "SHOW TABLES;").out


def test_a_catalog_store_that_cannot_be_read_is_told_at_once(berg: Berg) -> None:
    (berg.home / "file").write_text("x")
    done = berg.run("--catalog-store", str(berg.home / "file"), "-e", "SELECT 1")
    assert (done.code, done.out) == (3, "")
    assert done.err == f"[ERROR] Cannot read {berg.home}/file of the catalog store: Not a directory.\n"


def test_a_broken_definition_in_the_catalog_store_is_told_where_it_is_used(berg: Berg) -> None:
    store = berg.home / "store"
    (store / "deep.json").mkdir(parents=True)
    (store / "bad.json").write_text("[options")
    arguments = ("--catalog-store", str(store))
    assert berg.run(*arguments, "-e", "SHOW CATALOGS; SELECT 1").code == 0
    for name, told in (("bad", f"{store}/bad.json is not the definition of a catalog."),
                       ("deep", f"Cannot read {store}/deep.json of the catalog store: Is a directory.")):  # fmt: skip
        done = berg.run(*arguments, "-e", f"USE CATALOG {name}")
        assert done.code in (1, 3)
        assert done.err.startswith(f"[ERROR] {told}\n  line 1, column 13\n")


def test_what_has_no_value_or_another_is_told_in_a_line(berg: Berg) -> None:
    for arguments, told in (
        (("--timing=yes",), "--timing takes no value."),
        (("--history",), "--history needs a value:"),
        (("--catalog-store", ""), "--catalog-store needs a value: --catalog-store DIR"),
        (("--history=",), "--history needs a value:"),
    ):
        done = berg.run(*arguments)
        assert done.code == 2
        assert done.err.startswith(f"[ERROR] {told}")
