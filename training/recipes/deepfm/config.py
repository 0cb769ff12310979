"""The recipe's settings."""

import os
from dataclasses import dataclass

from common.settings import Settings, limited, one_of


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    epochs: int = limited(3, 1, 100_000)
    """Passes over the training shards."""
    batch_size: int = limited(64, 1, 1_000_000)
    """Samples of one batch. Synchronous workers share a batch; asynchronous ones take one each."""
    learning_rate: float = limited(0.1, 1e-9, 10)
    """Adagrad's rate for this batch size; docs/training.md tells about others."""
    vocabulary: int = limited(3000, 1, 2**40)
    """Rows of the embedding table, over all fields."""
    dimensions: int = limited(8, 1, 65_536)
    """Length of an embedding."""
    hidden: int = limited(32, 1, 65_536)
    """Width of the two hidden layers."""
    checkpoint_steps: int = limited(40, 1, 10_000_000)
    """Batches between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds checkpoints by time."""
    keep_checkpoints: int = limited(2, 1, 1000)
    """Complete checkpoints to keep."""
    precision: str = one_of("auto", "float32", "bfloat16", "float16")
    """Precision of the products. `auto` is bfloat16 on GPUs that compute it, float16 with a scaled
    loss on V100 and T4, and float32 on CPUs, on older GPUs and where the layers are too small to
    gain. Weights, Adagrad's sums and the loss stay in float32."""
    seed: int = limited(17, 0, 2**31 - 1)
    """Seed of every random choice."""
    steps: int = limited(0, 0, 1_000_000_000)
    """Length of the training from a Pipe, which does not tell its length; 0 for files."""
    shuffle_buffer: int = limited(0, 0, 100_000_000)
    """Records from a Pipe among which the next one is drawn: for files whose records are sorted.
    Shards are shuffled when they are packed."""
    prefetch_batches: int = limited(0, 0, 10_000)
    """Batches that a thread reads from a Pipe before they are needed."""
    intra_threads: int = limited(0, 0, 1024)
    """Threads of one operation; 0 takes OMP_NUM_THREADS."""
    inter_threads: int = limited(0, 0, 1024)
    """Operations at once; 0 takes as many as `intra_threads` and 2 at least, in PyTorch its own."""
    affinity: str = one_of("none", "cores")
    """`cores` binds each process that computes to physical cores of its own on its host; `none`
    leaves the choice to the system."""
    timeout_minutes: int = limited(0, 0, 10_000)
    """How long Horovod's ranks wait for one that works alone; 0 is without limit. Refused where
    processes always wait without limit: under MPI's own exchange and TensorFlow's strategies."""
    pause: float = limited(0.0, 0, 3600)
    """Seconds to wait after each batch, so that tests can interrupt a short training."""

    @property
    def threads(self) -> int:
        return self.intra_threads or int(os.environ.get("OMP_NUM_THREADS") or 1)


@dataclass(frozen=True, kw_only=True)
class TensorFlowConfig(Config):
    devices: int = limited(1, 1, 1024)
    """For MirroredStrategy on a host without GPUs: logical devices of its CPU."""
    cross_device_ops: str = one_of(
        "auto", "nccl", "hierarchical-copy", "reduction-to-one-device", "ring"
    )
    """How mirrored devices sum gradients. On one host nccl, hierarchical-copy or
    reduction-to-one-device; `auto` leaves it to TensorFlow. On several hosts nccl or ring, and
    `auto` is ring. nccl needs GPUs."""
