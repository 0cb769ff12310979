"""Mixed precision, with the loss scaling that float16 needs."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Precision:
    device: torch.device
    kind: torch.dtype
    scaler: torch.amp.GradScaler
    """Scales the loss up where float16 would lose small gradients; else does nothing."""

    @staticmethod
    def choose(name: str, device: torch.device) -> Precision:
        kind = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
        chosen = kind.get(name, _best(device))
        if chosen == torch.float16 and device.type != "cuda":
            raise ValueError("precision=float16 needs a GPU: choose bfloat16, float32 or auto")
        scaler = torch.amp.GradScaler(device.type, enabled=chosen == torch.float16)
        return Precision(device, chosen, scaler)

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, self.kind, enabled=self.kind != torch.float32)


def _best(device: torch.device) -> torch.dtype:
    if device.type != "cuda":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
