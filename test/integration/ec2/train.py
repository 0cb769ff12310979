"""Counts to sixty, saves every five steps, goes on from what it saved."""

import json
import time
from pathlib import Path

import tidewheel

TOTAL = 60
folder = Path(tidewheel.checkpoint_dir() or "")
saved = sorted(folder.glob("step-*/COMPLETE.json"), key=lambda path: int(path.parent.name[5:]))
step = int(saved[-1].parent.name[5:]) if saved else 0
print(f"resumed at {step}", flush=True)
while step < TOTAL and not tidewheel.stop_soon():
    step += 1
    time.sleep(0.1)
    if step % 5 == 0:
        place = folder / f"step-{step}"
        place.mkdir(parents=True, exist_ok=True)
        state = json.dumps({"step": step})
        (place / "state.json").write_text(state)
        marker = {"totalSteps": TOTAL, "files": {"state.json": {"bytes": len(state)}}}
        (place / "COMPLETE.json").write_text(json.dumps(marker))
        tidewheel.progress(step, TOTAL)
if step < TOTAL:
    raise SystemExit(143)
