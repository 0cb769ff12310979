"""`--run mpi_launch PROXY MPIEXEC ARGUMENT…`: starts mpiexec, and this host's proxy for it.

mpiexec's lines about proxies go to standard output, where the agent reads them for the others.
"""

from __future__ import annotations

import subprocess
import sys


def run(proxy: str, argv: list[str]) -> int:
    starter = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert starter.stdout is not None
    own: subprocess.Popen[bytes] | None = None
    for line in starter.stdout:
        words = line.decode("utf-8", "replace").split()
        if own is None and words[:1] == ["HYDRA_LAUNCH:"] and words[-2:] == ["--proxy-id", "0"]:
            own = subprocess.Popen([proxy, *words[2:]], stdin=subprocess.DEVNULL)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    code = starter.wait()
    if own is not None:
        own.wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
