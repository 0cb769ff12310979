"""`--run mpi_launch PROXY MPIEXEC ARGUMENT…`: mpiexec and this host's own proxy.

Passes mpiexec's output on, because the agent reads the options of the other hosts' proxies from it.
"""

from __future__ import annotations

import subprocess
import sys

from tidewheel_agent.agent_path import shell_code


def run(proxy: str, argv: list[str]) -> int:
    mpiexec = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert mpiexec.stdout is not None
    own: subprocess.Popen[bytes] | None = None
    for line in mpiexec.stdout:
        words = line.decode("utf-8", "replace").split()
        if own is None and words[:1] == ["HYDRA_LAUNCH:"] and words[-2:] == ["--proxy-id", "0"]:
            own = subprocess.Popen([proxy, *words[2:]], stdin=subprocess.DEVNULL)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    code = mpiexec.wait()
    if own is not None:
        own.wait()
    return shell_code(code)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
