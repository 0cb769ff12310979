"""A real mpiexec over several hosts of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster import running
from sagemaker_host import make_hosts

HOSTS = ("127.0.0.2", "127.0.0.3")
pytestmark = pytest.mark.slow

SCRIPT = """
import json, os, sys
from mpi4py import MPI
ranks = MPI.COMM_WORLD
host, local = os.environ["SM_CURRENT_HOST"], int(os.environ["TIDEWHEEL_LOCAL_RANK"])
everyone = ranks.gather((host, local, ranks.rank, os.getcwd()))
if ranks.rank == 0:
    print("ranks:", json.dumps(everyone), flush=True)
ranks.Barrier()
"""


def test_each_rank_has_its_own_hosts_variables_and_folder(
    tmp_path: Path,
) -> None:
    pytest.importorskip("mpi4py")
    given = {"tidewheel_strategy": "mpi", "tidewheel_processes_per_host": 2}
    bases = make_hosts(tmp_path, HOSTS, SCRIPT, given)
    with running(bases) as cluster:
        assert cluster.wait(60) == [0, 0], cluster.log()
        (line,) = (one for one in cluster.log().splitlines() if one.startswith("ranks: "))
    assert json.loads(line.removeprefix("ranks: ")) == [
        [host, local, index * 2 + local, str(bases[index] / "code")]
        for index, host in enumerate(HOSTS)
        for local in range(2)
    ]


def test_a_failing_rank_ends_every_host_with_its_code(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    script = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\nraise SystemExit(7)\n"
    bases = make_hosts(tmp_path, HOSTS, script, {"tidewheel_strategy": "mpi"})
    with running(bases) as cluster:
        assert cluster.wait(60) == [7, 7], cluster.log(1)
