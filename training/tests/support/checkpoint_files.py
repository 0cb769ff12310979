"""Checkpoints as frameworks write them, and how a kill leaves them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import torch

from tidewheel_agent.checkpoints.checkpoint import Checkpoint
from tidewheel_agent.checkpoints.frameworks import FrameworkCheckpoints


def find(folder: Path) -> Checkpoint | None:
    return FrameworkCheckpoints(folder).find_last()


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def torch_file(path: Path, **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": torch.ones(300), "optimizer": {"state": torch.ones(9)}, **more}, path)
    return path


def safetensors_file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    return path


def trainer(folder: Path, step: int = 50, **state: object) -> None:
    """As Hugging Face's Trainer."""
    for name in ("optimizer.pt", "scheduler.pt", "rng_state.pth"):
        torch_file(folder / name)
    safetensors_file(folder / "model.safetensors")
    state = {"global_step": step, "max_steps": 90, **state}
    (folder / "trainer_state.json").write_text(json.dumps(state))
