"""A small schema registry that speaks Confluent's REST interface: a stand-in, for there is none to install.

It keeps schemas in memory, gives the same id for the same text, and can be stopped and started again at its port.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Registry:
    """A registry on a port of its own; with ``user`` (``name:password``) it lets in nobody else."""

    def __init__(self, user: str | None = None) -> None:
        self.user = user
        self.schemas: list[str] = []
        self.answers: dict[int, dict[str, Any]] = {}
        """Other answers for ids."""
        self.subjects: dict[str, list[int]] = {}
        self.asked: list[str] = []
        self.port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Registry:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self, None)

            def do_POST(self) -> None:
                registry.answer(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: a test's output is its own."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def register(self, subject: str, schema: str) -> int:
        """The id of a schema, from 1."""
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        code, told = self._answer(handler, body)
        data = json.dumps(told).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _answer(self, handler: BaseHTTPRequestHandler, body: Any) -> tuple[int, dict[str, Any]]:
        self.asked.append(f"{handler.command} {handler.path}")
        if self.user is not None:
            wanted = f"Basic {base64.b64encode(self.user.encode()).decode()}"
            if handler.headers.get("Authorization") != wanted:
                return 401, {"error_code": 401, "message": "Unauthorized"}
        if (found := re.fullmatch(r"/schemas/ids/(\d+)", handler.path)) and body is None:
            number = int(found[1])
            if number in self.answers:
                return 200, self.answers[number]
            if 1 <= number <= len(self.schemas):
                return 200, {"schema": self.schemas[number - 1]}
            return 404, {"error_code": 40403, "message": f"Schema {number} not found"}
        if (found := re.fullmatch(r"/subjects/([^/]+)/versions", handler.path)) and body is not None:
            if "refused" in found[1]:
                return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
            return 200, {"id": self.register(found[1], body["schema"])}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
