"""The ranks of torchrun and what they agree on."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class World:
    rank: int
    size: int
    local_rank: int
    local_size: int
    device: torch.device
    control: dist.ProcessGroup
    """Small agreements go over gloo on the CPU, so that they do not wait for the GPU."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def say(self, text: str) -> None:
        """Once for all ranks."""
        if self.is_first:
            print(text, flush=True)

    def leave(self) -> None:
        """Everyone leaves together: nobody's exit may look like a failure to the others."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()

    def agree(self, *flags: bool) -> list[bool]:
        """Each flag is set for all when it is set for one."""
        tensor = torch.tensor([int(flag) for flag in flags], dtype=torch.int32)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=self.control)
        return [bool(value) for value in tensor]

    def smallest(self, value: int) -> int:
        tensor = torch.tensor([value])
        dist.all_reduce(tensor, op=dist.ReduceOp.MIN, group=self.control)
        return int(tensor)

    def total(self, *values: float) -> list[float]:
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor, group=self.control)
        return [float(value) for value in tensor]

    def gather(self, value: Any) -> list[Any]:  # noqa: ANN401 (any picklable value)
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, value, group=self.control)
        return everyone

    def from_first(self, value: Any) -> Any:  # noqa: ANN401 (any picklable value)
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.control)
        return box[0]


def run_ranks(run: Callable[[], None], devices: int) -> None:
    """Runs this process as one of torchrun's ranks; without torchrun, a rank for each of this
    host's GPUs (`devices` says how many, 0 means all; without GPUs they are processes)."""
    if "LOCAL_RANK" in os.environ:
        run()
        return
    ranks = devices or torch.cuda.device_count() or 1
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(name, "lo")
    with tempfile.TemporaryDirectory() as folder:
        # A file instead of a port: several trainings on one machine do not meet.
        meeting = f"file://{folder}/ranks"
        if ranks == 1:
            _as_rank(0, run, 1, meeting)
        else:
            spawn: Any = torch.multiprocessing.spawn  # type: ignore[attr-defined]
            spawn(_as_rank, (run, ranks, meeting), nprocs=ranks)


def _as_rank(rank: int, run: Callable[[], None], ranks: int, meeting: str) -> None:
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    os.environ.update({name: str(value) for name, value in told.items()}, RANKS_MEET_AT=meeting)
    run()


def join_world() -> World:
    """Joins the other ranks: by NCCL where there are GPUs, by gloo elsewhere."""
    has_gpu = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if has_gpu else "gloo",
        init_method=os.environ.get("RANKS_MEET_AT", "env://"),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    control = dist.new_group(backend="gloo")
    if not isinstance(control, dist.ProcessGroup):
        raise RuntimeError("this rank is in no process group")
    return World(
        rank=dist.get_rank(),
        size=dist.get_world_size(),
        local_rank=local_rank,
        local_size=int(os.environ["LOCAL_WORLD_SIZE"]),
        device=device,
        control=control,
    )


class StopSignal:
    """SIGTERM sets a flag and nothing else; the loop asks for it between two steps."""

    def __init__(self) -> None:
        self._heard = False
        self._file = Path(os.environ.get("TIDEWHEEL_STOP_FILE", "/nonexistent"))
        signal.signal(signal.SIGTERM, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard = True

    def is_set(self) -> bool:
        return self._heard or self._file.exists()


class SaveRequest:
    """A file that appears when somebody wants a checkpoint at once, and training to go on."""

    def __init__(self) -> None:
        self._file = Path(os.environ.get("TIDEWHEEL_SAVE_FILE", "/nonexistent"))
        self._answered = 0

    def is_new(self) -> bool:
        """True once for each request; the first rank asks for all."""
        try:
            asked = self._file.stat().st_mtime_ns
        except OSError:
            return False
        is_new, self._answered = asked > self._answered, max(asked, self._answered)
        return is_new
