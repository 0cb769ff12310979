"""Trains DeepFM with PyTorch and MPI: `mpiexec -n N python train_mpi.py`, on one host or many.

Each rank computes its share of each batch; gradients are summed by MPI, those of the embeddings as
the rows that were read, so that a table may be as large as a host's memory. Every rank has the same
number of batches and applies the same sums in the same order: the ranks' weights stay equal, and an
interrupted run ends with the bits of an uninterrupted one on the same number of ranks.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import numpy.typing as npt
import torch
from mpi4py import MPI

import tidewheel
from arrays import Arrays
from campaign import Campaign, first_weights
from config import Config
from pipe import PipeReader, is_piped
from records import Click, read_clicks
from torch_model import TABLES, Weights, logits


class Trainer:
    def __init__(self, config: Config, ranks: MPI.Intracomm) -> None:
        self.config, self.ranks = config, ranks
        if config.batch_size % ranks.size:
            raise ValueError(
                f"batch_size={config.batch_size}: choose a multiple of {ranks.size} ranks"
            )
        self.own = config.batch_size // ranks.size
        self.campaign = Campaign(config, is_first=ranks.rank == 0, reads_pipes=True)
        path, _ = self.campaign.plan.shards[0]
        example = next(read_clicks(path, self.campaign.positions[path][:1]))
        # The first rank's checkpoint holds for all; the others may never have seen it.
        found = self.campaign.resume() if ranks.rank == 0 else None
        self.step, learnt = ranks.bcast(found)
        start = learnt or first_weights(config, len(example.ids), len(example.values))
        self.weights = {name: torch.from_numpy(value.copy()) for name, value in start.items()}
        self.pipe: PipeReader | None = None
        if is_piped():
            on_host = ranks.Split_type(MPI.COMM_TYPE_SHARED)
            self.pipe = PipeReader(int(os.environ.get("TIDEWHEEL_LOCAL_RANK", on_host.rank)))
            self._find_position(self.pipe)
        self.dense = [n for n in self.weights if "/" not in n and n not in TABLES]

    def train(self) -> bool:
        """Trains to the end, True; or until told to stop, saved, False."""
        total = self.campaign.total
        while self.step < total:
            loss = self._learn()
            self.step += 1
            late = self.campaign.is_first and self.campaign.is_due(self.step)
            flags = np.array([tidewheel.stop_soon(), late], np.int32)
            # All leave, and all save, at the same step.
            self.ranks.Allreduce(MPI.IN_PLACE, flags, MPI.MAX)
            stopping, due = (bool(flag) for flag in flags)
            if due or stopping or self.step % 10 == 0:
                self.campaign.tell(self.step, loss=loss)
            time.sleep(self.config.pause)
            if due or stopping:
                self.campaign.save(self.step, self.arrays())
            if stopping and self.step < total:
                self.campaign.say(f"told to stop: saved step {self.step} and leaving")
                return False
        return True

    def _find_position(self, pipe: PipeReader) -> None:
        """Past the batches that were learnt before: read in the first epoch, which says how many an
        epoch has, left out whole in the others, and read in the last."""
        pipe.next_epoch()
        per_epoch = 0
        while per_epoch < self.step and self._take(pipe) is not None:
            per_epoch += 1
        if per_epoch == self.step:
            return
        if per_epoch == 0:
            raise ValueError("the Pipes hold less than a batch: lower batch_size")
        epochs, batches = divmod(self.step, per_epoch)
        for _ in range(epochs):
            pipe.next_epoch()
        for _ in range(batches):
            self._take(pipe)

    def _take(self, pipe: PipeReader) -> list[Click] | None:
        """This rank's share of a batch; None for all as soon as one has too little left."""
        clicks = pipe.take(self.own)
        have = np.array([clicks is not None], np.int32)
        self.ranks.Allreduce(MPI.IN_PLACE, have, MPI.MIN)
        return clicks if have[0] else None

    def _clicks(self) -> list[Click]:
        if self.pipe is None:
            (batch,) = self.campaign.plan.between(self.step, self.step + 1)
            first = batch.first + self.ranks.rank * self.own
            positions = self.campaign.positions[batch.shard][first : first + self.own]
            return list(read_clicks(batch.shard, positions))
        clicks = self._take(self.pipe)
        if clicks is None:
            self.pipe.next_epoch()
            clicks = self._take(self.pipe)
        if clicks is None:
            raise ValueError("the Pipes hold less than a batch: lower batch_size")
        return clicks

    def arrays(self) -> Arrays:
        return {name: value.detach().numpy() for name, value in self.weights.items()}

    def _learn(self) -> float:
        labels, ids, values = self._read()
        rows = self.weights["embedding"][ids].requires_grad_()
        linear = self.weights["linear"][ids].requires_grad_()
        leaves = {name: self.weights[name].requires_grad_() for name in self.dense}
        scores = logits(leaves, rows, linear, values)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
        torch.autograd.backward(loss / self.config.batch_size)
        all_ids = self._gather(ids.flatten().numpy())
        with torch.no_grad():
            for name, read in (("embedding", rows), ("linear", linear)):
                assert read.grad is not None
                gradients = self._gather(read.grad.flatten(0, 1).numpy())
                self._update_rows(name, torch.from_numpy(all_ids), torch.from_numpy(gradients))
            told = self._update_dense(leaves, float(loss.detach()))
        return told / self.config.batch_size

    def _read(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        clicks = self._clicks()
        return (
            torch.tensor([float(click.label) for click in clicks]),
            torch.tensor([click.ids for click in clicks]),
            torch.tensor([click.values for click in clicks], dtype=torch.float32),
        )

    def _gather(self, own: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        everyone = np.empty((own.shape[0] * self.ranks.size, *own.shape[1:]), own.dtype)
        self.ranks.Allgather(np.ascontiguousarray(own), everyone)
        return everyone

    def _update_rows(self, name: str, ids: torch.Tensor, gradients: torch.Tensor) -> None:
        """Adagrad on the rows that some rank has read."""
        rows, place = torch.unique(ids, return_inverse=True)
        total = torch.zeros(len(rows), gradients.shape[1]).index_add_(0, place, gradients)
        kept = self.weights[f"adagrad/{name}"]
        kept[rows] += total**2
        self.weights[name][rows] -= self.config.learning_rate * total / kept[rows].sqrt()

    def _update_dense(self, leaves: Weights, loss: float) -> float:
        """One message for all of them, and the loss."""
        parts = [leaves[name].grad for name in self.dense]
        flat = np.concatenate([*(p.flatten().numpy() for p in parts if p is not None), [loss]])
        flat = flat.astype(np.float32)
        self.ranks.Allreduce(MPI.IN_PLACE, flat, MPI.SUM)
        at = 0
        for name in self.dense:
            weight = leaves[name].detach()
            gradient = torch.from_numpy(flat[at : at + weight.numel()]).view_as(weight)
            at += weight.numel()
            kept = self.weights[f"adagrad/{name}"]
            kept += gradient**2
            weight -= self.config.learning_rate * gradient / kept.sqrt()
            self.weights[name] = weight
        return float(flat[-1])

    @torch.no_grad()
    def finish(self) -> None:
        if not self.campaign.is_first:
            return
        _, ids, values = self.campaign.evaluation_data()
        index = torch.from_numpy(ids)
        scores = logits(
            self.weights,
            self.weights["embedding"][index],
            self.weights["linear"][index],
            torch.from_numpy(values),
        )
        self.campaign.finish(self.arrays(), scores.sigmoid().double().numpy())


def main() -> None:
    ranks = MPI.COMM_WORLD
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.use_deterministic_algorithms(True)
    trainer = Trainer(Config.from_arguments(sys.argv[1:]), ranks)
    trainer.campaign.say(
        f"{ranks.size} ranks, {trainer.own} samples each, MPI of {MPI.get_vendor()}"
    )
    if trainer.train():
        trainer.finish()
    ranks.Barrier()


if __name__ == "__main__":
    main()
