"""Two ranks that train in lockstep, steps of 0.1 s, and save as docs/training.md shows it.

Rank 0 notes in a file when each step was done, so that what a fault costs can be counted.
"""

from __future__ import annotations

import argparse
import os
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

import numpy as np
import tidewheel

STEP_SECONDS = 0.1
FLOAT_BYTES = 4
# torchrun takes the first of the job's ten ports, the agent the second.
PORT_OF_RANKS = 5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--total", type=int, required=True)
    parser.add_argument("--steps_file", type=Path, required=True)
    arguments = parser.parse_args()
    leads = os.environ["RANK"] == "0"
    peer = connect(leads)
    step, weights = resume(arguments.megabytes) if leads else (0, np.zeros(0))
    if leads:
        note(arguments.steps_file, f"from {step}")
    while step < arguments.total:
        time.sleep(STEP_SECONDS)
        weights += 1
        step += 1
        stopping = on_any_rank(peer, tidewheel.stop_soon(), leads=leads)
        if leads:
            note(arguments.steps_file, f"done {step}")
        if stopping or tidewheel.save_due():
            tidewheel.save(step, write, {"weights": weights}, total=arguments.total)
        if stopping:
            return
    Path(os.environ["SM_MODEL_DIR"], "model").write_text("done")


def resume(megabytes: int) -> tuple[int, np.ndarray]:
    newest = tidewheel.newest()
    if newest is None:
        return 0, np.zeros(megabytes * 1_000_000 // FLOAT_BYTES, np.float32)
    weights = np.fromfile(newest.folder / "state.bin", np.float32)
    # Each step adds 1 to each weight.
    if not (weights == newest.step).all():
        raise SystemExit(f"the checkpoint of step {newest.step} holds another state")
    return newest.step, weights


def write(folder: Path, copy: dict[str, np.ndarray]) -> None:
    copy["weights"].tofile(folder / "state.bin")


def connect(leads: bool) -> Connection:
    address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + PORT_OF_RANKS)
    if leads:
        with Listener(address, authkey=b"ranks") as listener:
            return listener.accept()
    while True:
        try:
            return Client(address, authkey=b"ranks")
        except ConnectionRefusedError:
            time.sleep(0.05)


def on_any_rank(peer: Connection, flag: bool, *, leads: bool) -> bool:
    """The first rank decides, after it has heard the other one."""
    if not leads:
        peer.send(flag)
        return bool(peer.recv())
    decided = bool(peer.recv()) or flag
    peer.send(decided)
    return decided


def note(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(f"{line} {time.time():.3f}\n")


if __name__ == "__main__":
    main()
