"""How the ray recipe divides the cluster's CPUs; no Ray is needed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recipe_modules import load_modules

[cpus] = load_modules("ray", "cpus")
UNITS = 10_000


def test_the_spare_cpus_of_hosts_that_train_prepare_beside_those_of_the_helpers() -> None:
    # One host of 4 that trains on one of them, and a helper of 8.
    assert cpus.left_to_prepare(12, workers=1, threads=1) == (11, 1.0)


def test_hosts_of_one_cpu_train_and_leave_all_preparing_to_the_helper() -> None:
    assert cpus.left_to_prepare(2, workers=1, threads=1) == (1, 1.0)
    assert cpus.left_to_prepare(3, workers=2, threads=1) == (1, 0.5)


def test_where_training_leaves_nothing_the_data_is_prepared_beside_it() -> None:
    assert cpus.left_to_prepare(1, workers=1, threads=1) == (1, 0.0)
    assert cpus.left_to_prepare(3, workers=2, threads=2) == (1, 0.0)


@given(cpus_there=st.integers(1, 2000), workers=st.integers(1, 300), threads=st.integers(1, 16))
def test_no_worker_ever_waits_for_what_another_one_took(
    cpus_there: int, workers: int, threads: int
) -> None:
    most, each = cpus.left_to_prepare(cpus_there, workers=workers, threads=threads)
    left = cpus_there - workers * threads
    if left <= 0:
        return
    # As Ray counts: a process lies on one host, which has whole CPUs.
    places = left * (UNITS // round(each * UNITS))
    assert workers * most <= places
    # And no more than one CPU a worker is left over.
    assert workers * most * each > left - workers
