"""Counts a step a second, and saves every `--save_steps` and at SIGTERM."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--save_steps", type=int, required=True)
    options = parser.parse_args()
    folder = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    saved = sorted(folder.glob("step-*.txt"))
    done = int(saved[-1].stem.removeprefix("step-")) if saved else 0
    while done < options.steps and not stopped:
        time.sleep(1)
        done += 1
        if done % options.save_steps == 0 or stopped:
            draft = folder / "draft"
            draft.write_text(str(done))
            draft.rename(folder / f"step-{done:08d}.txt")
            print(f"tidewheel step={done} total={options.steps}", flush=True)
    if stopped:
        return 143
    Path(os.environ["SM_MODEL_DIR"], "count.txt").write_text(str(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
