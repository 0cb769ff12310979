"""How training and preparing share the CPUs of the cluster."""

_UNITS = 10_000
"""Ray rounds CPU shares to this many parts of a CPU."""


def divide_cpus(cpus: int, *, workers: int, threads: int) -> tuple[int, float]:
    """How many processes at most prepare data for each worker, and the CPUs of each process.

    Every worker keeps `threads` CPUs for training. All workers get equal shares of the rest: they
    wait for each other, so one without a share would stop them all.
    """
    left = cpus - workers * threads
    if left <= 0:
        return 1, 0.0  # No CPU is left: the process prepares beside the training.
    processes_per_cpu = -(-workers // left)
    return max(1, left // workers), _UNITS // processes_per_cpu / _UNITS
