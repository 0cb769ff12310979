"""The host's report, written when training starts, in each round and at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Report:
    """What the service reads of this host; its schema is in functions/core/launch/ec2."""

    instance_id: str
    started_at: str = field(default_factory=now)
    round: int = 1
    """The last round that this host trained in."""
    ended_at: str | None = None
    exit_code: int | None = None
    stopped_by: str | None = None
    failure: str | None = None
    model_uri: str | None = None
    missing_files: list[str] | None = None
    """Files of checkpoints that did not reach the bucket; None before the last upload."""

    def text(self) -> str:
        document = {
            "instanceId": self.instance_id,
            "startedAt": self.started_at,
            "round": self.round,
            "endedAt": self.ended_at,
            "exitCode": self.exit_code,
            "stoppedBy": self.stopped_by,
            "failure": self.failure,
            "modelUri": self.model_uri,
            "unsavedFiles": None if self.missing_files is None else len(self.missing_files),
        }
        return json.dumps({name: value for name, value in document.items() if value is not None})
