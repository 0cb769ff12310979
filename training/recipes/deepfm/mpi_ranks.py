"""TensorFlow's DeepFM as one rank of an MPI job. mpi4py sums the gradients, for Horovod's last
release does not build with a TensorFlow of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from mpi4py import MPI

import tidewheel
from config import TensorFlowConfig as Config
from tensorflow_input import Shares
from tensorflow_model import adagrad, read_arrays

if TYPE_CHECKING:
    from train_tensorflow import Trainer


def all_ranks() -> MPI.Intracomm:
    return MPI.COMM_WORLD


def use_own_gpu(environment: Mapping[str, str]) -> None:
    """Else each rank of a host takes the memory of all its GPUs."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        # With training.pinGpus a rank sees one.
        local = int(environment.get("TIDEWHEEL_LOCAL_RANK", "0"))
        tf.config.set_visible_devices(gpus[local % len(gpus)], "GPU")


def train_as_rank(config: Config, trainer: Trainer, ranks: MPI.Intracomm) -> None:
    """Every rank computes its share of each batch, and applies the sums of all."""
    run, own = trainer.run, trainer.run.own_share(ranks.size)

    @tf.function  # type: ignore[untyped-decorator]
    def compute(share: Any, factor: Any) -> Any:  # noqa: ANN401
        loss, overflow, updates = trainer.gradients(share, factor)
        return loss, 0.0 if overflow is None else overflow, [each for _, _, each in updates]

    @tf.function  # type: ignore[untyped-decorator]
    def apply(gradients: Sequence[Any]) -> None:
        for (part, accumulator), gradient in zip(trainer.pairs(), gradients, strict=True):
            adagrad(part, accumulator, gradient, config.learning_rate)

    run.print0(
        f"{ranks.size} ranks, {own} samples each, products in {trainer.kind.name}, "
        f"sums by MPI of {MPI.get_vendor()}"
    )
    _start_alike(trainer, ranks)
    shares = Shares(run.plan, run.positions, trainer.step, own, trainer.shape)
    place = tf.distribute.experimental.ValueContext(ranks.rank, ranks.size)
    while trainer.step < run.plan.total:
        loss, overflow, gradients = compute(shares(place), trainer.factor())
        trainer.step += 1
        is_due = run.is_main and run.is_due(trainer.step)
        # The flags are summed with the gradients: all save, and all leave, at the same step.
        flags = [float(overflow), float(tidewheel.stop_soon()), float(is_due)]
        sums, (total_loss, overflows, stopping, due) = exchanged(
            gradients, [float(loss), *flags], ranks
        )
        trainer.scale.update(overflowed=overflows > 0)
        if overflows == 0:
            apply(sums)
        tidewheel.stepped(own)
        if trainer.end_step(total_loss, due=due > 0, stopping=stopping > 0):
            break
    else:
        trainer.finish(read_arrays(trainer.variables))
    ranks.Barrier()


def _start_alike(trainer: Trainer, ranks: MPI.Intracomm) -> None:
    """All take what rank 0 has resumed: other hosts may not have the checkpoint."""
    own = (trainer.step, trainer.scale.state, read_arrays(trainer.variables))
    trainer.step, trainer.scale.state, learned = ranks.bcast(own if ranks.rank == 0 else None)
    for name, value in learned.items():
        trainer.variables[name].assign(value)


def exchanged(
    gradients: Sequence[Any], figures: Sequence[float], ranks: MPI.Intracomm
) -> tuple[list[Any], list[float]]:
    """Sums of all ranks; of a table only the rows that a rank has read. One message carries all
    dense gradients and the figures."""
    dense = [each for each in gradients if not isinstance(each, tf.IndexedSlices)]
    flat = np.concatenate([*(each.numpy().ravel() for each in dense), figures]).astype(np.float32)
    ranks.Allreduce(MPI.IN_PLACE, flat, MPI.SUM)
    sums, begin = [], 0
    for gradient in gradients:
        if isinstance(gradient, tf.IndexedSlices):
            values = _gathered(gradient.values.numpy(), ranks)
            indices = _gathered(gradient.indices.numpy(), ranks)
            sums.append(tf.IndexedSlices(tf.constant(values), tf.constant(indices)))
        else:
            end = begin + gradient.shape.num_elements()
            sums.append(tf.constant(flat[begin:end].reshape(gradient.shape)))
            begin = end
    return sums, [float(value) for value in flat[begin:]]


def _gathered(own: npt.NDArray[Any], ranks: MPI.Intracomm) -> npt.NDArray[Any]:
    """In the order of the ranks, so that each of them adds up in the same order."""
    gathered = np.empty((own.shape[0] * ranks.size, *own.shape[1:]), own.dtype)
    ranks.Allgather(np.ascontiguousarray(own), gathered)
    return gathered
