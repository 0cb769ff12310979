"""Agents of several hosts conduct one trial: real connections, and shells in torchrun's place."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts import free_ports
from tidewheel_agent.agent_path import AUTOMATIC
from tidewheel_agent.automatic import trial as trial_module
from tidewheel_agent.automatic.scratch import Scratch
from tidewheel_agent.automatic.second_process import SecondProcess, TrialCommand, gpu_memory_problem
from tidewheel_agent.automatic.trial import Trial, TrialElsewhere
from tidewheel_agent.gang.gang import Gang
from tidewheel_agent.supervision.script import Script

HOSTS = ("127.0.0.2", "127.0.0.3")
PASSES = {"state": {"w": "1"}}
DIFFERS = {"state": {"w": "2"}}
REFUSED = {"reason": "it took another path", "untried": False}
LOST = {"reason": "RuntimeError: Connection closed by peer", "untried": True}


def outcome(document: dict[str, Any], rank: int) -> str:
    return f"echo '{json.dumps(document)}' > second/outcome-{rank}.json"


class Host:
    """One rank of the training, which has saved for the trial, and its agent's part."""

    def __init__(self, base: Path, rank: int, command: str, gang: Gang) -> None:
        scratch = Scratch(base / "second", ())
        scratch.folder.mkdir(parents=True)
        after = {"step": 7, "state": {"w": "1"}, "written": [], "replicated": "x"}
        (base / f"after-{rank}.json").write_text(json.dumps(after))
        environment = {**os.environ, "PYTHONPATH": str(AUTOMATIC)}
        second = SecondProcess(
            base,
            TrialCommand(
                lambda _port: ["sh", "-c", command],
                environment,
                base,
                scratch,
                str(base),
                range(rank, rank + 1),
            ),
        )
        self.base, self.gang = base, gang
        (base / "notes").mkdir()
        self.trial = (
            Trial(base, second, base / "notes", 1, HOSTS, gang)
            if rank == 0
            else TrialElsewhere(second, gang)
        )
        self.training = Script(["sleep", "60"], environment={}, directory=base, on_line=print)


@pytest.fixture
def gangs() -> Iterator[list[Gang]]:
    port = free_ports(1)
    made = [
        Gang("job", HOSTS, host, HOSTS[0], port=port, silence_seconds=30, on_stop=print)
        for host in HOSTS
    ]
    yield made
    for gang in made:
        gang.close()


def verdict(folder: Path, gangs: list[Gang], *commands: str) -> tuple[str, str]:
    """Of hosts with these commands; a host without one stays silent."""
    made = [
        Host(folder / str(rank), rank, command, gangs[rank])
        for rank, command in enumerate(commands)
    ]
    for host in made:
        host.gang.start()
    try:
        deadline = time.monotonic() + 150
        while not all(host.trial.is_over for host in made):
            assert time.monotonic() < deadline
            for host in made:
                host.trial.check(host.training)
                assert host.training.poll() is None
            time.sleep(0.02)
    finally:
        for host in made:
            host.trial.close()
            host.training.kill()
    found = json.loads((folder / "0" / "verdict.json").read_text())
    return found["result"], found["reason"]


def test_hosts_that_all_restore_pass(gangs: list[Gang], tmp_path: Path) -> None:
    assert verdict(tmp_path, gangs, outcome(PASSES, 0), outcome(PASSES, 1)) == ("passed", "")


def test_other_values_of_one_rank_are_refused(gangs: list[Gang], tmp_path: Path) -> None:
    found = verdict(tmp_path, gangs, outcome(PASSES, 0), outcome(DIFFERS, 1))
    assert found == ("refused", "restored, it continues with other values in w (rank 1)")


def test_two_restores_that_differ_tell_of_the_script(gangs: list[Gang], tmp_path: Path) -> None:
    again = f"if [ -e again ]; then {outcome(PASSES, 1)}; else {outcome(DIFFERS, 1)}; fi"
    result, reason = verdict(tmp_path, gangs, outcome(PASSES, 0), f"{again}; touch again")
    assert (result, reason.split(", ")[1]) == (
        "passed",
        "so the script itself is not deterministic",
    )


def test_the_rank_that_knows_the_reason_is_heard(gangs: list[Gang], tmp_path: Path) -> None:
    found = verdict(tmp_path, gangs, outcome(LOST, 0), f"sleep 1; {outcome(REFUSED, 1)}")
    assert found == ("refused", "it took another path")


def test_a_killed_rank_leaves_the_script_untried(gangs: list[Gang], tmp_path: Path) -> None:
    found = verdict(tmp_path, gangs, "sleep 300", "kill -KILL $$")
    assert found[0] == "untried"
    assert found[1].startswith("the second process ended with exit code 137")


def test_a_silent_host_leaves_the_script_untried(
    gangs: list[Gang], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_module, "_OTHERS_SECONDS", 0.5)
    found = verdict(tmp_path, gangs, outcome(PASSES, 0))
    assert found == ("untried", f"host {HOSTS[1]} took no part in it in time")


def test_a_full_gpu_has_no_second_process() -> None:
    gibibyte = 1 << 30
    assert gpu_memory_problem([(10 * gibibyte, 40 * gibibyte)]) is None
    problem = gpu_memory_problem([(10 * gibibyte, 40 * gibibyte), (30 * gibibyte, 40 * gibibyte)])
    assert problem is not None
    assert "10240 MiB of a GPU's memory are free" in problem
