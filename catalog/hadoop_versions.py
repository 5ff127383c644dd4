"""The metadata versions in a table's directory, as the Hadoop catalog lays them out, and how the newest is found.

``metadata/vN.metadata.json`` is version N, gzipped as ``vN.gz.metadata.json`` (or, by old writers,
``vN.metadata.json.gz``). ``metadata/version-hint.text`` holds the number of a recent version, nothing more: it may be
missing, empty, garbage or behind. It is never ahead: then versions were lost, and to go on from an older one would
lose them for good. Tables of other catalogs hold ``NNNNN-<uuid>.metadata.json`` instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import FileMissing, Storage

_PARTS = ("data", "metadata")
"""The directories of a table."""
_MADE = (".parquet", ".avro", ".orc", ".tmp", ".crc")
"""Endings of files that are made before a table's first version."""
HINT_FILE = "version-hint.text"
_NUMBERED = re.compile(r"v([0-9]{1,18})(?:\.gz)?\.metadata\.json(?:\.gz)?")
_NAMED = re.compile(r"([0-9]{1,18})-[0-9A-Za-z-]+(?:\.gz)?\.metadata\.json(?:\.gz)?")
_FORMS = ("v{}.metadata.json", "v{}.gz.metadata.json", "v{}.metadata.json.gz")


@dataclass(frozen=True, slots=True)
class MetadataFile:
    """A version and where it is. ``numbered`` is False for a file of another catalog's naming."""

    version: int
    location: str
    numbered: bool = True


def metadata_dir(table_location: str) -> str:
    return f"{table_location}/metadata"


def file_name(version: int, gzipped: bool) -> str:
    """The name that a new version's file gets."""
    return _FORMS[1 if gzipped else 0].format(version)


def version_file(storage: Storage, table_location: str, version: int) -> MetadataFile | None:
    """The file of one version, whichever way it is compressed."""
    directory = metadata_dir(table_location)
    for form in _FORMS:
        location = f"{directory}/{form.format(version)}"
        if storage.exists(location):
            return MetadataFile(version, location)
    return None


def numbered_version(location: str) -> int | None:
    """The version in the name of a metadata file; None when the name is another catalog's."""
    m = _NUMBERED.fullmatch(location.rpartition("/")[2])
    return int(m[1]) if m else None


def newest(storage: Storage, table_location: str, *, listed: bool = False) -> MetadataFile | None:
    """The newest version of a table; None when there is none.

    From the hinted version on every next number is tried, so a hint that is behind does no harm; any other hint makes
    the directory be listed, in numeric order. ``listed``: list it in any case, and believe no hint.

    :raises BergError: CORRUPT when the hint names a version that is not there, and neither is a later one.
    """
    hint = read_hint(storage, table_location)
    found = version_file(storage, table_location, hint) if isinstance(hint, int) and not listed else None
    if found is None:
        found = _listed(storage, table_location, hint if isinstance(hint, str) else None)
        if isinstance(hint, int) and not listed and _is_ahead(hint, found):
            if read_hint(storage, table_location) != hint:
                # Others went on, or dropped the table, between the two looks.
                return newest(storage, table_location)
            raise _missing(table_location, hint, found)
    if found is None or not found.numbered:
        return found
    while (later := version_file(storage, table_location, found.version + 1)) is not None:
        found = later
    return found


def _is_ahead(hint: int, found: MetadataFile | None) -> bool:
    """Whether a hint names a version behind the last one that was found. No hint tells other catalogs' numbers."""
    return hint > 0 if found is None else found.numbered and hint > found.version


def _missing(table_location: str, hint: int, found: MetadataFile | None) -> BergError:
    directory = metadata_dir(table_location)
    file = f"{directory}/{file_name(hint, gzipped=False)}"
    if found is None:
        advice = "There is no other version either. Restore it, or remove what is left with DROP TABLE."
    else:
        advice = (
            f"Restore it; or, to go on from version {found.version} without what came behind it, "
            f"write {found.version} into {HINT_FILE}."
        )
    return BergError(
        ErrorCode.CORRUPT,
        f"The table's newest metadata file is missing: {directory}/{HINT_FILE} names {file}.",
        hint=advice,
    )


def read_hint(storage: Storage, table_location: str) -> int | str | None:
    """What the hint says: a version, some other text, or nothing."""
    try:
        text = storage.read(f"{metadata_dir(table_location)}/{HINT_FILE}").decode("utf-8", "replace").strip()
    except BergError:
        # Only a hint: what makes it unreadable says nothing about the table.
        return None
    if text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    return text or None


def _listed(storage: Storage, table_location: str, hint: str | None) -> MetadataFile | None:
    directory = metadata_dir(table_location)
    try:
        names = [name for name, is_dir in storage.list(directory) if not is_dir]
    except FileMissing:
        return None
    numbered = [(int(m[1]), name) for name in names if (m := _NUMBERED.fullmatch(name))]
    if numbered:
        version, name = max(numbered)
        return MetadataFile(version, f"{directory}/{name}")
    named = [(int(m[1]), name) for name in names if (m := _NAMED.fullmatch(name))]
    if not named:
        return None
    hinted = next(((v, n) for v, n in named if hint and n in (hint, f"{hint}.metadata.json")), None)
    version, name = hinted or max(named)
    return MetadataFile(version, f"{directory}/{name}", numbered=False)


def holds_remains(storage: Storage, location: str) -> bool:
    """Whether a directory holds what a CREATE TABLE … AS left that died before its table had a version, and no more."""
    above = list(storage.list(location))
    if not above or not all(is_dir and name in _PARTS for name, is_dir in above):
        return False
    places = [f"{location}/{name}" for name, _ in above]
    while places:
        place = places.pop()
        for name, is_dir in storage.list(place):
            if is_dir:
                places.append(f"{place}/{name}")
            elif not name.endswith(_MADE):
                return False
    return True


def holds_table(storage: Storage, table_location: str) -> bool:
    """Whether there is a table in the directory, though its metadata may be lost."""
    hint = read_hint(storage, table_location)
    return (isinstance(hint, int) and hint > 0) or _listed(storage, table_location, None) is not None
