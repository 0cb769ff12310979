"""What the agent must know of each strategy.

`npm run generate` writes this file from packages/declaration/schema/strategies.ts: change that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class StrategyTraits:
    """The table in TypeScript explains the traits."""

    other_groups: Literal["run_script", "wait", "join_cluster", "serve"]
    saved_by: Literal["leader", "any_host"]


TRAITS: dict[str, StrategyTraits] = {
    "single": StrategyTraits(other_groups="run_script", saved_by="leader"),
    "ddp": StrategyTraits(other_groups="wait", saved_by="leader"),
    "ray": StrategyTraits(other_groups="join_cluster", saved_by="any_host"),
    "mpi": StrategyTraits(other_groups="wait", saved_by="leader"),
    "parameter-server": StrategyTraits(other_groups="serve", saved_by="leader"),
    "multi-worker-mirrored": StrategyTraits(other_groups="wait", saved_by="leader"),
    "data-service": StrategyTraits(other_groups="join_cluster", saved_by="leader"),
}
