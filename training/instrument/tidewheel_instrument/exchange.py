"""The part of DDP's gradient exchange that the backward pass does not hide.

DDP measures some iterations itself, on GPUs by events on their streams
(torch/csrc/distributed/c10d/logger.cpp). The exchange ends that much later than the computing.
"""

from __future__ import annotations

import weakref
from typing import Any

_RATE_SECONDS = 1.0
"""DDP measures about one iteration in this time. On a GPU that iteration waits for its events."""


class HiddenExchange:
    def __init__(self) -> None:
        self._replicas: list[weakref.ref[Any]] = []
        self._rate = 0

    def add(self, replica: Any) -> None:
        self._replicas.append(weakref.ref(replica))

    def seconds(self, step_seconds: float) -> float:
        """Of the last iteration that DDP measured; 0.0 before the first."""
        replicas = [replica for each in self._replicas if (replica := each()) is not None]
        self._set_rate(replicas, step_seconds)
        return sum(_unhidden_seconds(replica) for replica in replicas)

    def _set_rate(self, replicas: list[Any], step_seconds: float) -> None:
        rate = max(1, round(_RATE_SECONDS / step_seconds)) if step_seconds > 0 else 0
        if rate and not 0.5 < self._rate / rate < 2:
            self._rate = rate
            for replica in replicas:
                replica.reducer._set_ddp_runtime_logging_sample_rate(rate)


def _unhidden_seconds(replica: Any) -> float:
    known = replica.logger._get_ddp_logging_data().ints_map
    exchange = known.get("backward_comm_time", 0)
    overlap = known.get("backward_compute_comm_overlap_time", 0)
    return float(max(0, exchange - overlap)) / 1e9
