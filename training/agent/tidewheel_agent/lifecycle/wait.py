"""Waiting for the leader, on a host that has nothing to start yet or at all."""

from __future__ import annotations

import time

from ..configuration.settings import ConfigurationError
from ..log import log
from ..supervision.script_end import EXIT_STOPPED
from .host_run import HostRun
from .outcome import Outcome, peer_failed


def wait_for_options(run: HostRun, host_index: int) -> list[str] | None:
    """The options that the leader's program has for this host's; None if the job ends before."""
    state = run.gang.state
    deadline = time.monotonic() + run.settings.peers_seconds
    while host_index not in state.launch_options:
        if run.stop.is_set() or state.peer_failure or state.exit_codes:
            return None
        if time.monotonic() > deadline:
            raise ConfigurationError(
                [
                    f"no message from the leader's program within {run.settings.peers_seconds:g} s:"
                    f" open port {run.settings.gang_port} between the job's hosts"
                ]
            )
        time.sleep(0.1)
    return state.launch_options[host_index]


def wait_for_leader(run: HostRun) -> Outcome:
    """Ends when the leader ends: a container that ends before or after it would disturb the job."""
    leader, state = run.job.leader, run.gang.state
    log(f"not in a group that trains: waiting for {leader} to end")
    deadline = time.monotonic() + run.settings.peers_seconds
    while not run.stop.is_set():
        if state.peer_failure:
            return peer_failed(state.peer_failure, "nothing ran here")
        if leader in state.exit_codes:
            log(f"host {leader} ended with exit code {state.exit_codes[leader]}")
            return Outcome(state.exit_codes[leader])
        if not run.gang.has_connected and time.monotonic() > deadline:
            raise ConfigurationError(
                [
                    f"no connection to {leader}:{run.settings.gang_port} within "
                    f"{run.settings.peers_seconds:g} s: open that port between the job's hosts"
                ]
            )
        time.sleep(0.2)
    run.stop.acknowledge()
    return Outcome(EXIT_STOPPED)
