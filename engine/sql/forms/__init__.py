"""The statements as data: HELP and the pages of statements come from it, and a test runs each example.

Where the flavours have words of their own, both are in ``syntax``: either may be used in both.
"""

from __future__ import annotations

from bergsql.engine.sql.forms.model import Form as Form
from bergsql.engine.sql.forms.queries import QUERIES
from bergsql.engine.sql.forms.statements import STATEMENTS

FORMS: tuple[Form, ...] = (*STATEMENTS, *QUERIES)
"""All that is carried out, in the order in which it is listed."""
