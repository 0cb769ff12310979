"""What all four steps of the agent need."""

from __future__ import annotations

from dataclasses import dataclass

from ..checkpoints.save_request import SaveRequest
from ..configuration.job import Job
from ..configuration.settings import Settings
from ..gang.gang import Gang
from ..supervision.stop_request import StopRequest


@dataclass(frozen=True)
class HostRun:
    """The job as this host sees it, the requests to this host, and the other hosts."""

    job: Job
    settings: Settings
    stop: StopRequest
    save: SaveRequest
    gang: Gang
