"""Taking what must not be shown out of a job's spec, and putting it back.

A text that is a secret, or has one in it, stands in ``secrets.json`` under a number; the spec has
``{"secret": number}`` in its place. What is a secret, :mod:`bergsql.catalog.secrets` tells by its key or place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_text, mask_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.engine.streaming.sources.base import Json

_WORD = "secret"


def taken_apart(content: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """The content without its secrets, and these by their numbers."""
    hidden: dict[str, Json] = {}

    def shown(key: str, value: Json) -> Json:
        if isinstance(value, dict):
            return {name: shown(name, each) for name, each in value.items()}
        if isinstance(value, list):
            return [shown(key, each) for each in value]
        if isinstance(value, str) and (mask_value(key, value) != value or mask_text(value) != value):
            number = str(len(hidden) + 1)
            hidden[number] = value
            return {_WORD: number}
        return value

    return {name: shown(name, each) for name, each in content.items()}, hidden


def put_together(content: Json, hidden: Mapping[str, Json]) -> Json:
    """What :func:`taken_apart` took apart.

    :raises BergError: CORRUPT where a secret is missing.
    """
    if isinstance(content, list):
        return [put_together(each, hidden) for each in content]
    if not isinstance(content, dict):
        return content
    number = content.get(_WORD)
    if len(content) == 1 and isinstance(number, str):
        if number not in hidden:
            raise BergError(ErrorCode.CORRUPT, "A secret of the job is missing in its secrets.json.")
        return hidden[number]
    return {name: put_together(each, hidden) for name, each in content.items()}
