"""Counts for six seconds, and saves every second."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

STEPS = 6


def main() -> int:
    folder = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    saved = sorted(folder.glob("step-*.txt"))
    done = int(saved[-1].stem.removeprefix("step-")) if saved else 0
    while done < STEPS:
        time.sleep(1)
        done += 1
        draft = folder / "draft"
        draft.write_text(str(done))
        draft.rename(folder / f"step-{done:08d}.txt")
        print(f"tidewheel step={done} total={STEPS}", flush=True)
    Path(os.environ["SM_MODEL_DIR"], "count.txt").write_text(str(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
