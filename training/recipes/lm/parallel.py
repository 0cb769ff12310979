"""How the model is spread over the ranks."""

from __future__ import annotations

from collections.abc import Iterator
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

from common.gradients import WIDTHS, compress_gradients
from model import LanguageModel

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
