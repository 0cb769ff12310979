"""Which part of each step's batch is a rank's own."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from common.world import World


@dataclass(frozen=True)
class Share:
    """This rank's part of a pool of ranks that reads the same samples.

    Where every host has all shards the pool is all ranks. Where S3 gave each host its own shards
    (ShardedByS3Key) the pool is the host's ranks.
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
    said = json.loads(os.environ.get("SM_INPUT_DATA_CONFIG") or "{}")
    return bool(said.get("train", {}).get("S3DistributionType") == "ShardedByS3Key")


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
