"""`--run with_services JSON`: a program beside the services that it needs on this host.

The JSON holds `services` and `main`, whose programs are `{"argv": [...], "environment": {...}}`.
Ends with the main program's exit code, or fails when a service ends before it. Without a main
program the services run until one of them ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TypedDict

from tidewheel_agent.agent_path import SERVICE_VARIABLE, shell_code

_TICK_SECONDS = 0.1


class Program(TypedDict):
    argv: list[str]
    environment: dict[str, str]


def start(program: Program, *, is_service: bool) -> subprocess.Popen[bytes]:
    mark = {SERVICE_VARIABLE: "1"} if is_service else {}
    return subprocess.Popen(
        program["argv"],
        env={**os.environ, **program["environment"], **mark},
        stdin=subprocess.DEVNULL,
    )


def run(services: list[Program], main: Program | None) -> int:
    running = [start(service, is_service=True) for service in services]
    script = start(main, is_service=False) if main else None
    try:
        while True:
            if script is not None and script.poll() is not None:
                return shell_code(script.returncode)
            for service in running:
                if service.poll() is not None:
                    return _report_service_end(service)
            time.sleep(_TICK_SECONDS)
    finally:
        for process in [*running, *([script] if script else [])]:
            if process.poll() is None:
                process.kill()


def _report_service_end(service: subprocess.Popen[bytes]) -> int:
    code = shell_code(service.returncode)
    command = " ".join(map(str, service.args)) if isinstance(service.args, list) else ""
    print(f"a service of the script ended with exit code {code}: {command[:200]}", flush=True)
    return code or 1


if __name__ == "__main__":
    programs = json.loads(sys.argv[1])
    sys.exit(run(programs["services"], programs["main"]))
