"""A resumed script that skips batches: nothing loads them, and the others are the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from hooked_programs import HOOKS
from warm_python import warm_torch

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parent / "scripts"
WHOLE, REST = 15, 5
"""Batches of the script's epoch; those after the skipped ones, and the epoch's first."""


def run(
    folder: Path, case: str, script: str = "skips.py", **more: str
) -> subprocess.CompletedProcess[str]:
    for name in ("cells", "ended", "checkpoints"):
        (folder / name).mkdir()
    (folder / "checkpoints" / "state").write_text("11")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(HOOKS),
        "TIDEWHEEL_INSTRUMENT_DIR": str(folder / "cells"),
        "TIDEWHEEL_SKIP_UNREAD": "1",
        "TIDEWHEEL_ENDED_DIR": str(folder / "ended"),
        "TIDEWHEEL_CHECKPOINT_DIR": str(folder / "checkpoints"),
        **more,
    }
    return warm_torch().run(str(SCRIPTS / script), case, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, int]]:
    done = run(tmp_path_factory.mktemp("loops"), "all")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: (is_same, loaded) for name, is_same, loaded in rows}


@pytest.mark.parametrize(
    "name",
    [
        "continue",
        "continue in workers",
        "islice",
        "islice in three workers",
        "next",
        "next in workers that stay",
        "dictionary",
        "dictionary of a class",
    ],
)
def test_what_a_loop_skips_is_not_loaded(loops: dict[str, tuple[bool, int]], name: str) -> None:
    assert loops[name] == (True, REST)


@pytest.mark.parametrize(
    "name",
    [
        "a look at each",
        "list",
        "list in workers",
        "draws",
        "draws in workers",
        "text",
        "after a step",
    ],
)
def test_what_cannot_be_skipped_is_loaded(loops: dict[str, tuple[bool, int]], name: str) -> None:
    assert loops[name] == (True, WHOLE)


def test_a_late_draw_is_an_error_of_the_hooks(tmp_path: Path) -> None:
    done = run(tmp_path, "late")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "NotTheSameError" in lines[-1]
    # By that the agent starts the script again without the hooks.
    assert "tidewheel_instrument/" in [line for line in lines if line.startswith("  File")][-1]


@pytest.mark.parametrize("kind", ["module", "function", "method"])
def test_a_compiled_model_stays_whole(tmp_path: Path, kind: str) -> None:
    done = run(tmp_path, kind, "compiled_skips.py")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize(
    "more", [{"TIDEWHEEL_SKIP_UNREAD": ""}, {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}]
)
def test_undeclared_or_on_several_hosts_all_is_loaded(tmp_path: Path, more: dict[str, str]) -> None:
    done = run(tmp_path, "all", **more)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {loaded for name, _, loaded in rows if name in ("continue", "islice", "next")} == {WHOLE}
