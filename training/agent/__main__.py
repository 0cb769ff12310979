"""Entry point: `python3 tidewheel.pyz` runs the agent in front of the user's script.

functions/aws/lambda/agent.ts packs this folder into one file for jobs, a zip that Python runs.
Programs that the agent starts beside the script are in it as well: `tidewheel.pyz --run NAME …`.
"""

import os
import runpy
import sys

# The contract, which scripts import as well.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "for_scripts"))
# The channel that the file came in may be shared or read-only.
sys.dont_write_bytecode = True

_PROGRAMS = (
    *("data_server", "mpi_launch", "mpi_rank", "ray_drain", "ray_launch", "ray_node"),
    "with_services",
)
"""The modules of strategies/programs/."""


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["--watchdog"]:
        from tidewheel_agent.supervision.watchdog import watch

        return watch(arguments[1], int(arguments[2]))
    if arguments[:1] == ["--search"]:
        from tidewheel_agent.declared_pattern import answer_searches

        return answer_searches(arguments[1], float(arguments[2]))
    if arguments[:1] == ["--host"]:
        from tidewheel_host.host import main as host_main

        return host_main()
    if arguments[:1] == ["--run"] and arguments[1] in _PROGRAMS:
        sys.argv = arguments[1:]
        module = f"tidewheel_agent.strategies.programs.{arguments[1]}"
        runpy.run_module(module, run_name="__main__")
        return 0
    from tidewheel_agent.main import main

    return main()


if __name__ == "__main__":
    sys.exit(_run(sys.argv[1:]))
