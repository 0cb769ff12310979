"""The model, how it is spread over the ranks, its optimizer and one training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from common.first_model import FirstModel
from common.gradients import WIDTHS, compress_gradients
from common.precision import Precision
from common.schedule import rate_at, settle_buckets
from config import Config
from model import LanguageModel, decay_groups

State = dict[str, Any]


class Parallel(Protocol):
    model: nn.Module
    """What a training step calls."""

    def exchange(self, *, is_last: bool) -> AbstractContextManager[None]:
        """Around each pass of a step: ranks exchange gradients in the last one only."""
        ...

    def state(self, optimizer: torch.optim.Optimizer) -> tuple[State, State]:
        """Of the model and of the optimizer, as far as this rank holds them."""
        ...

    def load_state(self, optimizer: torch.optim.Optimizer, model: State, states: State) -> None: ...

    def gather_weights(self) -> State:
        """The whole model's state on rank 0. Called on every rank."""
        ...


class Replicas:
    """Every rank holds the whole model; gradients are averaged."""

    def __init__(self, network: LanguageModel, device: torch.device, gradients: str) -> None:
        """`gradients`: in what precision ranks exchange them."""
        self.network = network
        self._parallel = DistributedDataParallel(
            network, device_ids=[device.index] if device.type == "cuda" else None
        )
        compress_gradients(self._parallel, gradients)
        self.model: nn.Module = self._parallel

    def exchange(self, *, is_last: bool) -> AbstractContextManager[None]:
        return nullcontext() if is_last else self._parallel.no_sync()

    def state(self, optimizer: torch.optim.Optimizer) -> tuple[State, State]:
        return self.network.state_dict(), optimizer.state_dict()

    def load_state(self, optimizer: torch.optim.Optimizer, model: State, states: State) -> None:
        self.network.load_state_dict(model)
        optimizer.load_state_dict(states)

    def gather_weights(self) -> State:
        return self.network.state_dict()


class Shards:
    """Every rank holds its part of each parameter, with its gradient and optimizer state."""

    def __init__(self, network: LanguageModel, device: torch.device, gradients: str) -> None:
        """`gradients`: in what precision ranks exchange them."""
        policy = MixedPrecisionPolicy(reduce_dtype=WIDTHS[gradients])
        mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
        # One block is gathered at a time, so a rank needs the memory of its part and a block.
        for block in network.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy)
        self._sharded = fully_shard(network, mesh=mesh, mp_policy=policy)
        self.model: nn.Module = network

    @contextmanager
    def exchange(self, *, is_last: bool) -> Iterator[None]:
        self._sharded.set_requires_gradient_sync(is_last)
        yield

    def state(self, optimizer: torch.optim.Optimizer) -> tuple[State, State]:
        return get_state_dict(self.model, optimizer)

    def load_state(self, optimizer: torch.optim.Optimizer, model: State, states: State) -> None:
        set_state_dict(self.model, optimizer, model_state_dict=model, optim_state_dict=states)

    def gather_weights(self) -> State:
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        return get_model_state_dict(self.model, options=options)


Rows = tuple[torch.Tensor, torch.Tensor]
"""Inputs and targets; the targets are the inputs shifted by one token."""


class Learner:
    def __init__(
        self,
        config: Config,
        device: torch.device,
        vocabulary: int,
        first: FirstModel | None = None,
    ) -> None:
        self.config, self.device = config, device
        if device.type == "cuda":
            # Of the attention kernels only the others have a deterministic backward pass.
            torch.backends.cuda.enable_mem_efficient_sdp(False)
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.vocabulary = vocabulary
        self.network = self.make_network()
        if first is not None:
            first.load_into(self.network)
        is_sharded = config.sharding == "full"
        example = torch.zeros(1, config.context, dtype=torch.long, device=device)
        self.precision = Precision.choose(
            config.precision, self.network, example, config.micro_batch, scales=not is_sharded
        )
        kind = Shards if is_sharded else Replicas
        self._parallel: Parallel = kind(self.network, device, config.gradient_precision)
        self._optimizer = torch.optim.AdamW(
            decay_groups(self.network, config.weight_decay), lr=config.peak_rate, betas=(0.9, 0.95)
        )
        settle_buckets(self._parallel.model, example[:, :2])

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
                self.precision.backward(loss)
            summed += loss.detach()
        if self.config.clip > 0:
            self.precision.scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.precision.step(self._optimizer)
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
        return {"model": model, "optimizer": optimizer, "scaler": self.precision.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._parallel.load_state(self._optimizer, state["model"], state["optimizer"])
        self.precision.load_state_dict(state["scaler"])

    def gather_weights(self) -> dict[str, Any]:
        """The whole model's state on rank 0. Called on every rank."""
        return self._parallel.gather_weights()
