"""What all four steps share: the job on this host, and what it returns to the platform."""

from dataclasses import dataclass

from ..checkpoints.save_request import SaveRequest
from ..configuration.job import Job
from ..configuration.settings import ConfigurationError, Settings
from ..gang.gang import Gang
from ..gang.state import PeerFailure
from ..log import log
from ..supervision.supervisor import EXIT_STOPPED, StopRequest


@dataclass(frozen=True)
class HostRun:
    """The job as this host sees it, the requests to this host, and the other hosts."""

    job: Job
    settings: Settings
    stop: StopRequest
    save: SaveRequest
    gang: Gang


_EXIT_CONFIGURATION = 1


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    failure_text: str = ""
    """Text of the failure file; empty when the script is not at fault."""


def cannot_start(error: ConfigurationError) -> Outcome:
    for problem in error.problems:
        log(f"cannot start: {problem}")
    return Outcome(_EXIT_CONFIGURATION, "Cannot start: " + "; ".join(error.problems) + "\n")


def peer_failed(failure: PeerFailure, safe: str) -> Outcome:
    """The outcome when another host failed or was lost. `safe` says which step is saved."""
    if failure.is_lost:
        text = f"Interrupted: host {failure.host} was lost; {safe}. The script is not at fault.\n"
        log(text.strip())
        return Outcome(EXIT_STOPPED, text)
    log(f"ended because host {failure.host} failed; {safe}")
    text = failure.failure_text or f"Host {failure.host} failed first.\n"
    return Outcome(failure.exit_code or 1, text)
