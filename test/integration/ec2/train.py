"""Counts to sixty, the first host saves every five steps, and it goes on from what was saved.

A life that begins with nothing comes no further than half way: whatever is to happen to it happens,
however slow the machine.
"""

import json
import os
import sys
import time
from pathlib import Path

import tidewheel

TOTAL = 60
folder = Path(tidewheel.checkpoint_dir() or "")
saves = os.environ["SM_CURRENT_HOST"] == json.loads(os.environ["SM_HOSTS"])[0]
saved = sorted(folder.glob("step-*/COMPLETE.json"), key=lambda path: int(path.parent.name[5:]))
step = first = int(saved[-1].parent.name[5:]) if saved else 0
arguments = [text.replace(str(folder), "CHECKPOINTS") for text in sys.argv[1:]]
print(f"resumed at {step} with {json.dumps(arguments)}", flush=True)
while step < TOTAL and not tidewheel.stop_soon():
    time.sleep(0.1)
    if first == 0 and step == TOTAL // 2:
        continue
    step += 1
    if saves and step % 5 == 0:
        place = folder / f"step-{step}"
        place.mkdir(parents=True, exist_ok=True)
        state = json.dumps({"step": step})
        (place / "state.json").write_text(state)
        marker = {"totalSteps": TOTAL, "files": {"state.json": {"bytes": len(state)}}}
        (place / "COMPLETE.json").write_text(json.dumps(marker))
        tidewheel.progress(step, TOTAL)
if step < TOTAL:
    raise SystemExit(143)
Path(os.environ["SM_MODEL_DIR"], "steps").write_text(str(step))
