"""Who hears SIGTERM."""

from __future__ import annotations

from tidewheel_agent.processes import Process, listeners

TORCHRUN = Process(10, 1, ("python", "-m", "torch.distributed.run", "train.py"), True)


def rank(pid: int, *, parent: int = 10, catches: bool = True) -> Process:
    return Process(pid, parent, ("python", "-u", "train.py"), catches)


def test_ranks_hear_it_and_their_launcher_does_not() -> None:
    assert listeners([TORCHRUN, rank(11), rank(12)], launcher=10) == [11, 12]


def test_a_script_without_a_handler_is_not_killed_by_it() -> None:
    assert listeners([rank(11, parent=1, catches=False)], launcher=None) == []


def test_loader_workers_of_a_listening_rank_do_not_hear_it() -> None:
    forked = rank(20, parent=11)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    served = Process(22, 21, ("python", "-c", "from multiprocessing.forkserver import …"), True)
    assert listeners([TORCHRUN, rank(11), forked, spawned, served], launcher=10) == [11]


def test_spawned_ranks_of_a_parent_without_a_handler_hear_it() -> None:
    parent = rank(11, parent=1, catches=False)
    spawned = Process(21, 11, ("python", "-c", "from multiprocessing.spawn import …"), True)
    assert listeners([parent, spawned], launcher=None) == [21]


def test_a_program_started_by_a_shell_hears_it() -> None:
    shell = Process(11, 1, ("/bin/sh", "run.sh"), False)
    assert listeners([shell, rank(12, parent=11)], launcher=None) == [12]


def test_a_program_started_by_a_listening_script_hears_it_too() -> None:
    inner = Process(12, 11, ("python", "inner.py"), True)
    assert listeners([rank(11, parent=1), inner], launcher=None) == [11, 12]
