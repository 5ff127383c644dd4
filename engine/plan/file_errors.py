"""What DuckDB says of files that it could not read or write, in our words."""

from __future__ import annotations

import os
import re

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.storage.base import system_error

_REASON = r'([^".:{}\n]+)'
_REFUSED = re.compile(
    r"(?:Could not|Cannot|Failed to) (open|read|write|truncate|delete|create|move|list)(?: (?:all bytes|from|to))*"
    rf' (file|directory) \\*"(.+?)\\*": {_REASON}'
)
_VERBS = {"directory": "make the directory"}
_GONE = re.compile(r'No files found that match the pattern "(.*?)"')
_DAMAGED = re.compile(r"No magic bytes found at end of file '(.*?)'|[Ff]ile '(.*?)' too small to be a Parquet file")
_OF_PARQUET = (
    (re.compile(r'Invalid string encoding found in Parquet file "(.*?)"'), "a text in it is not UTF-8"),
    (re.compile(r'Could not read enough bytes from file "(.*?)"'), "it is cut off"),
    (re.compile(r"Prefetch registered for bytes outside file: (.*?), attempted"), "it is cut off"),
    (
        re.compile(r'Failed to read (?:Parquet )?file "(.*?)"|Malformed Parquet schema in file "(.*?)"'),
        "its values cannot be decoded",
    ),
    (re.compile(r"Parquet file \((.*?)\) corrupted"), "its values cannot be decoded"),
)
_OF_CSV = re.compile(
    r"CSV Error on Line: (\d+)(?s:.*?)\n"
    r"(Value with unterminated quote found|Expected Number of Columns: [^\n]*|Error when converting column [^\n]*"
    r"|Invalid unicode [^\n]*|Maximum line size of [^\n]*|Possible)"
)
_CSV_FILE = re.compile(r"\n\s*file = ([^\n]+)")
_OF_JSON = re.compile(
    r"(JSON transform error|Malformed JSON) in file \"(.*?)\", (?:at byte \d+ )?in line (\d+): ([^\n]*)"
)
_ALONE = "A format that ignores parse errors leaves out what cannot be read: '{}.ignore-parse-errors'='true'."
_NUMBERS = {os.strerror(number): number for number in range(1, 134)}


def file_error(text: str) -> BergError | None:
    """The error of ours that stands for DuckDB's ``text``; None when that is about no file."""
    if refused := _REFUSED.search(text):
        verb, what, path, reason = refused.groups()
        reason = reason.strip()
        if verb == "open" and reason == "No such file or directory":
            return _unreadable(path)
        if verb != "read" or reason in _NUMBERS:
            return system_error(_VERBS.get(what, verb), path, _NUMBERS.get(reason), reason)
    if gone := _GONE.search(text):
        return _unreadable(re.sub(r"\[([*?\[])\]", r"\1", gone[1]))
    if damaged := _DAMAGED.search(text):
        path = damaged[1] or damaged[2]
        return BergError(ErrorCode.CORRUPT, f"The data file {path} is damaged: it is no Parquet file.")
    for pattern, reason in _OF_PARQUET:
        if broken := pattern.search(text):
            path = next(filter(None, broken.groups()))
            return BergError(ErrorCode.CORRUPT, f"Data file {path} is damaged: {reason}.")
    if (lines := _broken_lines(text)) is not None:
        return lines
    if "failed to offload data block" in text:
        return BergError(
            ErrorCode.EXECUTION,
            "The query needs more memory than engine.memory-limit allows, and the disk has no room for the rest.",
            hint="What does not fit into memory goes below BERGSQL_HOME.",
        )
    return None


def _broken_lines(text: str) -> BergError | None:
    """The error for a file of CSV or JSON with a line that is no row."""
    if json := _OF_JSON.search(text):
        what, path, found, reason = json.groups()
        line = int(found) - (what == "Malformed JSON")  # which is told when the line has been read to its end
        message = f"Line {line} of {path} cannot be read: {reason.strip().rstrip('.')}."
        return BergError(ErrorCode.CORRUPT, message, hint=_ALONE.format("json"))
    if lacking := re.search(r'Object (.*) does not have key "(.*?)"', text):
        return BergError(ErrorCode.CORRUPT, f"A line of JSON lacks the member '{lacking[2]}': {lacking[1][:200]}")
    if malformed := re.search(r'Malformed JSON at byte \d+ of input: (.*?)\.\s+Input: "(.*)"', text):
        return BergError(ErrorCode.CORRUPT, f"A text is no JSON: {malformed[1]}: {malformed[2][:200]}")
    named = _CSV_FILE.search(text)
    path = named[1].strip() if named else "a file"
    if csv := _OF_CSV.search(text):
        reason = csv[2].strip().rstrip(".").replace("Number of Columns", "values")
        message = f"Line {csv[1]} of {path} cannot be read" + ("." if reason == "Possible" else f": {reason}.")
        return BergError(ErrorCode.CORRUPT, message, hint=_ALONE.format("csv"))
    if "CSV Parser state machine reached an invalid state" in text:
        message = f"The quotes or ends of lines of {path} are not those of CSV."
        return BergError(ErrorCode.CORRUPT, message, hint=_ALONE.format("csv"))
    return None


def _unreadable(path: str) -> BergError:
    return BergError(ErrorCode.IO, f"The data file {path} cannot be read.")
