"""The ranks of a training: how they start, connect and agree, and what each computes of a batch."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
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
    """Gloo on the CPU, for small values that must not wait for the GPU."""

    @property
    def is_rank0(self) -> bool:
        return self.rank == 0

    def print0(self, text: str) -> None:
        """Prints on rank 0 alone."""
        if self.is_rank0:
            print(text, flush=True)

    def close(self) -> None:
        """All ranks leave together, so that no exit looks like a failure to another rank."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()

    def any_rank(self, *flags: bool) -> list[bool]:
        """For each flag, whether it is set on any rank."""
        tensor = torch.tensor([int(flag) for flag in flags], dtype=torch.int32)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX, group=self.control)
        return [bool(value) for value in tensor]

    def all_reduce_min(self, value: int) -> int:
        tensor = torch.tensor([value])
        dist.all_reduce(tensor, op=dist.ReduceOp.MIN, group=self.control)
        return int(tensor)

    def all_reduce_max(self, value: int) -> int:
        return -self.all_reduce_min(-value)

    def all_reduce_sum(self, *values: float) -> list[float]:
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor, group=self.control)
        return [float(value) for value in tensor]

    def all_gather(self, value: Any) -> list[Any]:  # noqa: ANN401 (any picklable value)
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.control)
        return values

    def broadcast(self, value: Any) -> Any:  # noqa: ANN401 (any picklable value)
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.control)
        return box[0]


def run_ranks(run: Callable[[], None], devices: int) -> None:
    """Runs this process as one of torchrun's ranks, or without torchrun one rank per device.

    `devices`: how many of this host's GPUs, 0 for all; without GPUs, how many processes.
    """
    if "LOCAL_RANK" in os.environ:
        run()
        return
    ranks = devices or torch.cuda.device_count() or 1
    for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(name, "lo")
    with tempfile.TemporaryDirectory() as folder:
        # A file instead of a port keeps trainings on one machine apart.
        rendezvous = f"file://{folder}/ranks"
        if ranks == 1:
            _run_rank(0, run, 1, rendezvous)
        else:
            spawn: Any = torch.multiprocessing.spawn  # type: ignore[attr-defined]
            spawn(_run_rank, (run, ranks, rendezvous), nprocs=ranks)


def _run_rank(rank: int, run: Callable[[], None], ranks: int, rendezvous: str) -> None:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    os.environ.update({name: str(value) for name, value in numbers.items()})
    os.environ["RENDEZVOUS_FILE"] = rendezvous
    run()


def join_world(timeout: timedelta) -> World:
    """Connects to the other ranks, by NCCL on GPUs and by gloo on CPUs.

    `timeout`: of each exchange. PyTorch's own for NCCL, 10 minutes, is short for one rank's work.
    """
    has_gpu = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if has_gpu else "gloo",
        init_method=os.environ.get("RENDEZVOUS_FILE", "env://"),
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
        timeout=timeout,
    )
    return World(
        rank=dist.get_rank(),
        size=dist.get_world_size(),
        local_rank=local_rank,
        local_size=int(os.environ["LOCAL_WORLD_SIZE"]),
        device=device,
        control=gloo_group(timeout),
    )


def gloo_group(timeout: timedelta | None = None) -> dist.ProcessGroup:
    """All ranks, for collectives on the CPU that are apart from those of other groups."""
    group = dist.new_group(backend="gloo", timeout=timeout)
    if not isinstance(group, dist.ProcessGroup):
        raise RuntimeError("this rank is in no process group: start it with torchrun")
    return group


@dataclass(frozen=True)
class Share:
    """This rank's share within a pool of ranks that read the same samples.

    The pool is all ranks where every host has all shards. It is the host's ranks where S3 gave each
    host its own shards (ShardedByS3Key).
    """

    rank: int
    ranks: int
    batch_size: int
    """Samples per step of the whole pool; a multiple of `ranks`."""

    @property
    def own(self) -> int:
        return self.batch_size // self.ranks


def is_sharded_by_host() -> bool:
    """Whether S3 gave each host its own shards of the channel."""
    channels = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    return bool(channels.get("train", {}).get("S3DistributionType") == "ShardedByS3Key")


def share_of(world: World, batch_size: int) -> Share:
    """`batch_size`: samples per step over all ranks."""
    if batch_size % world.size:
        raise ValueError(
            f"batch_size={batch_size} is not divisible by {world.size} ranks: "
            f"choose a multiple of {world.size}"
        )
    by_host = is_sharded_by_host()
    pools = world.size // world.local_size if by_host else 1
    return Share(
        rank=world.local_rank if by_host else world.rank,
        ranks=world.size // pools,
        batch_size=batch_size // pools,
    )
