"""What a host says of itself: when training starts, in each round, and at its end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Report:
    """What the service reads of this host; see host reports in functions/core/launch/ec2."""

    instance_id: str
    started_at: str = field(default_factory=now)
    round: int = 1
    """The last round that it trained in."""
    ended_at: str | None = None
    exit_code: int | None = None
    stopped_by: str | None = None
    failure: str | None = None
    model_uri: str | None = None
    unsaved: list[str] | None = None
    """Files of checkpoints that are not in the bucket, after all attempts; empty: all are."""

    def text(self) -> str:
        said = {
            "instanceId": self.instance_id,
            "startedAt": self.started_at,
            "round": self.round,
            "endedAt": self.ended_at,
            "exitCode": self.exit_code,
            "stoppedBy": self.stopped_by,
            "failure": self.failure,
            "modelUri": self.model_uri,
            "unsavedFiles": None if self.unsaved is None else len(self.unsaved),
        }
        return json.dumps({name: value for name, value in said.items() if value is not None})
