"""The trial of a gang: torchrun a second time on the same hosts, beside the one that trains.

Ranks and hosts that are lost meanwhile, four minutes:
`pytest -m heavy tests/automatic/test_trial_gang.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from automatic_runs import automatic_host, note, second_processes, steps
from cluster import Cluster, running, wait_until

HOSTS = ("127.0.0.2", "127.0.0.3")
VARIABLES = {
    "TIDEWHEEL_MODEL": "",
    "OMP_NUM_THREADS": "1",
    "TIDEWHEEL_AUTOMATIC_TRIAL_SECONDS": "0.5",
    "TIDEWHEEL_CHECKPOINT_SECONDS": "1",
    "EPOCHS": "400",
    "PAUSE": "0.1",
}
pytestmark = pytest.mark.slow


def make_hosts(folder: Path, program: str, hosts: tuple[str, ...] = HOSTS) -> list[Path]:
    ranks = {"tidewheel_processes_per_host": "1" if len(hosts) > 1 else "2"}
    return [
        automatic_host(folder / host, program, "ddp", host=host, hosts=hosts, hyperparameters=ranks)
        for host in hosts
    ]


def second_ranks(base: Path) -> list[int]:
    return second_processes(base, "LOCAL_RANK=")


def await_trial(cluster: Cluster) -> dict[str, Any]:
    def is_over() -> bool:
        assert all(agent.poll() is None for agent in cluster.agents), cluster.log()
        return "trial" in note(cluster.bases[0])

    wait_until(is_over, 120, "the trial's end")
    return dict(note(cluster.bases[0])["trial"])


def test_ranks_of_one_host_restore_to_the_same_bits(tmp_path: Path) -> None:
    bases = make_hosts(tmp_path, "ddp_script.py", HOSTS[:1])
    with running(bases, **VARIABLES) as cluster:
        trial = await_trial(cluster)
        wait_until(lambda: cluster.progress()["step"] > 0, 60, "a checkpoint")
    assert (trial["result"], trial["reason"]) == ("passed", "")


@pytest.mark.heavy
def test_a_generator_of_one_rank_in_a_closure_is_restored(tmp_path: Path) -> None:
    bases = make_hosts(tmp_path, "ddp_hidden_script.py")
    with running(bases, **VARIABLES, HIDES="generator") as cluster:
        trial = await_trial(cluster)
    assert (trial["result"], trial["reason"]) == ("passed", "")


def test_a_rank_that_cannot_be_restored_is_refused(tmp_path: Path) -> None:
    bases = make_hosts(tmp_path, "ddp_hidden_script.py")
    with running(bases, **VARIABLES, HIDES="tensor") as cluster:
        trial = await_trial(cluster)
        said = "no automatic checkpoints from step"
        for host in (0, 1):
            wait_until(lambda h=host: said in cluster.log(h), 30, said)  # type: ignore[misc]
            assert second_ranks(bases[host]) == []
    assert trial["result"] == "refused", trial
    assert steps(bases[0]) == steps(bases[1]) == []


@pytest.mark.heavy
@pytest.mark.parametrize("lost", [0, 1])
def test_a_host_lost_during_the_trial_ends_it_everywhere(lost: int, tmp_path: Path) -> None:
    bases = make_hosts(tmp_path, "ddp_script.py")
    with running(bases, **VARIABLES) as cluster:
        wait_until(lambda: second_ranks(bases[1 - lost]) != [], 60, "the second process")
        cluster.lose_host(lost)
        assert cluster.agents[1 - lost].wait(60) == 143
        assert second_ranks(bases[1 - lost]) == []
    assert "trial" not in note(bases[0])
