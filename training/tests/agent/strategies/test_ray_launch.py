"""How long a program waits for the nodes of its Ray cluster."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tidewheel_agent.strategies.programs.ray_launch import wait_for_nodes


class Cluster(ModuleType):
    """A stand-in for ray: at each of `joins` seconds, another node has joined."""

    def __init__(self, joins: list[float]) -> None:
        super().__init__("ray")
        self.now, self._joins = 0.0, joins

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, bool]]:
        return [{"Alive": True} for at in self._joins if at <= self.now]

    def shutdown(self) -> None:
        pass

    def pass_seconds(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("joins", "joined", "ends"),
    [([0, 200, 480, 700], 4, 700), ([0, 200, 600, 700], 2, 500), ([301], 0, 300)],
)
def test_the_limit_counts_from_the_last_node(
    monkeypatch: pytest.MonkeyPatch, joins: list[float], joined: int, ends: float
) -> None:
    cluster = Cluster(joins)
    monkeypatch.setitem(sys.modules, "ray", cluster)
    assert wait_for_nodes("", 4, 300, lambda: cluster.now, cluster.pass_seconds) == joined
    assert cluster.now == ends
