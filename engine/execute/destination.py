"""Where a statement that changes rows writes to: a table, one of its branches, or what ``spark.wap.*`` ask for.

In a table with ``write.wap.enabled`` the setting ``spark.wap.branch`` sends what is written to a branch, which is made
if need be and is read too (engine/wap.py); ``spark.wap.id`` stages it: the snapshot is there, and nothing leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.names import TableName, load
from bergsql.engine.table.destination import MAIN, Destination
from bergsql.engine.wap import WAP_BRANCH, WAP_ID, wap_settings

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.relations import IcebergRelation
    from bergsql.engine.session import Session
    from bergsql.engine.sql.statements import Name
    from bergsql.engine.table.read_point import ReadPoint


class Target(NamedTuple):
    """A table that is written to. Rows have its current schema, in whatever branch.

    ``point`` is the state that the statement changes, None for the table's current one; ``summary`` is to be added to
    the summary of the snapshot.
    """

    name: TableName
    table: LoadedTable
    to: Destination = MAIN
    point: ReadPoint | None = None
    summary: Mapping[str, str] = {}

    @property
    def place(self) -> str:
        """What a message adds to the snapshot's id: ``, on branch 'b'``."""
        staged = f", staged as '{self.summary['wap.id']}'" if self.to.staged else ""
        return staged if self.to.branch == MAIN.branch else f", on branch '{self.to.branch}'{staged}"


def destination(session: Session, name: Name, *, declared: bool = False) -> Target:
    """What ``name``, the target of an INSERT, DELETE, UPDATE, MERGE or TRUNCATE, stands for: ``t`` or ``t.branch_b``.

    ``declared``: as in :func:`bergsql.engine.names.load`.

    :raises BergError: NOT_FOUND for a table or a branch that there is not; INVALID for what is only read (a view, a
        tag, a snapshot, a metadata table), and where two say the branch.
    """
    from bergsql.engine.definitions import pointer_named

    part = _branch(session, name)
    if part is None:
        table_name, table = load(session, name, declared=declared)
        return audited(session, Target(table_name, table), name.span)
    pointer = pointer_named(session, name.parts[:-1], name.span)
    target = Target(
        pointer.target if pointer is not None else TableName(session.catalog(part.parts[0]), part.table.ident),
        part.table,
        Destination((part.reference or "").partition("_")[2]),
        part.point,
    )
    return audited(session, target, name.span, part.reference)


def _branch(session: Session, name: Name) -> IcebergRelation | None:
    """The branch of a table that a name asks for, unless a table has that name itself."""
    from bergsql.engine.definitions import find, pointer_named
    from bergsql.engine.names import named_table
    from bergsql.engine.plan.relations import is_branch
    from bergsql.engine.relations import SessionRelations

    if len(name.parts) < 2 or not is_branch(name.parts[-1]):
        return None
    if find(session, name.parts, name.span) or pointer_named(session, name.parts, name.span):
        return None
    itself = named_table(session, name)
    if itself.catalog.table_exists(TableIdent(itself.ident.namespace, itself.ident.name)):
        return None
    part = SessionRelations(session).part_of_table(name.parts, name.span)
    return part if part is not None and part.suffix is None else None


def audited(session: Session, target: Target, span: Span, reference: str | None = None) -> Target:
    """The target as ``spark.wap.*`` have it; ``reference`` is the branch in the statement's name."""
    metadata = target.table.metadata
    branch, wap_id = wap_settings(session.setting, metadata)
    if branch is not None and wap_id is not None:
        message = f"'{WAP_BRANCH}' and '{WAP_ID}' are both set: what is written goes to a branch, or is staged."
        raise BergError(ErrorCode.INVALID, message, span=span, hint=f"RESET '{WAP_ID}'; or RESET '{WAP_BRANCH}';")
    if branch is not None and reference is not None:
        message = f"'{reference}' and '{WAP_BRANCH}' = '{branch}' both say which branch is written."
        raise BergError(ErrorCode.INVALID, message, span=span, hint=f"RESET '{WAP_BRANCH}'; or name the table alone.")
    if wap_id is not None:
        return target._replace(to=target.to._replace(staged=True), summary={"wap.id": wap_id})
    if branch is None:
        return target
    ref = metadata.refs.get(branch)
    if ref is not None and not ref.is_branch:
        message = f"'{WAP_BRANCH}' = '{branch}' is a tag of the table: only a branch can be written."
        raise BergError(ErrorCode.INVALID, message, span=span)
    if ref is None:
        return target._replace(to=Destination(branch, create=True))
    from bergsql.engine.table.read_point import at_reference

    return target._replace(to=Destination(branch), point=at_reference(metadata, branch))
