"""The newest whole checkpoint that a pattern in the script's arguments finds."""

from __future__ import annotations

import glob
from fnmatch import fnmatchcase
from pathlib import Path

from ..configuration.settings import CheckpointRules
from .checkpoint import find_last_checkpoint
from .frameworks import FrameworkCheckpoints, furthest
from .given_files import files_given
from .note import read_note


def newest_checkpoint(folder: Path, pattern: str, rules: CheckpointRules | None) -> str | None:
    """Its path relative to `folder`, or None where no checkpoint that counts has such a path.

    `pattern`: `*` stands for any characters of one name. Of TensorFlow's several files of one
    checkpoint the prefix is compared, which is what its readers take.
    """
    own = find_last_checkpoint(folder)
    if own is not None and _matches(own.name, pattern):
        return own.name
    noted = read_note(folder).checkpoint
    given = files_given(folder, noted_checkpoint=noted, writes=False)
    checkpoints = FrameworkCheckpoints(folder, given, rules)
    checkpoints.find_last(noted)
    found = furthest((f for f in checkpoints.whole if _matches(f.name, pattern)), noted)
    return None if found is None else found.name


def _matches(name: str, pattern: str) -> bool:
    """Every other character of the pattern is itself."""
    parts, patterns = name.split("/"), pattern.split("/")
    if len(parts) != len(patterns):
        return False
    texts = ("*".join(glob.escape(text) for text in each.split("*")) for each in patterns)
    return all(fnmatchcase(part, text) for part, text in zip(parts, texts, strict=True))
