"""What is kept in a checkpoint of how far tables of MySQL were read."""

from __future__ import annotations

from dataclasses import dataclass, field

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.handover import Name, Progress
from bergsql.engine.connectors.mysql.position import Position
from bergsql.engine.streaming.sources.base import Json


@dataclass(frozen=True)
class Offset:
    """``position``: in the binlog; the rows that ``progress`` says are given are as of it.

    given
        The tables of which rows were given: what takes all their rows away unseen cannot be passed over.
    since
        Changes before that time (ms since 1970) are left out.
    server
        Whose files the position is in; None where an earlier version has not kept that.
    """

    position: Position
    progress: Progress = field(default_factory=Progress)
    given: frozenset[Name] = frozenset()
    since: int | None = None
    server: str | None = None

    def to_json(self) -> Json:
        made: dict[str, Json] = {"position": self.position.to_json(), **self.progress.to_json()}
        if self.given:
            made["given"] = [list(name) for name in sorted(self.given)]
        if self.since is not None:
            made["since"] = self.since
        if self.server is not None:
            made["server"] = self.server
        return made

    @staticmethod
    def from_json(value: Json) -> Offset:
        """
        :raises BergError: CORRUPT for what :meth:`to_json` has not made.
        """
        if isinstance(value, dict) and "position" in value:
            given, since, server = value.get("given", []), value.get("since"), value.get("server")
            if isinstance(given, list) and isinstance(since, int | None) and isinstance(server, str | None):
                names = frozenset((str(n[0]), str(n[1])) for n in given if isinstance(n, list) and len(n) == 2)
                return Offset(Position.from_json(value["position"]), Progress.from_json(value), names, since, server)
        message = "What was kept of a MySQL table's stream is not understood."
        raise BergError(ErrorCode.CORRUPT, message, hint="A newer version of bergsql may have written it.")
