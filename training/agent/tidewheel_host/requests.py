"""The service's requests to the hosts: objects in one folder, each written once.

One listing shows all of them, so a look costs one call however many there are.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .aws_cli import AwsCli, AwsCliError

_ROUND = re.compile(r"round-(\d{1,4})\.json")
_SAVE = re.compile(r"save-([\w-]{1,64})\.json")


@dataclass(frozen=True)
class Round:
    """The service replaces lost hosts: which hosts stay, and how long the attempt may still run."""

    number: int
    stay: tuple[str, ...]
    seconds_left: float


class Requests:
    def __init__(self, aws: AwsCli, uri: str, log: Callable[[str], None]) -> None:
        self._aws = aws
        self._log = log
        self._uri = uri
        self._names: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Adds new requests. The service withdraws none, so a failed listing changes nothing."""
        try:
            self._names = self._names | frozenset(self._aws.keys(self._uri, tries=1))
        except AwsCliError as error:
            self._log(f"[tidewheel] cannot read the service's requests: {error}")

    @property
    def stop(self) -> bool:
        return "stop.json" in self._names

    @property
    def saves(self) -> frozenset[str]:
        """Instances because of which the service has asked for a checkpoint."""
        return frozenset(match[1] for name in self._names if (match := _SAVE.fullmatch(name)))

    @property
    def newest_round(self) -> int:
        matches = (_ROUND.fullmatch(name) for name in self._names)
        return max((int(match[1]) for match in matches if match), default=1)

    def round(self, number: int) -> Round | None:
        """None for the first round, which no request opens, and while it cannot be read."""
        document = self._read(f"round-{number}.json")
        if document is None:
            return None
        return Round(number, tuple(map(str, document["stay"])), float(document["leftSeconds"]))

    def members(self, number: int) -> list[str] | None:
        """The instances of a round; None until the service has named them."""
        document = self._read(f"members-{number}.json")
        return None if document is None else sorted(map(str, document["members"]))

    def _read(self, name: str) -> dict[str, Any] | None:
        if name not in self._names:
            return None
        text = self._aws.read_if_there(self._uri + name)
        if text is None:
            return None
        document: dict[str, Any] = json.loads(text)
        return document
