"""`--run mpi_rank PIN`: the command in TIDEWHEEL_RANK_COMMAND as one rank of an MPI job.

Sets `TIDEWHEEL_RANK`, `TIDEWHEEL_LOCAL_RANK` and `TIDEWHEEL_LOCAL_RANKS` for programs that need
their rank before they start MPI. With PIN = 1 the rank sees one GPU, that of its local rank
(`CUDA_VISIBLE_DEVICES`). Replaces itself by the program, which so gets signals directly. The
command, a JSON list, comes from this rank's own host: mpiexec would start the first host's paths
everywhere, and reads an argument such as `:` itself.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

COMMAND_VARIABLE = "TIDEWHEEL_RANK_COMMAND"


def rank_environment(environment: Mapping[str, str], *, pins: bool) -> dict[str, str]:
    """The variables to add, derived from MPICH's own."""
    local = environment.get("MPI_LOCALRANKID", "0")
    ranks = {
        "TIDEWHEEL_RANK": environment.get("PMI_RANK", "0"),
        "TIDEWHEEL_LOCAL_RANK": local,
        "TIDEWHEEL_LOCAL_RANKS": environment.get("MPI_LOCALNRANKS", "1"),
    }
    return {**ranks, "CUDA_VISIBLE_DEVICES": _own_gpu(environment, int(local))} if pins else ranks


def _own_gpu(environment: Mapping[str, str], local: int) -> str:
    """One of the visible devices; with more ranks than devices, ranks share them in turn."""
    visible = environment.get("CUDA_VISIBLE_DEVICES", "")
    if visible:
        devices = visible.split(",")
        return devices[local % len(devices)]
    count = int(environment.get("SM_NUM_GPUS") or 0)
    return str(local % count if count > 0 else local)


def main() -> None:
    (pin,) = sys.argv[1:]
    argv: list[str] = json.loads(os.environ.pop(COMMAND_VARIABLE))
    # mpiexec starts all ranks in its own folder, which differs from host to host.
    if os.path.isdir(own := os.environ.get("TIDEWHEEL_WORKING_DIR", "")):
        os.chdir(own)
    os.environ.update(rank_environment(os.environ, pins=pin == "1"))
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main()
