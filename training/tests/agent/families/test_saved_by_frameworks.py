"""What frameworks save, by their own code: recognised after each save, and at each moment of one.

Each script runs three times. It is killed in a save between two operations on files, killed again
inside a file, and then trains to its end. `pytest -m heavy tests/agent/families -k NAME` runs one.
"""

from __future__ import annotations

import hashlib
import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cases import CASES, Case
from heavy import python_with
from hosts import TRAINING
from standstill import Standstill, Still
from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.checkpoints.frameworks import look_before_start
from tidewheel_agent.checkpoints.kept.repair import repair, step_back
from tidewheel_agent.checkpoints.log_progress import LogProgress
from tidewheel_agent.checkpoints.note import read_note
from tidewheel_agent.checkpoints.progress import ProgressReporter
from tidewheel_agent.checkpoints.quiet_files import QUIET_SECONDS

SCRIPTS = Path(__file__).parent / "scripts"
MOST_LOOKS = 60
"""In one save. The kernel asks of every file, and some frameworks write hundreds."""
SILENCE_SECONDS = 240
SETTLED_SECONDS = 1.1
KNOWS_NO_STEP = -1
"""A framework that goes on from what it saved, and counts from 0 again."""

BETWEEN, INSIDE = "between two operations of the third save", "inside a file, after a save"

SCRIPTS_SEE = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "YOLO_OFFLINE": "true",
    "CUDA_VISIBLE_DEVICES": "",
    "RAY_raylet_start_wait_time_s": "180",
    "RAY_agent_register_timeout_ms": "180000",
    # Lightning loads MPI, which belongs to the packages of .venv.
    "LD_LIBRARY_PATH": str(TRAINING.parent / ".venv" / "lib"),
}

Content = Mapping[str, str]
"""The hash of each file of a checkpoint."""
Save = tuple[int, Content]
"""Its step, too."""


@dataclass
class Watch:
    """One attempt: the agent's reporter, and what it has said."""

    folder: Path
    case: Case
    kill: str
    whole: list[Save]
    """What all attempts printed."""
    reporter: ProgressReporter
    looks: list[tuple[str, Content]] = field(default_factory=list)
    """In the save that is under way: before which operation, and what was taken for whole."""
    resumed_at: int | None = None
    saves: int = 0
    operations: int = 0
    """In the save that is under way."""
    operations_before: int = 0

    def heed(self, process: Standstill, still: Still) -> None:
        word, _, step = still.paths[0][1:].partition("/")
        names = [p.removeprefix(f"{self.folder}/") for p in still.paths]
        if word == "resumed":
            self.resumed_at = int(step)
        elif word == "saved":
            self._saved(int(step))
            if self.kill == INSIDE:
                limit_files(still.pid, self.folder, self.whole[-1])
        elif names != [*still.paths]:
            self.operations += 1
            if self.operations <= MOST_LOOKS:
                self._look(" ".join(names))
            is_third = self.kill == BETWEEN and self.saves == 2
            if is_third and self.operations > self.operations_before // 2:
                process.kill()

    def _look(self, before: str) -> None:
        """As the next attempt would, were this one killed now."""
        noted = read_note(self.folder).checkpoint
        found = look_before_start(self.folder, None)[0].find_last(noted)
        if found is not None and not found.is_weak:
            self.looks.append((before, content_of(self.folder, found)))
        elif found is None and self.whole and not self.case.is_between_saves:
            last = self.whole[-1][1]
            is_there = all(hash_of(self.folder / name) == sha for name, sha in last.items())
            assert not is_there, f"before {before}: nothing is taken, and all of {last} is there"

    def _saved(self, step: int) -> None:
        newest = self.reporter.check()
        problems = [found.problem for found in look_before_start(self.folder, None)[0].damaged]
        assert newest is not None, f"step {step} is not recognised: {problems}"
        if self.case.unit == "saves":
            step = (self.whole[-1][0] if self.whole else 0) + 1
        assert (newest.step, newest.unit) == (step, self.case.unit), (newest, problems)
        self.whole.append((step, content_of(self.folder, newest)))
        contents = [content for _, content in self.whole]
        for before, seen in self.looks:
            assert seen in contents or self.case.is_between_saves, f"before {before}: took {seen}"
        self.looks.clear()
        self.operations_before, self.operations = self.operations, 0
        self.saves += 1
        if not any(character.isdigit() for character in newest.name):
            time.sleep(SETTLED_SECONDS)  # The copy of what is written over waits so long.
            self.reporter.check()


def hash_of(path: Path) -> str:
    try:
        # LightGBM's Python adds a line to what its C++ has written, which is whole by then.
        content = path.read_bytes().partition(b"\npandas_categorical:")[0]
        return hashlib.sha256(content).hexdigest()[:12]
    except OSError:
        return ""


def content_of(folder: Path, checkpoint: Checkpoint) -> Content:
    return {name: hash_of(folder / name) for name in checkpoint.files}


def limit_files(pid: int, folder: Path, save: Save) -> None:
    """The kernel kills it in a file that is longer than half of the checkpoint's longest."""
    half = max((folder / name).stat().st_size for name in save[1]) // 2
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (half, half))


def steps_to_resume(watch: Watch) -> set[int]:
    """From which the script may go on; 0 for the first."""
    found = watch.reporter.newest
    if found is None:
        assert not watch.whole, "what was whole is gone"
        return {0}
    content = content_of(watch.folder, found)
    if content in [known for _, known in watch.whole]:
        return {found.step, KNOWS_NO_STEP}
    # A save that was whole before the script reported it proves itself by resuming. The framework's
    # pointer to it comes later (Lightning's `last.ckpt`), and may still lead to the one before.
    last = watch.whole[-1][0] if watch.whole else 0
    assert found.step > last or watch.case.is_between_saves or found.is_weak, found
    watch.whole.append((found.step, content))
    return {found.step, last, KNOWS_NO_STEP}


def attempt(
    python: Path, folder: Path, case: Case, whole: list[Save], kill: str, *, steps_back: bool = True
) -> Watch:
    """`steps_back`: the agent does so once, where a script could not load what is there."""
    repair(folder, None, leads=True)
    reporter = ProgressReporter(
        folder,
        leader=True,
        log_progress=LogProgress(),
        now=lambda: time.time() + QUIET_SECONDS,
        monotonic=lambda: 0.0,
    )
    watch = Watch(folder, case, kill, whole, reporter)
    expected = steps_to_resume(watch)
    reporter.keep_before_start()
    reporter.script_started(time.time(), dict)
    path = f"{SCRIPTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "FAMILY_FOLDER": str(folder), "PYTHONPATH": path, **SCRIPTS_SEE}
    command = [str(python), str(SCRIPTS / f"{case.script}_script.py"), case.argument]
    process = Standstill(command, environment)
    try:
        for still in process.stops(SILENCE_SECONDS):
            watch.heed(process, still)
        code = process.process.returncode
        if code > 0 and watch.saves == 0 and steps_back and step_back(folder, None) is not None:
            return attempt(python, folder, case, whole, kill, steps_back=False)
        assert (code != 0) == bool(kill), f"{kill}: {code}"
        assert watch.resumed_at in expected
        last = None if kill else reporter.check()
        assert kill or (last is not None and last.step >= whole[-1][0]), f"at the end: {last}"
    except BaseException:
        print(process.output[-5000:])
        raise
    finally:
        process.close()
    return watch


@pytest.mark.heavy
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_framework_saves_is_taken_when_whole(tmp_path: Path, case: Case) -> None:
    python = python_with(case.packages)
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    whole: list[Save] = []
    started = time.monotonic()
    attempts = [attempt(python, folder, case, whole, kill) for kill in (BETWEEN, INSIDE, "")]
    saves, seconds = sum(a.saves for a in attempts), time.monotonic() - started
    print(f"| {case.name} | {' '.join(case.packages)} | {saves} | 2 | 2 | {seconds:.0f} |")
