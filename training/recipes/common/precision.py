"""Mixed precision in PyTorch: products in 16 bits, weights and optimizer in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from common.arithmetic import kind_for


@dataclass(frozen=True)
class Precision:
    name: str
    device: torch.device
    scaler: torch.amp.GradScaler
    """Scales the loss up where float16 would lose small gradients; else does nothing."""

    @staticmethod
    def choose(
        name: str, network: nn.Module, example: torch.Tensor, rows: int, *, scales: bool = True
    ) -> Precision:
        """`rows`: of the batches that `network` computes at once, `example` being a small one.
        `scales`: whether the loss can be scaled."""
        device = example.device
        capability, operations = None, 0.0
        if name == "auto" and device.type == "cuda":
            capability = torch.cuda.get_device_capability(device)
            operations = _operations(network, example) * rows / len(example)
        kind = kind_for(name, capability, operations)
        if kind == "float16" and not scales:
            kind = "float32"
        return Precision(kind, device, torch.amp.GradScaler(device.type, enabled=kind == "float16"))

    def autocast(self) -> torch.autocast:
        is_mixed = self.name != "float32"
        kind = torch.float16 if self.name == "float16" else torch.bfloat16
        return torch.autocast(self.device.type, kind, enabled=is_mixed)

    def backward(self, loss: torch.Tensor) -> None:
        torch.autograd.backward(self.scaler.scale(loss))

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Leaves a step out whose gradients overflowed, and then scales less."""
        self.scaler.step(optimizer)
        self.scaler.update()

    def state_dict(self) -> dict[str, Any]:
        return self.scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """`state` is empty where another arithmetic saved it: scaling then starts again."""
        if state and self.scaler.is_enabled():
            self.scaler.load_state_dict(state)


@torch.no_grad()
def _operations(network: nn.Module, example: torch.Tensor) -> float:
    """Operations of a mean product of a forward pass."""
    with FlopCounterMode(display=False) as counter:
        network(example)
    products = sum(parameter.ndim > 1 for parameter in network.parameters())
    return float(counter.get_total_flops()) / max(1, products)
