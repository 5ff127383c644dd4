"""Forms that are known and refused by name."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.result import Result
from bergsql.engine.session import Session
from bergsql.engine.sql.statements import Unsupported

OUTSIDE: dict[str, str] = {
    "ARCHIVE": "it ships no files: functions in Python are modules that are installed",
    "CONFLICT": "an Iceberg table checks no key when rows are appended; MERGE INTO is for that",
    "CONNECTION": "it keeps no connections: a catalog or a connector has its own options",
    "DECLARE": "it runs no SQL scripts with variables; -D NAME=VALUE defines ${NAME}",
    "DIRECTORY": "--format and --output write the results of a query to a file",
    "EXPORT": "the files of a table are where its location says",
    "FILE": "it ships no files: functions in Python are modules that are installed",
    "GRANT": "it has no users and no rights",
    "IMMEDIATE": "it runs no SQL that is made of strings",
    "IMPORT": "the files of a table are where its location says",
    "INDEX": "Iceberg tables have no indexes",
    "LOAD": "it copies no files into a table; INSERT INTO … SELECT writes rows",
    "LOCK": "no table is locked: a commit that meets another one is tried again",
    "MATERIALIZED": "it schedules no refreshes",
    "MODEL": "it runs no models",
    "MODELS": "it runs no models",
    "PLAN": "it keeps no compiled plans: each statement is planned when it runs",
    "REVOKE": "it has no users and no rights",
    "ROLE": "it has no users and no rights",
    "SESSION": "its settings are SET 'key' = 'value'",
    "UPSERT": "INSERT INTO a table with a key and write.upsert.enabled, or MERGE INTO, is how rows are upserted",
    "VAR": "-D NAME=VALUE defines ${NAME}",
    "VARIABLE": "-D NAME=VALUE defines ${NAME}",
    "block": "it runs no SQL scripts; statements stand one behind the other",
    "transaction": "each statement is a commit of its own",
}
"""Words of forms that the engines have and bergsql means never to have, and why."""


def refuse(_session: Session, statement: Unsupported) -> Result:
    """Always fails."""
    raise refusal(statement)


def refusal(statement: Unsupported) -> BergError:
    """That the form is for a later version, or outside of what bergsql is for."""
    reason = next((OUTSIDE[word] for word in statement.form.split() if word in OUTSIDE), None)
    if reason is None:
        return not_supported(statement.form, statement.span, statement.hint)
    message = f"{statement.form} is not a part of bergsql: {reason}."
    return BergError(ErrorCode.INVALID, message, span=statement.span, hint=statement.hint)
