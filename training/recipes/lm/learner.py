"""The model, its optimizer and one training step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from common.schedule import rate_at, settle_buckets
from config import Config
from model import LanguageModel, decay_groups
from parallel import Parallel, Replicas, Shards
from precision import Precision

Rows = tuple[torch.Tensor, torch.Tensor]
"""Inputs and targets; the targets are the inputs shifted by one token."""


class Learner:
    def __init__(self, config: Config, device: torch.device, vocabulary: int) -> None:
        self.config, self.device = config, device
        if device.type == "cuda":
            # Of the attention kernels only the others have a deterministic backward pass.
            torch.backends.cuda.enable_mem_efficient_sdp(False)
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.vocabulary = vocabulary
        self.network = self.make_network()
        kind = Shards if config.sharding == "full" else Replicas
        self._parallel: Parallel = kind(self.network, device, config.gradient_precision)
        self.precision = Precision.choose(config.precision, device)
        self._optimizer = torch.optim.AdamW(
            decay_groups(self.network, config.weight_decay), lr=config.peak_rate, betas=(0.9, 0.95)
        )
        settle_buckets(self._parallel.model, torch.zeros(1, 2, dtype=torch.long, device=device))

    def make_network(self) -> LanguageModel:
        config = self.config
        return LanguageModel(
            self.vocabulary,
            config.context,
            width=config.width,
            depth=config.depth,
            heads=config.heads,
            dropout=config.dropout,
        ).to(self.device)

    def train_step(self, parts: Sequence[Rows], step: int, total: int) -> torch.Tensor:
        """Computes this rank's share of a batch in several passes and exchanges gradients once."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(
                step, peak=self.config.peak_rate, warmup=self.config.warmup_steps, total=total
            )
        self._optimizer.zero_grad(set_to_none=True)
        whole = sum(len(inputs) for inputs, _ in parts)
        summed = torch.zeros((), device=self.device)
        for number, rows in enumerate(parts, start=1):
            # The last pass exchanges the gradients that all passes have accumulated.
            with self._parallel.exchange(is_last=number == len(parts)):
                loss, _ = self._forward(self._parallel.model, rows)
                # Parts may differ in size; the sum must be the mean over the whole share.
                loss = loss * (len(rows[0]) / whole)
                torch.autograd.backward(self.precision.scaler.scale(loss))
            summed += loss.detach()
        if self.config.clip > 0:
            self.precision.scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.precision.scaler.step(self._optimizer)
        self.precision.scaler.update()
        return summed

    @torch.no_grad()
    def score(self, rows: Rows) -> tuple[float, float]:
        """Sum of the losses, and how often the likeliest token was correct."""
        self.network.eval()
        loss, scores = self._forward(self.network, rows)
        targets = rows[1].to(self.device)
        self.network.train()
        return float(loss) * targets.numel(), float((scores.argmax(-1) == targets).sum())

    def _forward(self, model: nn.Module, rows: Rows) -> Rows:
        """The mean loss and the scores of each next token."""
        inputs, targets = (self._to_device(tensor) for tensor in rows)
        with self.precision.autocast():
            scores = model(inputs)
        loss = nn.functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())
        return loss, scores

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor

    def state_dict(self) -> dict[str, Any]:
        model, optimizer = self._parallel.state(self._optimizer)
        scaler = self.precision.scaler.state_dict()
        return {"model": model, "optimizer": optimizer, "scaler": scaler}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._parallel.load_state(self._optimizer, state["model"], state["optimizer"])
        self.precision.scaler.load_state_dict(state["scaler"])

    def gather_weights(self) -> dict[str, Any]:
        """The whole model's state on rank 0. Called on every rank."""
        return self._parallel.gather_weights()
