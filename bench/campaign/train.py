"""Trains nothing and counts: starting takes its time, every step takes a second, and what is
counted is saved and resumed as a training script does it.

On a virtual clock (emulators/clock) it sleeps there; anywhere else it really waits.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

try:
    from tidewheel_clock import now, sleep_until
except ImportError:
    now = time.time

    def sleep_until(moment: float) -> None:
        time.sleep(max(0.0, moment - time.time()))


_AGENT_SECONDS = 10.0


class StopRequested(Exception):
    pass


class Leaving:
    """SIGTERM ends a sleep, never a save."""

    def __init__(self) -> None:
        self.is_told = False
        self._is_asleep = False
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.is_told = True
        if self._is_asleep:
            raise StopRequested

    def sleep_until(self, moment: float) -> None:
        try:
            self._is_asleep = True
            if self.is_told:
                raise StopRequested
            sleep_until(moment)
        finally:
            self._is_asleep = False


def newest(folder: Path) -> int:
    """Steps of the newest complete checkpoint; 0 without one."""
    complete = [path.parent.name for path in folder.glob("step-*/COMPLETE.json")]
    return max((int(name.removeprefix("step-")) for name in complete), default=0)


def save(folder: Path, step: int, total: int) -> None:
    """A folder whose marker is written last; the one before the last is deleted."""
    target = folder / f"step-{step:08d}"
    target.mkdir(parents=True, exist_ok=True)
    state = json.dumps({"step": step}).encode()
    (target / "state.json").write_bytes(state)
    marker = {
        "files": {"state.json": {"bytes": len(state)}},
        "totalSteps": total,
        "trainingSeconds": step,
    }
    (target / "writing").write_text(json.dumps(marker))
    os.utime(target / "writing", (now(), now()))
    (target / "writing").rename(target / "COMPLETE.json")
    for old in sorted(folder.glob("step-*"))[:-2]:
        shutil.rmtree(old, ignore_errors=True)


def await_agent(folder: Path, step: int) -> None:
    """The agent reports a checkpoint within seconds. On a virtual clock these must not become
    hours."""
    give_up = time.monotonic() + _AGENT_SECONDS
    while os.environ.get("TIDEWHEEL_CLOCK_PORT") and time.monotonic() < give_up:
        try:
            said = json.loads((folder / "tidewheel-progress.json").read_text())
            if said["step"] >= step:
                return
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.02)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, required=True, help="of one second each")
    arguments.add_argument("--start_seconds", type=float, default=0.0)
    arguments.add_argument(
        "--save_seconds", type=float, default=0.0, help="between saves, at least"
    )
    arguments.add_argument("--save_steps", type=int, help="between saves; default: by seconds")
    options = arguments.parse_args()
    leaving = Leaving()
    folder = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
    wanted = float(os.environ.get("TIDEWHEEL_CHECKPOINT_SECONDS") or 600)
    interval = options.save_steps or max(1, round(max(wanted, options.save_seconds)))
    resumed = done = newest(folder)
    ready = now() + options.start_seconds
    try:
        leaving.sleep_until(ready)
        while done < options.steps:
            after = min(done + interval, options.steps)
            leaving.sleep_until(ready + after - resumed)
            done = after
            save(folder, done, options.steps)
            print(f"tidewheel step={done} total={options.steps}", flush=True)
            if done < options.steps and not leaving.is_told:
                await_agent(folder, done)
    except StopRequested:
        counted = resumed + int(now() - ready)
        if counted > done:
            save(folder, min(counted, options.steps), options.steps)
        return 143
    Path(os.environ["SM_MODEL_DIR"], "count.json").write_text(json.dumps({"steps": done}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
