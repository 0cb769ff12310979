"""What the failure says of an installation that did not succeed."""

from __future__ import annotations

from tidewheel_agent.source.requirements import _last_of, _without_noise

PIP = """\
Looking in indexes: https://user@host/simple
Requirement already satisfied: numpy in /opt/venv (2.4.6)
Collecting nothere==9
ERROR: Could not find a version that satisfies nothere==9 (from versions: none)
ERROR: No matching distribution found for nothere==9
Requirement already satisfied: six in /opt/venv (1.17.0)
[notice] A new release of pip is available: 26.0 -> 26.1
"""
UV = """\
Using Python 3.11.7 environment at: .venv
  × No solution found when resolving dependencies:
  ╰─▶ Because nothere was not found in the package registry, we can conclude that …
"""  # noqa: RUF001


PIP_AT_WORK = """Looking in indexes: https://user@example.org/simple
Collecting a
  Downloading a-1-py3-none-any.whl (1.2 MB)
Requirement already satisfied: c in /opt (3)
  Preparing metadata (pyproject.toml): finished with status 'done'
Building wheel for b (pyproject.toml)
  Stored in directory: /root/.cache/pip/wheels/1a
Installing collected packages: a, b
Successfully installed a-1 b-2"""


def test_errors_are_shown_and_no_noise() -> None:
    assert _last_of(PIP.splitlines()) == (
        "pip's errors:\n"
        "ERROR: Could not find a version that satisfies nothere==9 (from versions: none)\n"
        "ERROR: No matching distribution found for nothere==9"
    )
    assert "No solution found" in _last_of(UV.splitlines())
    assert "nothere was not found" in _last_of(UV.splitlines())


def test_the_log_has_what_was_installed_and_what_failed() -> None:
    kept = [
        line for line in PIP_AT_WORK.splitlines() if _without_noise(line.encode(), []) is not None
    ]
    assert kept == ["Building wheel for b (pyproject.toml)", "Successfully installed a-1 b-2"]


def test_without_errors_the_last_lines_are_shown() -> None:
    assert _last_of(["Collecting a", "Building wheel for b", "Killed"]) == (
        "pip's last lines:\nBuilding wheel for b\nKilled"
    )
    assert _last_of(["Requirement already satisfied: six"]) == "pip said nothing."
