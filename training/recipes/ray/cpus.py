"""How the CPUs of the whole cluster are divided between training and preparing."""

from __future__ import annotations

_UNITS = 10_000
"""Ray counts parts of a CPU in these, and rounds."""


def left_to_prepare(cpus: int, *, workers: int, threads: int) -> tuple[int, float]:
    """For each worker: how many processes prepare its data at most, and each one's CPUs.

    Every worker keeps `threads` CPUs to train on. No share of the rest may depend on another's:
    the workers wait for each other, so one that got nothing would stop them all.
    """
    left = cpus - workers * threads
    if left <= 0:
        return 1, 0.0  # Beside the training, since nothing is left.
    to_a_cpu = -(-workers // left)
    return max(1, left // workers), _UNITS // to_a_cpu / _UNITS
