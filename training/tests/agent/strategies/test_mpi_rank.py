"""The variables that a rank of an MPI job gets before it starts."""

from __future__ import annotations

import json
import subprocess
import sys

from hosts import agent_file
from tidewheel_agent.strategies.programs.mpi_rank import rank_environment

SECOND_OF_FOUR = {"PMI_RANK": "5", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}


def gpu_of(local: int, **more: str) -> str:
    environment = {"MPI_LOCALRANKID": str(local), **more}
    return rank_environment(environment, pins=True)["CUDA_VISIBLE_DEVICES"]


def test_a_rank_knows_its_global_and_local_number() -> None:
    assert rank_environment(SECOND_OF_FOUR, pins=False) == {
        "TIDEWHEEL_RANK": "5",
        "TIDEWHEEL_LOCAL_RANK": "1",
        "TIDEWHEEL_LOCAL_RANKS": "4",
    }


def test_a_pinned_rank_sees_one_gpu() -> None:
    assert [gpu_of(n, SM_NUM_GPUS="4") for n in range(4)] == ["0", "1", "2", "3"]


def test_more_ranks_than_gpus_share_them_in_turn() -> None:
    assert [gpu_of(n, SM_NUM_GPUS="2") for n in range(4)] == ["0", "1", "0", "1"]


def test_a_pinned_rank_gets_a_visible_device() -> None:
    assert gpu_of(1, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b", SM_NUM_GPUS="8") == "GPU-b"


def test_the_program_gets_its_arguments_unchanged() -> None:
    code = "import os, sys; print(os.environ['TIDEWHEEL_LOCAL_RANK'], os.getppid(), sys.argv[1:])"
    program = [sys.executable, "-c", code, "a b", "$(id)"]
    started = subprocess.Popen(
        [sys.executable, str(agent_file()), "--run", "mpi_rank", "0"],
        env={**SECOND_OF_FOUR, "TIDEWHEEL_RANK_COMMAND": json.dumps(program)},
        stdout=subprocess.PIPE,
        text=True,
    )
    output, _ = started.communicate(timeout=30)
    local, _, rest = output.split(" ", 2)
    assert local == "1"
    assert rest.strip() == "['a b', '$(id)']"
