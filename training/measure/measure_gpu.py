"""`measure_gpu.py [--only resume,doctor] [--json OUT]`: what the agent does on this machine's GPU.

`resume` kills CUDA scripts under `training.checkpoint: automatic` and compares their weights;
exits with 1 unless each is restored, or refused, as expected.
`doctor` trains workloads with a known cause; `--evidence FOLDER` keeps a file of each, for
`npx tidewheel doctor --evidence FILE`, which may run on another machine.
Beside it stand `measure_hooks.py --device cuda` and `measure_saving.py --device cuda`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from gpu import resume, workloads


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="resume,doctor", help="parts, by comma")
    parser.add_argument("--device", default="cuda", help="cpu: to try the command itself")
    parser.add_argument("--scripts", default=",".join(resume.NAMES), help="of resume")
    parser.add_argument("--kills", type=int, default=5, help="of each script")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workloads", default="", help="of the doctor; default: all")
    parser.add_argument("--seconds", type=float, default=13.0, help="of each workload")
    parser.add_argument("--evidence", type=Path, help="folder for the doctor's files")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="tw-gpu-"))
    parts = options.only.split(",")
    found: dict[str, Any] = {"card": _card(options.device)}
    is_as_expected = True
    try:
        if "resume" in parts:
            scripts = options.scripts.split(",")
            found["resume"] = resume.measure(
                scripts, root, options.device, options.kills, options.seed
            )
            is_as_expected = all(row["is_as_expected"] for row in found["resume"])
        if "doctor" in parts:
            names = [name for name in options.workloads.split(",") if name]
            rows = workloads.measure(names, root, options.device, options.seconds)
            for row in rows:
                _keep(options.evidence, row["name"], row.pop("evidence"))
                print(row, flush=True)
            found["doctor"] = rows
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if is_as_expected else 1


def _card(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else device


def _keep(folder: Path | None, name: str, evidence: dict[str, Any]) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(evidence) + "\n")


if __name__ == "__main__":
    sys.exit(main())
