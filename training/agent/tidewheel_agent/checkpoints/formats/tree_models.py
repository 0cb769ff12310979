"""Boosted trees: XGBoost's models in JSON and UBJSON, LightGBM's text.

Formats: https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html, https://ubjson.org,
LightGBM's `gbdt_model_text.cpp`. The step is the number of rounds.
"""

import json
import re
import struct
from pathlib import Path

from .step_names import Position, Reading

_LARGEST_MODEL = 256 * 1024 * 1024
_FIXED_BYTES = {
    **dict.fromkeys("ZTFN", 0),
    **dict.fromkeys("iUC", 1),
    "I": 2,
    **dict.fromkeys("ld", 4),
    **dict.fromkeys("LD", 8),
}
_DEEPEST = 64


def read_xgboost_json(path: Path) -> Reading | None:
    """None for JSON of another kind."""
    if path.stat().st_size > _LARGEST_MODEL:
        return None
    with path.open("rb") as file:
        if b'"learner"' not in file.read(4096):
            return None
    try:
        model = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return Reading(f"{path.name} is cut off")
    return Reading(position=_rounds(model))


def _rounds(model: object) -> Position | None:
    try:
        booster = model["learner"]["gradient_booster"]  # type: ignore[index]
        booster = booster.get("gbtree", booster)
        rounds = booster["model"].get("iteration_indptr")
        return Position(len(rounds) - 1, "step") if rounds else None
    except (KeyError, TypeError, AttributeError):
        return None


def read_ubjson(path: Path) -> Reading | None:
    """Walks the whole document: it must end where the file ends."""
    if path.stat().st_size > _LARGEST_MODEL:
        return None
    walk = _UbjsonWalk(path.read_bytes())
    try:
        walk.value(walk.marker(), 0)
    except (IndexError, struct.error, KeyError, ValueError):
        return Reading(f"{path.name} is cut off")
    if walk.at != len(walk.content):
        return Reading(f"{path.name} goes on behind its end")
    rounds = walk.lengths.get("iteration_indptr")
    return Reading(position=Position(rounds - 1, "step") if rounds else None)


class _UbjsonWalk:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0
        self.lengths: dict[str, int] = {}
        """Of the arrays, by the key that holds them."""

    def marker(self) -> str:
        self.at += 1
        return chr(self.content[self.at - 1])

    def skip(self, count: int) -> None:
        if count < 0 or self.at + count > len(self.content):
            raise IndexError(count)
        self.at += count

    def integer(self) -> int:
        code = {"i": ">b", "U": ">B", "I": ">h", "l": ">i", "L": ">q"}[self.marker()]
        number = int(struct.unpack_from(code, self.content, self.at)[0])
        self.skip(struct.calcsize(code))
        return number

    def string(self) -> str:
        length = self.integer()
        start = self.at
        self.skip(length)
        return self.content[start : self.at].decode("utf-8", "replace")

    def value(self, marker: str, depth: int, key: str = "") -> None:
        if depth > _DEEPEST:
            raise ValueError("too deep")
        if marker in _FIXED_BYTES:
            self.skip(_FIXED_BYTES[marker])
        elif marker in "SH":
            self.string()
        elif marker == "[":
            self._array(depth, key)
        elif marker == "{":
            while self.content[self.at] != ord("}"):
                name = self.string()
                self.value(self.marker(), depth + 1, name)
            self.skip(1)
        else:
            raise ValueError(marker)

    def _array(self, depth: int, key: str) -> None:
        if self.content[self.at] == ord("$"):
            self.skip(1)
            kind = self.marker()
            if self.marker() != "#":
                raise ValueError("an array with a type has a length")
            count = self.integer()
            self.skip(count * _FIXED_BYTES[kind])
        elif self.content[self.at] == ord("#"):
            self.skip(1)
            count = self.integer()
            for _ in range(count):
                self.value(self.marker(), depth + 1)
        else:
            count = 0
            while self.content[self.at] != ord("]"):
                self.value(self.marker(), depth + 1)
                count += 1
            self.skip(1)
        if key:
            self.lengths[key] = count


def read_lightgbm(path: Path) -> Reading | None:
    """The head lists the bytes of every tree; the parameters come last."""
    with path.open("rb") as file:
        head = file.read(1024 * 1024)
        if not head.startswith(b"tree\nversion="):
            return None
        file.seek(max(0, path.stat().st_size - 1024 * 1024))
        tail = file.read()
    sizes = re.search(rb"^tree_sizes=([\d ]*)$", head, re.MULTILINE)
    if sizes is None or b"\nend of trees\n" not in tail or b"\nend of parameters\n" not in tail:
        return Reading(f"{path.name} is cut off")
    classes = re.search(rb"^num_tree_per_iteration=(\d+)$", head, re.MULTILINE)
    trees = len(sizes[1].split())
    return Reading(position=Position(trees // max(1, int(classes[1]) if classes else 1), "step"))
