"""A declared pattern that takes too long ends its own process, not the agent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tidewheel_agent.agent_path import OWN_CHILDREN
from tidewheel_agent.checkpoints.declared import position
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.configuration.settings import CheckpointRules
from tidewheel_agent.declared_pattern import DeclaredPattern
from tidewheel_agent.series.log_lines import LogLines
from tidewheel_agent.supervision.process_tree import script_processes

LIMIT = 0.1
LINE = "a" * 400
SIDE_BY_SIDE = r"(?P<step>\d)?" + r"\S*\s*" * 7 + "!"


def in_progress(pattern: DeclaredPattern, text: str) -> None:
    LogProgress(pattern).read_line(text)


def in_series(pattern: DeclaredPattern, text: str) -> None:
    LogLines(pattern).read(text)


def in_names(pattern: DeclaredPattern, text: str) -> None:
    position(text, CheckpointRules(Path(), pattern="*", step=pattern))


def test_finds_what_re_finds() -> None:
    pattern = DeclaredPattern("pattern", r"a(\d)?(?P<step>\d)")
    assert pattern.search("xa5") == {"step": "5"}
    assert pattern.search("zß日\n\ud800") == {}
    assert DeclaredPattern("pattern", r"e(\d)?-").search("x/e-") == {"": None}


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        (SIDE_BY_SIDE, in_progress),
        (SIDE_BY_SIDE, in_series),
        (SIDE_BY_SIDE, in_names),
        (r".*a.*a.*a.*a.*a(?P<step>\d+)", in_progress),
        (r"(?P<step>\d)?(?:a+b*)+!", in_progress),
        (r"(?:a|aa)*(?P<step>\d+)!", in_progress),
    ],
)
def test_a_slow_pattern_does_not_hold_up_the_agent(
    expression: str,
    read: Callable[[DeclaredPattern, str], None],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    pattern = DeclaredPattern("training.progress.pattern", expression, LIMIT)
    runs_beside = threading.Event()
    threading.Timer(LIMIT / 2, runs_beside.set).start()
    read(pattern, LINE)
    assert runs_beside.is_set()
    read(pattern, LINE + "b")
    said = capfdbinary.readouterr().out.decode()
    assert said.count("training.progress.pattern finds nothing more: a search took over 0.1 s") == 1


def test_many_slow_searches_are_bounded_together() -> None:
    pattern = DeclaredPattern("pattern", r"\S*\s*\S*\s*\S*!", LIMIT)
    assert pattern.search("!") == {"": "!"}
    began = time.monotonic()
    for number in range(1_000):
        pattern.search(f"{number} {LINE}")
    assert time.monotonic() - began < 10
    assert pattern.search("still !") == {}


def test_a_fast_pattern_is_searched_without_end() -> None:
    pattern = DeclaredPattern("pattern", r"step (?P<step>\d+) loss (?P<loss>\S+)", LIMIT)
    for number in range(3_000):
        found = pattern.search(f"step {number} loss 0.5")
        assert found == {"step": str(number), "loss": "0.5"}


def test_its_process_is_no_part_of_the_script() -> None:
    DeclaredPattern("pattern", "a")
    below = {each.pid for each in script_processes("no token", [os.getpid()])}
    assert OWN_CHILDREN and below.isdisjoint(OWN_CHILDREN)
