"""Writes tidewheel_client/operations.py from docs/openapi.json: `python write_operations.py`."""

from __future__ import annotations

import json
import keyword
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCUMENT = HERE.parent.parent / "docs" / "openapi.json"
TARGET = HERE / "tidewheel_client" / "operations.py"

_HEAD = '''"""Operations and answers of the HTTP API.

Written by write_operations.py from docs/openapi.json: change nothing here.
"""
# fmt: off
# ruff: noqa: E501, RUF100

from __future__ import annotations

from typing import Any, Literal, TypedDict

'''
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_WIDTH = 100


class Writer:
    """Collects a TypedDict for each object of the document, also for those inside others."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self._made: dict[str, str] = {}
        self._aliases: dict[str, str] = {}

    def text(self) -> str:
        for name in sorted(self._schemas):
            self._top(name, self._schemas[name])
        # Aliases are evaluated, so what they name stands before them.
        return "\n\n".join([*self._made.values(), "\n".join(self._aliases.values())])

    def _top(self, name: str, schema: dict[str, Any]) -> None:
        if _is_table(schema):
            self._table(name, schema)
        else:
            self._aliases[name] = f"{name} = {self._type(name, schema)}"

    def _inner(self, name: str, schema: dict[str, Any]) -> str:
        while name in self._made or name in self._schemas:
            name += "Part"
        return self._table(name, schema)

    def _table(self, name: str, schema: dict[str, Any]) -> str:
        self._made[name] = ""  # Holds its place: what it contains follows.
        required = set(schema.get("required", []))
        fields = {
            field: (self._type(f"{name}{field[:1].upper()}{field[1:]}", part), field in required)
            for field, part in schema["properties"].items()
        }
        self._made[name] = _class(name, fields)
        return name

    def _type(self, name: str, schema: dict[str, Any] | bool) -> str:
        if isinstance(schema, bool):
            return "Any"
        if "$ref" in schema:
            return str(schema["$ref"].rsplit("/", 1)[-1])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                parts = [self._type(f"{name}{n}", each) for n, each in enumerate(schema[key])]
                return _union(parts)
        if "const" in schema:
            return f"Literal[{_literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(_literal(each) for each in schema['enum'])}]"
        if _is_table(schema):
            return self._inner(name, schema)
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self._type(f'{name}Item', schema.get('items', {}))}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            inner = self._type(f"{name}Value", values) if isinstance(values, dict) else "Any"
            return f"dict[str, {inner}]"
        return _SIMPLE.get(kind, "Any") if isinstance(kind, str) else "Any"


def _is_table(schema: dict[str, Any]) -> bool:
    names = schema.get("properties", {})
    return bool(names) and all(
        each.isidentifier() and not keyword.iskeyword(each) for each in names
    )


def _literal(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _union(parts: list[str]) -> str:
    unique = list(dict.fromkeys(parts))
    return " | ".join(unique)


def _class(name: str, fields: dict[str, tuple[str, bool]]) -> str:
    """Two classes where some fields may be absent: Python 3.10 has no NotRequired."""
    required = {field: kind for field, (kind, is_required) in fields.items() if is_required}
    absent = {field: kind for field, (kind, is_required) in fields.items() if not is_required}
    if not absent:
        return _lines(f"class {name}(TypedDict):", required)
    if not required:
        return _lines(f"class {name}(TypedDict, total=False):", absent)
    base = _lines(f"class _{name}(TypedDict):", required)
    return f"{base}\n\n{_lines(f'class {name}(_{name}, total=False):', absent)}"


def _lines(head: str, fields: dict[str, str]) -> str:
    return "\n".join([head, *(f"    {field}: {kind}" for field, kind in fields.items())]) + "\n"


def written(document: dict[str, Any]) -> str:
    operations = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    table = "\n".join(
        f'    "{name}": ("{method}", "{path}"),' for name, (method, path) in operations.items()
    )
    doc = '"""Method and path of each operationId."""'
    head = f"{_HEAD}OPERATIONS: dict[str, tuple[str, str]] = {{\n{table}\n}}\n{doc}\n\n\n"
    return f"{head}{Writer(document['components']['schemas']).text()}\n"


if __name__ == "__main__":
    TARGET.write_text(written(json.loads(DOCUMENT.read_text(encoding="utf-8"))), encoding="utf-8")
