"""Trains DeepFM with PyTorch and Horovod under any MPI: `mpiexec -n N python train_horovod.py`.

Each rank computes its share of each batch on the GPU of its local rank, or on its CPUs. Horovod
averages the gradients; of the embeddings it sends only the rows that were read. The fusion
threshold is 0: fused tensors, and so the rounding of sums, would depend on when each tensor is
ready. An interrupted run therefore ends with the bits of an uninterrupted one.
"""

import os
import sys

# Horovod reads these when it is imported.
os.environ.setdefault("HOROVOD_FUSION_THRESHOLD", "0")
os.environ.setdefault("HOROVOD_CYCLE_TIME", "1")

import horovod.torch as hvd
import numpy as np
import torch

import tidewheel
from arrays import Arrays
from config import Config
from loss_scale import LossScale, without_scale
from records import read_clicks
from torch_model import TABLES, autocast, capability_of, logits, unscale, use_cpus
from training_run import TrainingRun, first_weights

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class DeepFM(torch.nn.Module):
    """The arrays of a checkpoint as parameters; the tables give sparse gradients."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__()
        learned = {name: torch.from_numpy(value.copy()) for name, value in arrays.items()}
        self.tables = torch.nn.ModuleDict({name: _table(learned[name]) for name in TABLES})
        self.dense = torch.nn.ParameterDict(
            {
                n: torch.nn.Parameter(v)
                for n, v in learned.items()
                if "/" not in n and n not in TABLES
            }
        )

    def forward(self, ids: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        rows, linear = self.tables["embedding"](ids), self.tables["linear"](ids)
        return logits(dict(self.dense.items()), rows, linear, values)

    def named(self) -> dict[str, torch.nn.Parameter]:
        """Parameters by the names that checkpoints use."""
        return {**{n: table.weight for n, table in self.tables.items()}, **dict(self.dense.items())}


def _table(weights: torch.Tensor) -> torch.nn.Embedding:
    rows, length = weights.shape
    return torch.nn.Embedding(rows, length, sparse=True, _weight=weights)


class Trainer:
    def __init__(self, config: Config, device: torch.device) -> None:
        self.config, self.device = config, device
        self.run = TrainingRun(config, is_main=hvd.rank() == 0, limits=True)
        self.own = self.run.own_share(hvd.size())
        example = self.run.example()
        # Rank 0 reads the checkpoint for all: other hosts may not have it.
        found = self.run.resume() if hvd.rank() == 0 else None
        self.step, learned = hvd.broadcast_object(found, root_rank=0, name="start")
        self.kind = self.run.kind(capability_of(device), hvd.size())
        self.scale = LossScale(self.kind, learned)
        arrays = without_scale(learned) or first_weights(
            config, len(example.ids), len(example.values)
        )
        self.model = DeepFM(arrays).to(device)
        self.optimizer = hvd.DistributedOptimizer(
            torch.optim.Adagrad(self.model.parameters(), lr=config.learning_rate),
            named_parameters=self.model.named_parameters(),
        )
        # Only now, because wrapping makes a new optimizer.
        for name, parameter in self.model.named().items():
            accumulator = torch.from_numpy(arrays[f"adagrad/{name}"].copy())
            self.optimizer.state[parameter]["sum"] = accumulator.to(device)
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)

    def train(self) -> bool:
        """True when training has finished; False after a stop request, once it has saved."""
        while self.step < self.run.total:
            loss = self._train_step()
            self.step += 1
            tidewheel.stepped(self.own)
            is_due = self.run.is_main and self.run.is_due(self.step)
            # All ranks save, and all leave, at the same step.
            flags = torch.tensor([float(tidewheel.stop_soon()), float(is_due), loss])
            stopping, due, summed = hvd.allreduce(flags, name="flags", op=hvd.Sum).tolist()
            mean = summed / self.config.batch_size
            ends = {"due": due > 0, "stopping": stopping > 0}
            if self.run.end_step(self.step, mean, **ends, arrays=self.arrays):
                return False
        return True

    def _train_step(self) -> float:
        labels, ids, values = self._read()
        self.optimizer.zero_grad()
        with autocast(self.kind, self.device):
            scores = self.model(ids, values)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
        # Horovod averages over the ranks.
        torch.autograd.backward(loss * (self.scale.factor / self.own))
        self.optimizer.synchronize()
        if self._is_finite():
            with self.optimizer.skip_synchronize():
                self.optimizer.step()
        return float(loss.detach())

    def _is_finite(self) -> bool:
        """Takes the loss's scale out of the gradients, which all ranks have in common."""
        if not self.scale.is_on:
            return True
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        is_finite = unscale(gradients, self.scale.factor)
        self.scale.update(overflowed=not is_finite)
        return is_finite

    def _read(self) -> Batch:
        (batch,) = self.run.plan.batches_between(self.step, self.step + 1)
        first = batch.first + hvd.rank() * self.own
        positions = self.run.positions[batch.shard][first : first + self.own]
        clicks = list(read_clicks(batch.shard, positions))
        return (
            torch.tensor([float(click.label) for click in clicks]).to(self.device),
            torch.tensor([click.ids for click in clicks]).to(self.device),
            torch.tensor([click.values for click in clicks]).to(self.device),
        )

    def arrays(self) -> Arrays:
        found: Arrays = {}
        for name, parameter in self.model.named().items():
            found[name] = parameter.detach().cpu().numpy()
            found[f"adagrad/{name}"] = self.optimizer.state[parameter]["sum"].cpu().numpy()
        return {**found, **self.scale.arrays()}

    @torch.no_grad()
    def finish(self) -> None:
        if not self.run.is_main:
            return
        _, ids, values = self.run.evaluation_data()
        index, numbers = torch.from_numpy(ids), torch.from_numpy(values)
        scores = self.model(index.to(self.device), numbers.to(self.device))
        self.run.finish(self.arrays(), np.asarray(scores.sigmoid().double().cpu()))


def main() -> None:
    config = Config.from_arguments(sys.argv[1:])
    # Horovod reads it now. It ends the training after so long without a rank, and warns before.
    os.environ.setdefault("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", str(config.timeout_minutes * 60))
    hvd.init()
    use_cpus(config, hvd.local_rank(), hvd.local_size())
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = torch.device("cpu")
    if torch.cuda.is_available():
        # One GPU per local rank. With training.pinGpus each rank sees only its own, which is 0.
        device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
        torch.cuda.set_device(device)
    trainer = Trainer(config, device)
    trainer.run.print0(
        f"{hvd.size()} ranks, {trainer.own} samples each, products in {trainer.kind}, "
        f"Horovod on {device.type}"
    )
    if trainer.train():
        trainer.finish()
    hvd.join()
    hvd.shutdown()


if __name__ == "__main__":
    main()
