"""Runs a program beside the services that it needs on this host.

Started by the agent as a program of its own, with one argument: JSON with `services` and `main`,
each of them `{"argv": [...], "environment": {...}}`. Ends with the main program's exit code; a
service that ends earlier fails the whole. Without a main program the services run until one ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TypedDict

_TICK_SECONDS = 0.1
_SERVICE_VARIABLE = "TIDEWHEEL_SERVICE"


class Program(TypedDict):
    argv: list[str]
    environment: dict[str, str]


def start(program: Program, *, is_service: bool) -> subprocess.Popen[bytes]:
    mark = {_SERVICE_VARIABLE: "1"} if is_service else {}
    return subprocess.Popen(
        program["argv"],
        env={**os.environ, **program["environment"], **mark},
        stdin=subprocess.DEVNULL,
    )


def run(services: list[Program], main: Program | None) -> int:
    started = [start(service, is_service=True) for service in services]
    first = start(main, is_service=False) if main else None
    try:
        while True:
            if first is not None and first.poll() is not None:
                return shell_code(first.returncode)
            for service in started:
                if service.poll() is not None:
                    return _service_ended(service)
            time.sleep(_TICK_SECONDS)
    finally:
        for process in [*started, *([first] if first else [])]:
            if process.poll() is None:
                process.kill()


def _service_ended(service: subprocess.Popen[bytes]) -> int:
    code = shell_code(service.returncode)
    command = " ".join(map(str, service.args)) if isinstance(service.args, list) else ""
    print(f"a service of the script ended with exit code {code}: {command[:200]}", flush=True)
    return code or 1


def shell_code(code: int) -> int:
    """128 + n for signal n."""
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    sys.exit(run(told["services"], told["main"]))
