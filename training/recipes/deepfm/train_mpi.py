"""Trains DeepFM with PyTorch and MPI: `mpiexec -n N python train_mpi.py`, on one host or many.

Each rank computes its share of each batch. MPI sums the gradients; of the embeddings it sends only
the rows that were read, so that a table may fill a host's memory. Every rank has the same number of
batches and applies the same sums in the same order, so the ranks' weights stay equal. On the same
number of ranks an interrupted run ends with the bits of an uninterrupted one.
"""

import os
import sys
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from mpi4py import MPI

import tidewheel
from arrays import Arrays
from config import Config
from loss_scale import LossScale, without_scale
from pipe import PipeReader, is_piped
from records import Click, read_clicks
from torch_model import TABLES, Weights, autocast, logits, unscale, use_cpus
from training_run import TrainingRun, first_weights


class Trainer:
    def __init__(self, config: Config, ranks: MPI.Intracomm) -> None:
        self.config, self.ranks = config, ranks
        self.run = TrainingRun(config, is_main=ranks.rank == 0, reads_pipes=True)
        self.own = self.run.own_share(ranks.size)
        example = self.run.example()
        # Rank 0 reads the checkpoint for all: other hosts may not have it.
        found = self.run.resume() if ranks.rank == 0 else None
        self.step, learned = ranks.bcast(found)
        self.kind = self.run.kind(None, ranks.size)
        self.scale = LossScale(self.kind, learned)
        start = without_scale(learned) or first_weights(
            config, len(example.ids), len(example.values)
        )
        self.weights = {name: torch.from_numpy(value.copy()) for name, value in start.items()}
        self.pipe: PipeReader | None = None
        if is_piped():
            on_host = ranks.Split_type(MPI.COMM_TYPE_SHARED)
            self.pipe = PipeReader(
                int(os.environ.get("TIDEWHEEL_LOCAL_RANK", on_host.rank)),
                shuffle=config.shuffle_buffer,
                ahead=config.prefetch_batches * self.own,
                seed=config.seed,
            )
            self._skip_learned(self.pipe)
        self.dense = [n for n in self.weights if "/" not in n and n not in TABLES]

    def train(self) -> bool:
        """True when training has finished; False after a stop request, once it has saved."""
        while self.step < self.run.total:
            loss = self._train_step()
            self.step += 1
            tidewheel.stepped(self.own)
            is_due = self.run.is_main and self.run.is_due(self.step)
            flags = np.array([tidewheel.stop_soon(), is_due], np.int32)
            # All ranks save, and all leave, at the same step.
            self.ranks.Allreduce(MPI.IN_PLACE, flags, MPI.MAX)
            stopping, due = (bool(flag) for flag in flags)
            ends = {"due": due, "stopping": stopping}
            if self.run.end_step(self.step, loss, **ends, arrays=self.arrays):
                return False
        return True

    def _skip_learned(self, pipe: PipeReader) -> None:
        """Skips the batches that earlier attempts have learned.

        It reads the first epoch to count its batches, skips whole epochs, and reads the beginning
        of the last one.
        """
        pipe.next_epoch()
        per_epoch = 0
        while per_epoch < self.step and self._next_share(pipe) is not None:
            per_epoch += 1
        if per_epoch == self.step:
            return
        if per_epoch == 0:
            raise ValueError("the Pipes hold less than a batch: lower batch_size")
        epochs, batches = divmod(self.step, per_epoch)
        for _ in range(epochs):
            pipe.next_epoch()
        for _ in range(batches):
            self._next_share(pipe)

    def _next_share(self, pipe: PipeReader) -> list[Click] | None:
        """This rank's share of a batch; None on all ranks once one of them has too few records."""
        clicks = pipe.take(self.own)
        have = np.array([clicks is not None], np.int32)
        self.ranks.Allreduce(MPI.IN_PLACE, have, MPI.MIN)
        return clicks if have[0] else None

    def _clicks(self) -> list[Click]:
        if self.pipe is None:
            (batch,) = self.run.plan.batches_between(self.step, self.step + 1)
            first = batch.first + self.ranks.rank * self.own
            positions = self.run.positions[batch.shard][first : first + self.own]
            return list(read_clicks(batch.shard, positions))
        clicks = self._next_share(self.pipe)
        if clicks is None:
            self.pipe.next_epoch()
            clicks = self._next_share(self.pipe)
        if clicks is None:
            raise ValueError("the Pipes hold less than a batch: lower batch_size")
        return clicks

    def arrays(self) -> Arrays:
        learned = {name: value.detach().numpy() for name, value in self.weights.items()}
        return {**learned, **self.scale.arrays()}

    def _train_step(self) -> float:
        labels, ids, values = self._read()
        rows = self.weights["embedding"][ids].requires_grad_()
        linear = self.weights["linear"][ids].requires_grad_()
        leaves = {name: self.weights[name].requires_grad_() for name in self.dense}
        with autocast(self.kind, torch.device("cpu")):
            scores = logits(leaves, rows, linear, values)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
        torch.autograd.backward(loss * (self.scale.factor / self.config.batch_size))
        if not self._is_finite([rows, linear, *leaves.values()]):
            self.weights |= {name: leaf.detach() for name, leaf in leaves.items()}
            (total,) = self._sum(np.array([float(loss.detach())], np.float32))
            return float(total) / self.config.batch_size
        all_ids = self._gather(ids.flatten().numpy())
        with torch.no_grad():
            for name, read in (("embedding", rows), ("linear", linear)):
                assert read.grad is not None
                gradients = self._gather(read.grad.flatten(0, 1).numpy())
                self._update_rows(name, torch.from_numpy(all_ids), torch.from_numpy(gradients))
            total_loss = self._update_dense(leaves, float(loss.detach()))
        return total_loss / self.config.batch_size

    def _is_finite(self, read: Iterable[torch.Tensor]) -> bool:
        """Takes the loss's scale out of the gradients. False on all ranks where one overflowed."""
        if not self.scale.is_on:
            return True
        gradients = [tensor.grad for tensor in read if tensor.grad is not None]
        finite = unscale(gradients, self.scale.factor)
        overflows = self._sum(np.array([not finite], np.float32))[0]
        self.scale.update(overflowed=overflows > 0)
        return bool(overflows == 0)

    def _sum(self, own: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        self.ranks.Allreduce(MPI.IN_PLACE, own, MPI.SUM)
        return own

    def _read(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        clicks = self._clicks()
        return (
            torch.tensor([float(click.label) for click in clicks]),
            torch.tensor([click.ids for click in clicks]),
            torch.tensor([click.values for click in clicks], dtype=torch.float32),
        )

    def _gather(self, own: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        gathered = np.empty((own.shape[0] * self.ranks.size, *own.shape[1:]), own.dtype)
        self.ranks.Allgather(np.ascontiguousarray(own), gathered)
        return gathered

    def _update_rows(self, name: str, ids: torch.Tensor, gradients: torch.Tensor) -> None:
        """Applies Adagrad to the rows that any rank has read."""
        rows, positions = torch.unique(ids, return_inverse=True)
        total = torch.zeros(len(rows), gradients.shape[1]).index_add_(0, positions, gradients)
        accumulator = self.weights[f"adagrad/{name}"]
        accumulator[rows] += total**2
        step = self.config.learning_rate * total / accumulator[rows].sqrt()
        self.weights[name][rows] -= step

    def _update_dense(self, leaves: Weights, loss: float) -> float:
        """Sums all dense gradients and the loss in one message; returns the total loss."""
        parts = [leaves[name].grad for name in self.dense]
        flat = np.concatenate([*(p.flatten().numpy() for p in parts if p is not None), [loss]])
        flat = self._sum(flat.astype(np.float32))
        offset = 0
        for name in self.dense:
            weight = leaves[name].detach()
            gradient = torch.from_numpy(flat[offset : offset + weight.numel()]).view_as(weight)
            offset += weight.numel()
            accumulator = self.weights[f"adagrad/{name}"]
            accumulator += gradient**2
            weight -= self.config.learning_rate * gradient / accumulator.sqrt()
            self.weights[name] = weight
        return float(flat[-1])

    @torch.no_grad()
    def finish(self) -> None:
        if not self.run.is_main:
            return
        _, ids, values = self.run.evaluation_data()
        index = torch.from_numpy(ids)
        scores = logits(
            self.weights,
            self.weights["embedding"][index],
            self.weights["linear"][index],
            torch.from_numpy(values),
        )
        self.run.finish(self.arrays(), scores.sigmoid().double().numpy())


def main() -> None:
    ranks, config = MPI.COMM_WORLD, Config.from_arguments(sys.argv[1:])
    on_host = ranks.Split_type(MPI.COMM_TYPE_SHARED)
    use_cpus(config, on_host.rank, on_host.size)
    torch.use_deterministic_algorithms(True)
    trainer = Trainer(config, ranks)
    trainer.run.print0(
        f"{ranks.size} ranks, {trainer.own} samples each, products in {trainer.kind}, "
        f"MPI of {MPI.get_vendor()}"
    )
    if trainer.train():
        trainer.finish()
    ranks.Barrier()


if __name__ == "__main__":
    main()
