"""When a host starts its Ray node again, and when it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tidewheel_agent.strategies.programs.ray_node import run


def program(tmp_path: Path, ups: list[bool], code: int) -> list[str]:
    """A stand-in for ray: its n-th start is up if `ups[n]`; every start ends with `code`."""
    count = tmp_path / "count"
    script = tmp_path / "ray"
    script.write_text(
        "import pathlib, sys\n"
        f"count = pathlib.Path({str(count)!r})\n"
        "n = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(n + 1))\n"
        f"print('Ray runtime started.' if {ups!r}[n] else 'timed out during startup')\n"
        f"sys.exit({code})\n"
    )
    return [sys.executable, str(script)]


def tries(tmp_path: Path) -> int:
    return int((tmp_path / "count").read_text())


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidewheel_agent.strategies.programs.ray_node._PAUSE_SECONDS", 0.01)


def test_a_node_that_never_came_up_is_restarted(tmp_path: Path) -> None:
    assert run(program(tmp_path, [False, False, True], 7), 60) == 7
    assert tries(tmp_path) == 3


def test_a_node_that_was_up_is_not_restarted(tmp_path: Path) -> None:
    assert run(program(tmp_path, [True], 1), 60) == 1
    assert tries(tmp_path) == 1


def test_the_time_to_join_is_limited(tmp_path: Path) -> None:
    assert run(program(tmp_path, [False] * 3, 1), 0) == 1
    assert tries(tmp_path) == 1
