"""`--run mpi_rank PIN PROGRAM…`: the program, as one rank of an MPI job.

Says in `TIDEWHEEL_RANK`, `TIDEWHEEL_LOCAL_RANK` and `TIDEWHEEL_LOCAL_RANKS` which one it is, for
programs that ask before they start MPI. With PIN = 1 the rank sees one GPU, that of its local rank
(`CUDA_VISIBLE_DEVICES`). Becomes the program, so that it is signalled as it would be without this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def rank_environment(environment: Mapping[str, str], *, pins: bool) -> dict[str, str]:
    """What the program gets beside what it has; from MPICH's own variables."""
    local = environment.get("MPI_LOCALRANKID", "0")
    told = {
        "TIDEWHEEL_RANK": environment.get("PMI_RANK", "0"),
        "TIDEWHEEL_LOCAL_RANK": local,
        "TIDEWHEEL_LOCAL_RANKS": environment.get("MPI_LOCALNRANKS", "1"),
    }
    return {**told, "CUDA_VISIBLE_DEVICES": _own_gpu(environment, int(local))} if pins else told


def _own_gpu(environment: Mapping[str, str], local: int) -> str:
    """One of the devices that may be seen, in turn if there are more ranks than devices."""
    visible = environment.get("CUDA_VISIBLE_DEVICES", "")
    if visible:
        devices = visible.split(",")
        return devices[local % len(devices)]
    count = int(environment.get("SM_NUM_GPUS") or 0)
    return str(local % count if count > 0 else local)


def main() -> None:
    pin, *argv = sys.argv[1:]
    # mpiexec sends all ranks to the folder that it was started in.
    if os.path.isdir(own := os.environ.get("SM_MODULE_DIR", "")):
        os.chdir(own)
    os.environ.update(rank_environment(os.environ, pins=pin == "1"))
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
