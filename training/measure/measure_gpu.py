"""`measure_gpu.py [--kills 5] [--json OUT]`: whether CUDA scripts resume with the same bits.

Each script of gpu/scripts trains twice undisturbed. Then it is killed with -9 at seeded moments
under `training.checkpoint: automatic`, half of the times right after a save that was requested, as
after a warning, and started again. At the end its weights are compared, bit for bit. Exits with 1
unless each is restored, or refused, as expected.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from hosts import CHECKPOINTS, TRAINING

SCRIPTS = Path(__file__).parent / "gpu" / "scripts"
NAMES = ("scaled", "prefetched", "compiled", "recurrent", "graphed")
REFUSED = {"recurrent": "cuDNN keeps the random numbers", "graphed": "captures a CUDA graph"}
"""On a GPU, by the reason. Equal, too: a start without a checkpoint trains from its first step."""
_AGENT = TRAINING / "agent"
_LIMIT_SECONDS = 300.0
_REASONS = (
    re.compile(r"no automatic checkpoints from step \d+ on: (.*)"),
    re.compile(r"cannot resume this script: (.*)"),
)


@dataclass
class Outcome:
    """`resumes`: starts that restored a checkpoint. `reason`: why the script is not restored."""

    script: str
    is_deterministic: bool = False
    kills: int = 0
    resumes: int = 0
    is_equal: bool = False
    reason: str = ""

    def is_as_expected(self, device: str) -> bool:
        refused = REFUSED.get(self.script) if device == "cuda" else None
        if refused is None:
            return self.is_equal and self.resumes > 0 and not self.reason
        return self.is_equal and self.resumes == 0 and refused in self.reason


def disturb(name: str, folder: Path, options: argparse.Namespace) -> Outcome:
    outcome = Outcome(name)
    chance = random.Random(f"{options.seed} {name}")
    alone = [
        _Start(name, folder / f"alone-{number}", options.device, saves=False) for number in (1, 2)
    ]
    expected = [each.digest() for each in alone]
    outcome.is_deterministic = None not in expected and expected[0] == expected[1]
    while True:
        start = _Start(name, folder / "disturbed", options.device, saves=True)
        is_killed = outcome.kills < options.kills and start.kill(chance)
        digest = None if is_killed else start.digest()
        text = start.log()
        outcome.resumes += "restored after step" in text
        for pattern in _REASONS:
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cpu: to try the command itself")
    parser.add_argument("--scripts", default=",".join(NAMES))
    parser.add_argument("--kills", type=int, default=5, help="of each script")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.scripts.split(",")
    with tempfile.TemporaryDirectory(prefix="tw-gpu-") as root, ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda name: disturb(name, Path(root) / name, options), names))
    rows = [{**asdict(each), "as_expected": each.is_as_expected(options.device)} for each in found]
    for row in rows:
        print(row)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["as_expected"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
