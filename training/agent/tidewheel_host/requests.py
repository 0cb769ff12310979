"""What the service asks of the hosts: objects in one folder, each written once.

One listing tells all of it, so a look costs one call however much there is to ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .aws_cli import Cloud, CloudError

_ROUND = re.compile(r"round-(\d{1,4})\.json")
_SAVE = re.compile(r"save-([\w-]{1,64})\.json")


@dataclass(frozen=True)
class Round:
    """Lost hosts are replaced: who goes on, and how long the attempt may still run."""

    number: int
    stay: tuple[str, ...]
    left_seconds: float


class Asked:
    def __init__(self, cloud: Cloud, uri: str, say: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._say = say
        self._uri = uri
        self._names: frozenset[str] = frozenset()

    def look(self) -> None:
        """Keeps what was known when the bucket cannot be asked: nothing is ever taken back."""
        try:
            self._names = self._names | frozenset(self._cloud.keys(self._uri, tries=1))
        except CloudError as error:
            self._say(f"[tidewheel] cannot see what is asked of this host: {error}")

    @property
    def stop(self) -> bool:
        return "stop.json" in self._names

    @property
    def saves(self) -> frozenset[str]:
        """Instances for whose sake a checkpoint was asked for."""
        return frozenset(match[1] for name in self._names if (match := _SAVE.fullmatch(name)))

    @property
    def newest_round(self) -> int:
        matches = (_ROUND.fullmatch(name) for name in self._names)
        return max((int(match[1]) for match in matches if match), default=1)

    def round(self, number: int) -> Round | None:
        """None for the first, which nobody opened, and when it cannot be read now."""
        said = self._read(f"round-{number}.json")
        if said is None:
            return None
        return Round(number, tuple(map(str, said["stay"])), float(said["leftSeconds"]))

    def members(self, number: int) -> list[str] | None:
        """None until they are named."""
        said = self._read(f"members-{number}.json")
        return None if said is None else sorted(map(str, said["members"]))

    def _read(self, name: str) -> dict[str, Any] | None:
        if name not in self._names:
            return None
        text = self._cloud.read_if_there(self._uri + name)
        if text is None:
            return None
        said: dict[str, Any] = json.loads(text)
        return said
