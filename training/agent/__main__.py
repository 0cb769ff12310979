"""Entry point: `python3 tidewheel.pyz` runs the agent in front of the user's script.

Jobs get this folder as one file, a zip that Python runs (functions/aws/lambda/agent.ts packs it). What the
agent starts beside the script is a part of the same file: `tidewheel.pyz --run NAME ARGUMENT…`.
"""

import runpy
import sys

# The channel this code came in may be shared or read-only.
sys.dont_write_bytecode = True

_PROGRAMS = ("data_server", "mpi_launch", "mpi_rank", "ray_launch", "ray_node", "several")


def _run(told: list[str]) -> int:
    if told[:1] == ["--watchdog"]:
        from tidewheel_agent.supervision.watchdog import watch

        return watch(told[1], int(told[2]))
    if told[:1] == ["--host"]:
        from tidewheel_host.host import main as host_main

        return host_main()
    if told[:1] == ["--run"] and told[1] in _PROGRAMS:
        sys.argv = told[1:]
        runpy.run_module(f"tidewheel_agent.strategies.programs.{told[1]}", run_name="__main__")
        return 0
    from tidewheel_agent.main import main

    return main()


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
