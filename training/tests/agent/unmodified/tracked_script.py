"""Logs every step to W&B, MLflow and TensorBoard as their guides show it; knows no attempts."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import mlflow
import wandb
from torch.utils.tensorboard import SummaryWriter

TOTAL = int(os.environ["TRACKED_STEPS"])
EVERY = 5
folder = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
saved = sorted(folder.glob("step-*/COMPLETE.json"))
step = json.loads(saved[-1].read_text())["step"] if saved else 0


def save(step: int) -> None:
    mine = folder / f"step-{step:08d}"
    mine.mkdir(exist_ok=True)
    marker = mine / "marker.tmp"
    marker.write_text(json.dumps({"step": step, "totalSteps": TOTAL, "files": {}}))
    marker.rename(mine / "COMPLETE.json")


board = SummaryWriter(os.environ["TIDEWHEEL_TENSORBOARD_DIR"])
mlflow.set_experiment("tracked")
with wandb.init(project="tracked", mode="offline") as run, mlflow.start_run():
    while step < TOTAL:
        step += 1
        time.sleep(0.02)
        run.log({"loss": 1 / step}, step=step)
        mlflow.log_metric("loss", 1 / step, step=step)
        board.add_scalar("loss", 1 / step, step)
        if step % EVERY == 0:
            # SummaryWriter keeps points for two minutes.
            board.flush()
            save(step)
        print(f"tidewheel step={step} total={TOTAL} loss={1 / step} at={time.time()}", flush=True)
board.close()
Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")
