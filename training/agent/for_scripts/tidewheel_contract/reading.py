"""Reads and writes the documents of `documents.py`; packages/contract/document.ts has the rules.

A script owns its host, so a document may contain anything. A field that may be left out and cannot
be read counts as left out.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .documents import NAMES, Document
from .on_use import is_declared, made

D = TypeVar("D", bound=Document)
T = TypeVar("T")


class UnreadableError(ValueError):
    """The text is no such document."""


class NewerVersionError(ValueError):
    """A later release wrote it, and this one does not know what it means."""

    def __init__(self, kind: type[Document], version: int) -> None:
        known = f"this release reads up to {kind.VERSION}: it counts as not there"
        super().__init__(f"it is of version {version}, and {known}")
        self.version = version


def path_in(folder: Path, kind: type[Document], **parts: object) -> Path:
    """`parts`: of its name, such as the attempt."""
    return folder / kind.FILE.format(**parts)


def parse(kind: type[D], text: str) -> D:
    """Raises UnreadableError and NewerVersionError."""
    return read(kind, _content(kind, text))


def read(kind: type[T], content: object) -> T:
    """A document, or an object in one. Raises UnreadableError."""
    if not isinstance(content, Mapping):
        raise UnreadableError(f"{kind.__name__} has no fields")
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type] # Classes can be hashed.
    values = {}
    for each in dataclasses.fields(made(kind)):  # type: ignore[arg-type] # All are dataclasses.
        name, is_needed = _json_name(each), each.default is dataclasses.MISSING
        if name not in content:
            if is_needed:
                raise UnreadableError(f"{kind.__name__} lacks {name}")
            continue
        try:
            values[each.name] = _value(hints[each.name], content[name])
        except UnreadableError:
            if is_needed:
                raise
    return kind(**values)


def text_of(document: Document) -> str:
    return json.dumps(plain(document), sort_keys=True) + "\n"


def line_of(document: Document) -> str:
    return json.dumps(plain(document), separators=(",", ":"))


def changed(text: str, document: Document) -> str:
    """`document` in the place of the one in `text`, with its fields that this release does not
    know."""
    try:
        content = _content(type(document), text)
    except ValueError:
        content = {}
    known = {_json_name(each) for each in dataclasses.fields(document)}
    unknown = {name: value for name, value in content.items() if name not in known}
    return json.dumps({**unknown, **plain(document)}, sort_keys=True) + "\n"


def plain(document: Document) -> dict[str, Any]:
    return {"version": document.VERSION, **unversioned(document)}


def _content(kind: type[Document], text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{kind.FILE} is no JSON") from error
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is int and version > kind.VERSION:
        raise NewerVersionError(kind, version)
    if not isinstance(content, dict):
        raise UnreadableError(f"{kind.FILE} has no fields")
    return content


def _json_name(field: dataclasses.Field[Any]) -> str:
    return NAMES.get(field.name, field.name)


def unversioned(value: Any) -> Any:
    """Without fields that may be left out and have no value."""
    if dataclasses.is_dataclass(value):
        fields = ((each, getattr(value, each.name)) for each in dataclasses.fields(value))
        written = (pair for pair in fields if pair[1] is not None or pair[0].default is not None)
        return {_json_name(each): unversioned(own) for each, own in written}
    if isinstance(value, Mapping):
        return {name: unversioned(each) for name, each in value.items()}
    return [unversioned(each) for each in value] if isinstance(value, list) else value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        rest = next(each for each in arguments if each is not NoneType)
        return None if value is None else _value(rest, value)
    if isinstance(kind, type) and is_declared(kind):
        return read(kind, value)
    if origin is dict and isinstance(value, dict):
        return {str(name): _value(arguments[1], each) for name, each in value.items()}
    if origin is list and isinstance(value, list):
        return [_value(arguments[0], each) for each in value]
    if kind is object or (origin is Literal and value in arguments):
        return value
    return _single(kind, value)


def _single(kind: Any, value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float and is_number and abs(value) <= sys.float_info.max:
        return float(value)
    if kind is int and is_number and abs(value) < 2**63 and value == int(value):
        return int(value)
    if kind in (str, bool) and isinstance(value, kind):
        return value
    raise UnreadableError(f"{str(value)[:60]!r} is no {kind}")
