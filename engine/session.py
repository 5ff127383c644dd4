"""A session: where names are looked up, what is set, and the way of a statement from text to result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.default_names import DEFAULT_CATALOG, DEFAULT_DATABASE
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.duck import Duck, half_of_memory, is_interruption
from bergsql.engine.result import Result
from bergsql.engine.settings import CATALOG_PREFIX, Settings
from bergsql.engine.spill import Place, keep_at, spill_directory
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog
    from bergsql.catalog.definitions import Keeper
    from bergsql.catalog.store import CatalogStore, Definition
    from bergsql.engine.sql.splitter import SourceStatement
    from bergsql.engine.sql.statements import Statement
    from bergsql.engine.sql.variables import Substituted


class SessionConfig(NamedTuple):
    """What a session starts with."""

    home: Path
    """``$BERGSQL_HOME``."""
    flavour: Flavour = Flavour.FLINK
    warehouse: str | None = None
    """Where ``default_catalog`` keeps its tables: a path or a location with a scheme; None: ``home/warehouse``."""
    variables: Mapping[str, str] = {}
    """From ``-D``: for ``${NAME}``, and settings of that name."""
    conf: Mapping[str, str] = {}
    """From ``--conf`` and the configuration file: settings."""
    catalogs: Mapping[str, Definition] = {}
    """Catalogs that are there from the start, built when they are first needed."""
    safe: bool = False
    """No file outside of the warehouses is read or written, and nothing but SQL runs."""


class Session:
    """One person's or one script's session. Not safe for use by two threads, but for :meth:`interrupt`."""

    def __init__(self, config: SessionConfig) -> None:
        self._config = config
        self._duck: Duck | None = None
        self._interrupted = False
        self._tracks_progress = False
        self.settings = Settings()
        self._catalogs: dict[str, Catalog] = {}
        self._comments: dict[str, str] = {}
        self._options: dict[str, Mapping[str, str]] = {}
        self._definitions = dict(config.catalogs)
        self.current_catalog = DEFAULT_CATALOG
        self.namespace: tuple[str, ...] = (DEFAULT_DATABASE,)
        self.temporaries: dict[tuple[str, ...], object] = {}
        """Temporary tables and views, see ``engine/definitions.py``."""
        self.functions: dict[tuple[str, ...], object] = {}
        """Functions that were made here, see ``engine/user_functions.py``."""
        self._functions_made = 0
        self.variables = dict(config.variables)
        self.modules = {"core": True}
        """Flink's modules that are loaded, and whether each is in use."""
        self.warehouses: tuple[str, ...] = ()
        """Of a safe session: the only directories whose files it may use."""
        self.stoppers: set[Callable[[], None]] = set()
        """What stops the streams that run here, from any thread."""
        self.tell: Callable[[str], None] = self._note
        """Says something to the person while a result is read; a front end puts its own in the place."""
        self.text = ""
        """The statement that runs, with its variables filled in."""
        self.notes: list[str] = []
        """What the person should know about the statement that runs, beside its result."""
        if config.flavour is not Flavour.FLINK:
            self.settings.set("sql.dialect", config.flavour.value)
        self.settings.watch(self._setting_changed)
        for key, value in config.conf.items():
            self._note(self.settings.set(key, value))
        for key, value in config.variables.items():
            if key in self.settings or key.startswith(CATALOG_PREFIX):
                self._note(self.settings.set(key, value))
        if config.safe:
            self._stay_inside()
        self._places: dict[str, Place] = {}
        keep_at(self._cache_place)

    # --- what is set -------------------------------------------------------------------------------------------------

    @property
    def flavour(self) -> Flavour:
        return Flavour(self.settings.get("sql.dialect") or Flavour.FLINK)

    @property
    def home(self) -> Path:
        return self._config.home

    @property
    def config(self) -> SessionConfig:
        """What it started with."""
        return self._config

    @property
    def current_database(self) -> str:
        return ".".join(self.namespace)

    def setting(self, key: str) -> str | None:
        return self.settings.get(key)

    @property
    def time_zone(self) -> str:
        """The session's time zone, by name."""
        zone = self.settings.get("table.local-time-zone")
        return machine_time_zone() if zone in (None, "default") else zone or "UTC"

    def _setting_changed(self, key: str) -> None:
        if key == "table.local-time-zone" and self._duck:
            self._duck.set("TimeZone", self.time_zone)
        elif key == "engine.memory-limit" and self._duck:
            self._duck.set("memory_limit", self._memory_limit() or half_of_memory())
        elif key == "engine.threads" and self._duck:
            self._duck.set("threads", self.settings.get(key) or str(os.cpu_count() or 1))
        elif key.startswith(CATALOG_PREFIX):
            # The keys of one catalog come one by one: it is built anew when it is next used.
            self._catalogs.pop(key.removeprefix(CATALOG_PREFIX).split(".")[0], None)

    def _cache_place(self) -> Place | None:
        size = self.settings.get("engine.manifest-cache-size") or "0"
        if size not in self._places:
            from bergsql.catalog.options import parse_memory

            self._places = {size: Place(self._config.home / "cache", parse_memory(size))}
        return self._places[size]

    def _memory_limit(self) -> str | None:
        from bergsql.catalog.options import parse_memory

        limit = self.settings.get("engine.memory-limit")
        return f"{parse_memory(limit) // 1024}KiB" if limit else None

    @property
    def duck(self) -> Duck:
        """The DuckDB of this session, made when it is first needed."""
        if self._duck is None:
            threads = self.settings.get("engine.threads")
            self._duck = Duck(
                memory_limit=self._memory_limit(),
                threads=int(threads) if threads else None,
                temp_directory=str(spill_directory(self._config.home)),
            )
            self._duck.tracks_progress = self._tracks_progress
            if self._config.safe:
                self._duck.fence_in(self.warehouses)
            # DuckDB finds the machine's zone by itself, but reads TZ in ways of its own.
            if "TZ" in os.environ or self.time_zone != machine_time_zone():
                self._duck.set("TimeZone", self.time_zone)
        return self._duck

    # --- catalogs ----------------------------------------------------------------------------------------------------

    def catalog_names(self) -> list[str]:
        kept = self._store.names() if self._store else ()
        return sorted({DEFAULT_CATALOG, *self._catalogs, *self._definitions, *self._defined_by_settings(), *kept})

    def has_catalog(self, name: str) -> bool:
        return name in self.catalog_names()

    def catalog(self, name: str, span: Span | None = None) -> Catalog:
        """The catalog of that name.

        :raises BergError: NOT_FOUND; or what is wrong with its options.
        """
        if name not in self._catalogs:
            self._catalogs[name] = self._build_catalog(name, span)
        return self._catalogs[name]

    def add_catalog(self, catalog: Catalog, options: Mapping[str, str], comment: str | None = None) -> None:
        """Know a catalog, in place of one of its name; ``options`` are those that it was made of, unmasked.

        :raises BergError: OPTION, when catalogs are kept and the options hold a secret.
        """
        self._keep_catalog(catalog.name, options, comment)  # which may refuse it
        self._catalogs[catalog.name] = catalog
        self._options[catalog.name] = options
        self.set_catalog_comment(catalog.name, comment)

    def catalog_options(self, name: str) -> Mapping[str, str] | None:
        """The options of a CREATE CATALOG, unmasked: not to be shown. None for other catalogs."""
        return self._options.get(name)

    def made_catalogs(self) -> dict[str, Definition]:
        """The catalogs that were made by CREATE CATALOG or were there from the start, unmasked: not to be shown."""
        from bergsql.catalog.store import Definition

        made = {name: Definition(options, self._comments.get(name)) for name, options in self._options.items()}
        return {**self._definitions, **made}

    def catalogs_in_use(self) -> list[Catalog]:
        """The catalogs that were built, for what they hold for the session alone."""
        return list(self._catalogs.values())

    def catalog_settings(self, name: str) -> tuple[str | None, dict[str, str]]:
        """The class and the options that the settings ``spark.sql.catalog.NAME…`` give a catalog, unmasked."""
        values = dict(self.settings.items())
        prefix = f"{CATALOG_PREFIX}{name}."
        options = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        return values.get(CATALOG_PREFIX + name), options

    def change_catalog_settings(self, name: str, changed: Mapping[str, str], removed: Iterable[str]) -> None:
        """Change the settings that define a catalog; it is built anew when it is next used."""
        for key, value in changed.items():
            self.settings.set(f"{CATALOG_PREFIX}{name}.{key}", value)
        for key in removed:
            self.settings.reset(f"{CATALOG_PREFIX}{name}.{key}")

    @property
    def _store(self) -> CatalogStore | None:
        """Where catalogs are kept that are made, if they outlast the session."""
        if self.settings.get("table.catalog-store.kind") != "file":
            return None
        directory = self.settings.get("table.catalog-store.file.path")
        if not directory:
            raise BergError(ErrorCode.OPTION, "'table.catalog-store.file.path' must name a directory.")
        from bergsql.catalog.store import CatalogStore

        return CatalogStore(Path(directory).expanduser())

    def _keeper(self) -> Keeper | None:
        """Who keeps definitions of ``default_catalog``, if they outlast the session."""
        if self._store is None:
            return None
        from bergsql.engine.execute.kept_definitions import KeptDefinitions

        return KeptDefinitions(self, Path(self.settings.get("table.catalog-store.file.path") or "").expanduser())

    def _keep_catalog(self, name: str, options: Mapping[str, str], comment: str | None) -> None:
        """Keep a catalog for later sessions, if they are kept.

        :raises BergError: OPTION for options that hold a secret.
        """
        store = self._store
        if store is not None:
            from bergsql.catalog.store import Definition

            store.save(name, Definition(options, comment))

    def catalog_comment(self, name: str) -> str | None:
        return self._comments.get(name)

    def set_catalog_comment(self, name: str, comment: str | None) -> None:
        if name in self._options:
            self._keep_catalog(name, self._options[name], comment)
        self._comments.pop(name, None)
        if comment:
            self._comments[name] = comment

    def use_default_catalog(self) -> None:
        self.current_catalog, self.namespace = DEFAULT_CATALOG, (DEFAULT_DATABASE,)

    def remove_catalog(self, name: str) -> None:
        """Forget a catalog and the settings that define it. Its tables stay where they are."""
        if self._store:
            self._store.remove(name)
        self._catalogs.pop(name, None)
        self._definitions.pop(name, None)
        self._comments.pop(name, None)
        self._options.pop(name, None)
        for key, _ in list(self.settings.items()):
            if key == CATALOG_PREFIX + name or key.startswith(f"{CATALOG_PREFIX}{name}."):
                self.settings.reset(key)

    def _defined_by_settings(self) -> set[str]:
        keys = (k.removeprefix(CATALOG_PREFIX) for k, _ in self.settings.items() if k.startswith(CATALOG_PREFIX))
        return {k for k in keys if "." not in k}

    def _kept(self, name: str, span: Span | None) -> Definition | None:
        """The definition of a catalog in the store, if there is one."""
        store = self._store
        try:
            return store.load(name) if store else None
        except BergError as error:
            raise error.at(span) from None

    def _build_catalog(self, name: str, span: Span | None) -> Catalog:
        from bergsql.catalog.registry import build_catalog

        if name == DEFAULT_CATALOG:
            from bergsql.catalog.default import DefaultCatalog

            default = DefaultCatalog(self._config.warehouse or str(self._config.home / "warehouse"))
            default.keeper = self._keeper
            return default
        spark_class, options = self.catalog_settings(name)
        if spark_class is not None:
            return build_catalog(name, options, spark_class)
        definition = self._definitions.get(name) or self._kept(name, span)
        if definition is not None:
            try:
                catalog = build_catalog(name, definition.options)
            except BergError as error:
                error.message = f"Catalog {name} of {definition.origin}: {error.message}"
                raise error.at(span) from None
            self._options[name] = definition.options
            self._comments.update({name: definition.comment} if definition.comment else {})
            return catalog
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"Catalog {name} was not found.",
            span=span,
            hint=did_you_mean(name, self.catalog_names()) or "SHOW CATALOGS; lists the catalogs.",
        )

    # --- statements --------------------------------------------------------------------------------------------------

    def execute(self, statement: SourceStatement | str) -> Result:
        """Run one statement.

        :raises BergError: its span is an offset in the statement's text as it was given.
        :raises KeyboardInterrupt: Ctrl-C, or :meth:`interrupt`; nothing was committed.
        """
        text = statement if isinstance(statement, str) else statement.text
        self._interrupted = False
        if "${" not in text:
            return self._placed(lambda: self._run(text))
        filled = self._filled(text)
        return self._placed(lambda: self._run(filled.text), filled.to_original)

    def _run(self, text: str) -> Result:
        from bergsql.engine.sql.parser import parse

        self.text = text
        result = self.run(parse(text, self.flavour))
        notes, self.notes = self.notes, []
        result.messages = (*notes, *result.messages)
        return result

    def run(self, statement: Statement) -> Result:
        """Run a parsed statement."""
        from bergsql.engine.execute import carry_out

        if not self._config.safe:
            return carry_out(self, statement)
        from bergsql.catalog.storage.base import OutsideFence
        from bergsql.engine.safety import check_safe, place_of

        check_safe(self, statement)
        try:
            return carry_out(self, statement)
        except OutsideFence as error:
            raise error.at(place_of(statement)) from None

    def _placed(self, run: Callable[[], Result], to_original: Callable[[int], int] = int) -> Result:
        try:
            return run()
        except BergError as error:
            if self._interrupted and error.code is not ErrorCode.UNKNOWN_OUTCOME:
                raise KeyboardInterrupt from error
            if error.span is not None:
                error.span = Span(to_original(error.span.start), to_original(error.span.end))
            raise
        except RuntimeError as error:
            if is_interruption(error):
                raise KeyboardInterrupt from error
            raise
        finally:
            self.notes = []

    def filled(self, text: str) -> str:
        """``text`` with its variables ``${NAME}`` filled in.

        :raises BergError: OPTION, for one that is not defined.
        """
        return self._filled(text).text if "${" in text else text

    def _filled(self, text: str) -> Substituted:
        from bergsql.engine.sql.variables import substitute

        return substitute(text, self._lookup, self.flavour, self.variables, env=not self._config.safe)

    def _stay_inside(self) -> None:
        """Let nothing be read or written but in the warehouses that are known now."""
        from contextlib import suppress

        from bergsql.catalog.options import resolve_env
        from bergsql.catalog.storage.base import fence_in
        from bergsql.catalog.storage.fenced import real_places
        from bergsql.catalog.warehouse import absolute_warehouse

        own = self._config.warehouse or str(self._config.home / "warehouse")
        given = [each.options for each in self._definitions.values()]
        given += [self.catalog_settings(name)[1] for name in self._defined_by_settings()]
        store = self._store
        given += [kept.options for name in (store.names() if store else ()) if store and (kept := store.load(name))]
        named = [own, *(options["warehouse"] for options in given if "warehouse" in options)]
        found = []
        for place in named:
            with suppress(BergError):  # it is no place, which using the catalog tells
                found.append(absolute_warehouse(resolve_env(place)))
        self.warehouses = real_places(found)
        fence_in(self.warehouses)

    def next_function_number(self) -> int:
        """A number that no function made here had: DuckDB knows them by it."""
        self._functions_made += 1
        return self._functions_made

    def refuse_when_safe(self, what: str, span: Span | None = None) -> None:
        """Refuse what leads out of the warehouses, in a session that is safe.

        :raises BergError: INVALID.
        """
        if self._config.safe:
            raise BergError(
                ErrorCode.INVALID, f"{what} is not allowed here: bergsql was started with --safe.", span=span
            )

    def _lookup(self, name: str) -> str | None:
        from bergsql.engine.sql.variables import plain_name

        name = plain_name(name)
        value = self.variables.get(name)
        if value is not None:
            return value
        value = self.settings.get(name)
        if value is not None and self._config.safe:
            from bergsql.catalog.secrets import mask_value

            if mask_value(name, value) != value:
                self.refuse_when_safe(f"Reading the secret '{name}'")
        return value

    def _note(self, note: str | None) -> None:
        if note:
            self.notes.append(note)

    def interrupt(self) -> None:
        """Stop the statement that runs. May be called from another thread."""
        self._interrupted = True
        for stop in tuple(self.stoppers):
            stop()
        if self._duck:
            self._duck.interrupt()

    def track_progress(self) -> None:
        """Make :meth:`progress` known from now on, which costs each statement a little."""
        self._tracks_progress = True
        if self._duck:
            self._duck.tracks_progress = True

    def progress(self) -> float | None:
        """How much of the running query is done, from 0 to 1, if known. May be called from another thread."""
        return self._duck.progress() if self._duck else None

    def close(self) -> None:
        if self._duck:
            self._duck.close()
            self._duck = None


def machine_time_zone() -> str:
    """The machine's time zone by name, UTC when it has none."""
    zone = os.environ.get("TZ", "").lstrip(":")
    if not zone:
        return os.path.realpath("/etc/localtime").partition("zoneinfo/")[2] or "UTC"
    if zone == "UTC":
        return zone
    from zoneinfo import ZoneInfo  # takes a while to import

    try:
        return ZoneInfo(zone).key
    except (KeyError, ValueError, OSError):
        return "UTC"  # what the C library makes of a zone that it does not know
