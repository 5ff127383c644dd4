"""A schema registry: schemas of Avro by their ids, over Confluent's REST interface."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.secrets import mask_text

if TYPE_CHECKING:
    from ssl import SSLContext

Json = Any
_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_SECONDS: Final = 10.0
"""How long to wait for an answer."""
_STORES: Final = (".jks", ".p12", ".pfx", ".pkcs12")


class Registry:
    """The registries at some addresses, each of which knows all: the first that answers is asked.

    :param options: ``url`` and those of access, without what they begin with.
    :param name: what the options begin with, for messages.
    """

    def __init__(self, options: Mapping[str, str], name: str) -> None:
        self._name, self._options = name, options
        self._headers = {"Accept": _TYPE, "Content-Type": _TYPE}
        self._urls: list[str] = []
        for url in filter(None, (part.strip() for part in options["url"].split(","))):
            try:
                parts = urlsplit(url)
                port = parts.port
            except ValueError:
                parts, port = urlsplit(""), None
            if parts.scheme not in ("http", "https") or not parts.hostname:
                message = f"'{mask_text(url)}' is not a value of '{name}.url': it takes http://HOST:PORT."
                raise BergError(ErrorCode.OPTION, message)
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            place = host if port is None else f"{host}:{port}"
            self._urls.append(urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", "")))
            if parts.username is not None:
                self._basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}")
        self._authorize()
        self._context = self._ssl()

    def _basic(self, user: str) -> None:
        self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"

    def _authorize(self) -> None:
        given = self._options
        for source, value, wanted in (
            ("basic-auth.credentials-source", "basic-auth.user-info", "USER_INFO"),
            ("bearer-auth.credentials-source", "bearer-auth.token", "STATIC_TOKEN"),
        ):
            if (given.get(source, "").upper() == wanted) != (value in given):
                message = f"'{self._name}.{source}'='{wanted}' and '{self._name}.{value}' belong together."
                raise BergError(ErrorCode.OPTION, message)
        if "basic-auth.user-info" in given:
            self._basic(given["basic-auth.user-info"])
        if "bearer-auth.token" in given:
            self._headers["Authorization"] = f"Bearer {given['bearer-auth.token']}"

    def _ssl(self) -> SSLContext | None:
        trusted = self._options.get("ssl.truststore.location")
        own = self._options.get("ssl.keystore.location")
        if trusted is None and own is None:
            return None
        import ssl

        for key, path in (("ssl.truststore.location", trusted), ("ssl.keystore.location", own)):
            if path is not None and path.casefold().endswith(_STORES):
                message = f"'{self._name}.{key}' is a store of Java's, which is not read."
                hint = "A file of PEM is: keytool -exportcert -rfc, or openssl pkcs12 -in STORE -out FILE."
                raise BergError(ErrorCode.OPTION, message, hint=hint)
        try:
            context = ssl.create_default_context(cafile=trusted)
            if own is not None:
                context.load_cert_chain(own, password=self._options.get("ssl.keystore.password", ""))
        except (OSError, ValueError) as error:
            told = getattr(error, "strerror", None) or type(error).__name__
            message = f"The certificates of '{self._name}.ssl.…' cannot be read: {told}."
            raise BergError(ErrorCode.OPTION, message) from None
        return context

    def schema(self, number: int) -> str:
        """The schema of an id, as its JSON."""
        found = self._ask("GET", f"/schemas/ids/{number}")
        if found is None:
            message = f"The schema registry at {self._urls[0]} has no schema {number}, which a message names."
            raise BergError(ErrorCode.EXECUTION, message)
        if found.get("schemaType", "AVRO") != "AVRO":
            message = f"Schema {number} of the schema registry at {self._urls[0]} is {found['schemaType']}, no Avro."
            raise BergError(ErrorCode.EXECUTION, message)
        if found.get("references"):
            raise not_supported(f"Schema {number} of the schema registry at {self._urls[0]}, which refers to others,")
        return str(found["schema"])

    def register(self, subject: str, schema: str) -> int:
        """The id of a schema under a subject, which gets it if it has it not."""
        found = self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": schema})
        if found is None:
            message = f"The schema registry at {self._urls[0]} does not know '{subject}'."
            raise BergError(ErrorCode.EXECUTION, message)
        return int(found["id"])

    def _ask(self, method: str, path: str, body: Json = None) -> Json:
        """What a registry answers; None where it does not have it."""
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        data = None if body is None else json.dumps(body).encode()
        failed = ""
        for url in self._urls:
            request = Request(url + path, data, self._headers, method=method)
            try:
                with urlopen(request, timeout=_SECONDS, context=self._context) as answer:
                    return json.load(answer)
            except HTTPError as error:
                with error:
                    if error.code == 404:
                        return None
                    told = _told(error)
                if error.code in (409, 422):
                    message = f"The schema registry at {url} refuses the schema: {told}."
                    raise BergError(ErrorCode.INVALID, message) from None
                failed = failed or f"{url} answers {error.code}, {told}"
            except (OSError, ValueError) as error:
                reason = getattr(error, "reason", None) or error
                failed = failed or f"{url} cannot be reached: {reason}"
        hint = f"Look at '{self._name}.url' and at what lets one in there ('{self._name}.basic-auth.…')."
        raise BergError(ErrorCode.CONNECTION, f"The schema registry at {mask_text(failed)}.", hint=hint)


def _told(error: Any) -> str:
    """What a registry says of an error, in one line."""
    try:
        found = json.loads(error.read(65536))["message"]
    except (OSError, ValueError, KeyError, TypeError):
        found = error.reason
    return " ".join(mask_text(str(found)).split())[:200].rstrip(".")
