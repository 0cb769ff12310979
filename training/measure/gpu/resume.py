"""Kills CUDA scripts under `training.checkpoint: automatic` at seeded moments, and resumes them.

Each script is trained twice undisturbed. Then it is killed with -9, half of the times right after
a save that was requested, as after a warning, and started again. At the end its weights are
compared with the undisturbed ones, bit for bit. Beside it the agent trains it once, with its trial.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hosts import CHECKPOINTS, ONE_GPU, TRAINING, Attempt, JobOnThisMachine

SCRIPTS = Path(__file__).parent / "scripts"
NAMES = (
    "scaled",
    "language",
    "prefetched",
    "masked",
    "recurrent",
    "recurrent_plain",
    "recurrent_native",
    "compiled",
    "graphed",
)
REFUSED = {"recurrent": "cuDNN keeps the random numbers", "graphed": "captures a CUDA graph"}
"""On a GPU, by the reason. Equal, too: a start without a checkpoint trains from its first step."""
_AGENT = TRAINING / "agent"
_LIMIT_SECONDS = 90.0
_TRIAL = re.compile(r"trial of automatic checkpoints at step \d+, [^:]*: (.*)")
_STOPPED = re.compile(r"no automatic checkpoints from step \d+ on: (.*)")
_REFUSED = re.compile(r"cannot resume this script: (.*)")


@dataclass
class Outcome:
    """`trial`: the agent's verdict. `resumes`: starts that restored a checkpoint."""

    script: str
    is_as_expected: bool = False
    is_deterministic: bool = False
    kills: int = 0
    resumes: int = 0
    is_equal: bool | None = None
    reason: str = ""
    first_difference: str = ""
    """The first line with a step that differs from the undisturbed one."""
    trial: str = ""
    gpu_points: list[object] = field(default_factory=list)


def measure(
    names: Sequence[str], root: Path, device: str, kills: int, seed: int
) -> list[dict[str, object]]:
    with ThreadPoolExecutor(2 * len(names)) as threads:
        rows = [threads.submit(_disturb, name, root / name, device, kills, seed) for name in names]
        trials = [threads.submit(_try, name, root / f"{name}-trial", device) for name in names]
        found = []
        for row, tried in zip(rows, trials, strict=True):
            outcome = row.result()
            outcome.trial, outcome.gpu_points = tried.result()
            outcome.is_as_expected = _is_as_expected(outcome, device)
            found.append(asdict(outcome))
            print({**found[-1], "gpu_points": outcome.gpu_points[:1]}, flush=True)
        return found


def _is_as_expected(outcome: Outcome, device: str) -> bool:
    refused = REFUSED.get(outcome.script) if device == "cuda" else None
    if refused is None:
        is_right = outcome.trial == "passed" and not outcome.reason and outcome.resumes > 0
    else:
        is_right = refused in outcome.trial and refused in outcome.reason and not outcome.resumes
    return is_right and outcome.is_equal is True


def _disturb(name: str, folder: Path, device: str, kills: int, seed: int) -> Outcome:
    outcome = Outcome(name)
    chance = random.Random(f"{seed} {name}")
    alone = [_Start(name, folder / f"alone-{number}", device, saves=False) for number in (1, 2)]
    expected = [each.digest() for each in alone]
    outcome.is_deterministic = None not in expected and expected[0] == expected[1]
    shared = folder / "disturbed"
    lines = set(alone[0].log().splitlines())
    while True:
        start = _Start(name, shared, device, saves=True)
        is_killed = outcome.kills < kills and start.kill(chance)
        digest = None if is_killed else start.digest()
        text = start.log()
        strange = [each for each in text.splitlines() if each[:5] == "step " and each not in lines]
        # A kill may cut the last line off.
        if strange[: -1 if is_killed else None] and not outcome.first_difference:
            outcome.first_difference = strange[0]
        outcome.resumes += "restored after step" in text
        for pattern in (_STOPPED, _REFUSED):
            if match := pattern.search(text):
                outcome.reason = match[1][:300]
        if not is_killed:
            outcome.is_equal = digest is not None and digest == expected[0]
            if digest is None:
                outcome.reason = outcome.reason or text[-300:]
            return outcome
        outcome.kills += 1


class _Start:
    """One process of a script, under the hooks or without them."""

    def __init__(self, name: str, folder: Path, device: str, *, saves: bool) -> None:
        self._folder = folder
        self._checkpoints = folder / CHECKPOINTS
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        self._log = folder / f"log-{time.monotonic_ns()}"
        environment = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "1"}
        if saves:
            environment |= {
                "PYTHONPATH": f"{TRAINING / 'automatic'}{os.pathsep}{_AGENT / 'for_scripts'}",
                "TIDEWHEEL_AUTOMATIC_DIR": str(self._checkpoints),
                "TIDEWHEEL_CHECKPOINT_SECONDS": "0.5",
                "TIDEWHEEL_SAVE_FILE": str(folder / "save"),
            }
        argv = [sys.executable, str(SCRIPTS / f"{name}.py"), "--device", device]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                argv, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT
            )

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def digest(self) -> str | None:
        try:
            code = self._process.wait(_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return None
        lines = [line for line in self.log().splitlines() if line.startswith("digest ")]
        return lines[-1] if code == 0 and lines else None

    def kill(self, chance: random.Random) -> bool:
        """Some time after its first new step; False where the process ended before."""
        if not self._await(lambda: "step " in self.log().replace("after step", "")):
            return False
        time.sleep(chance.uniform(0.1, 2.0))
        if chance.random() < 0.5:
            before = self._newest()
            (self._folder / "save").touch()
            self._await(lambda: self._newest() != before, 2.0)
        self._process.kill()
        return self._process.wait() == -9

    def _await(self, condition: Callable[[], bool], seconds: float = 60.0) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def _newest(self) -> str:
        return max((str(p) for p in self._checkpoints.glob("step-*/COMPLETE.json")), default="")


def _try(name: str, root: Path, device: str) -> tuple[str, list[object]]:
    """Under the agent: what its trial says, and what its points say of the GPU."""
    root.mkdir(parents=True)
    (root / "data").mkdir()
    (root / "data" / "file").touch()
    job = JobOnThisMachine(
        strategy="single",
        source=SCRIPTS,
        program=f"{name}.py",
        data=root / "data",
        python=Path(sys.executable),
        hosts=("127.0.0.1",),
        hyperparameters={
            "device": device,
            "steps": 900,
            "tidewheel_script": '{"checkpoint": "automatic"}',
        },
        environment={
            **(ONE_GPU if device == "cuda" else {}),
            "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
            "TIDEWHEEL_MODEL": "",
        },
    )
    attempt = Attempt(root / "run", job)
    try:
        attempt.start()
        attempt.wait(_LIMIT_SECONDS)
        text = (attempt.leader / "log").read_text(errors="replace")
        match = _TRIAL.search(text) or _STOPPED.search(text)
        points = (attempt.leader / CHECKPOINTS / "tidewheel-evidence").glob("*.jsonl")
        return match[1][:300] if match else text[-300:], [
            _gpu_of(line) for path in points for line in path.read_text().splitlines()
        ]
    finally:
        attempt.close()


def _gpu_of(line: str) -> object:
    return json.loads(line)["gpu"]
