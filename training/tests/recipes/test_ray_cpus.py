"""How the ray recipe divides the cluster's CPUs; these tests need no Ray."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recipe_modules import load_modules

[cpus] = load_modules("ray", "cpus")
UNITS = 10_000


def test_spare_cpus_of_all_hosts_prepare() -> None:
    # A host of 4 CPUs that trains on one, and a helper of 8.
    assert cpus.divide_cpus(12, workers=1, threads=1) == (11, 1.0)


def test_hosts_of_one_cpu_leave_preparing_to_helpers() -> None:
    assert cpus.divide_cpus(2, workers=1, threads=1) == (1, 1.0)
    assert cpus.divide_cpus(3, workers=2, threads=1) == (1, 0.5)


def test_without_spare_cpus_preparing_shares_training_cpus() -> None:
    assert cpus.divide_cpus(1, workers=1, threads=1) == (1, 0.0)
    assert cpus.divide_cpus(3, workers=2, threads=2) == (1, 0.0)


@given(cpus_there=st.integers(1, 2000), workers=st.integers(1, 300), threads=st.integers(1, 16))
def test_the_shares_of_all_workers_fit(cpus_there: int, workers: int, threads: int) -> None:
    most, each = cpus.divide_cpus(cpus_there, workers=workers, threads=threads)
    left = cpus_there - workers * threads
    if left <= 0:
        return
    # Ray places a process on one host, which has whole CPUs.
    slots = left * (UNITS // round(each * UNITS))
    assert workers * most <= slots
    # At most one CPU per worker stays unused.
    assert workers * most * each > left - workers
