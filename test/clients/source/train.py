"""What every client trains: it says what it does, writes a model, and fails on request."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--spoilt", default="no")
    options, _ = parser.parse_known_args()
    words = sum(
        len(path.read_text(encoding="utf-8").split())
        for path in Path(os.environ["SM_CHANNEL_TRAIN"]).iterdir()
    )
    for epoch in range(options.epochs):
        time.sleep(0.5)
        print(f"job={os.environ['TRAINING_JOB_NAME']} epoch={epoch} words={words}", flush=True)
    if options.spoilt == "yes":
        raise ValueError("the data is spoilt")
    Path(os.environ["SM_MODEL_DIR"], "model.txt").write_text(str(words), encoding="utf-8")


if __name__ == "__main__":
    main()
