"""Each rank's share of a step's batch."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from common.world import World


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
