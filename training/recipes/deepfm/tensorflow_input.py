"""Batches as TensorFlow reads them: in parallel, and ahead of the training.

A step takes its batch from memory. Reading ahead needs no position of its own: the plan knows which
records a step has, and the run where each of them begins.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from plan import Batch, Plan
from records import HEAD_BYTES

Positions: TypeAlias = Mapping[Path, Sequence[tuple[int, int]]]
"""Offset and length of every record of a shard."""
_WINDOW_STEPS = 1000
"""Of one pipeline. It holds the places of its batches, and a long training has many."""


def begin_of(positions: Positions, batch: Batch, skipped: int = 0) -> int:
    """The byte of the shard at which the batch begins, without its first `skipped` records."""
    return positions[batch.shard][batch.first + skipped][0] - HEAD_BYTES


def pipeline(
    batches: Sequence[Batch],
    positions: Positions,
    prepare: Callable[[Any, Any], Any],
    skipped: int = 0,
) -> Any:  # noqa: ANN401
    """`prepare(path, begin)` of each batch, in their order; TensorFlow chooses how many at once."""
    begins = [begin_of(positions, batch, skipped) for batch in batches]
    places = ([str(b.shard) for b in batches], np.array(begins, np.int64))
    data = tf.data.Dataset.from_tensor_slices(places)
    return data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)


class Shares:
    """The next share of a batch for each replica of this process, from `step` on.

    For `experimental_distribute_values_from_function`. `size`: records of a share.
    """

    def __init__(
        self, plan: Plan, positions: Positions, step: int, size: int, shape: tuple[int, int]
    ) -> None:
        self._plan, self._positions = plan, positions
        self._step, self._size, self._shape = step, size, shape
        self._ahead: dict[int, Iterator[Any]] = {}

    def __call__(self, context: tf.distribute.experimental.ValueContext) -> Any:  # noqa: ANN401
        number = context.replica_id_in_sync_group
        if number not in self._ahead:
            self._ahead[number] = self._shares(number * self._size)
        return next(self._ahead[number])

    def _shares(self, skipped: int) -> Iterator[Any]:
        def prepare(path: Any, begin: Any) -> Any:  # noqa: ANN401
            return parse(read_records(path, begin, self._size), *self._shape)

        for first in range(self._step, self._plan.total, _WINDOW_STEPS):
            batches = self._plan.batches_between(first, first + _WINDOW_STEPS)
            shares = pipeline(batches, self._positions, prepare, skipped)
            yield from shares.prefetch(tf.data.AUTOTUNE)


def read_records(path: Any, begin: Any, size: int) -> Any:  # noqa: ANN401
    """The operation seeks. `TFRecordDataset(path).skip(n)` reads and checks all n records, for
    each batch again."""
    files = tf.raw_ops.TFRecordDatasetV2(
        filenames=[path], compression_type="", buffer_size=256 << 10, byte_offsets=[begin]
    )
    records = tf.data.experimental.from_variant(files, tf.TensorSpec([], tf.string))
    return records.take(size).batch(size).get_single_element()


def parse(serialized: Any, fields: int, values: int) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """Labels, ids and values of many records at once."""
    found = tf.io.parse_example(
        serialized,
        {
            "label": tf.io.FixedLenFeature([], tf.int64),
            "ids": tf.io.FixedLenFeature([fields], tf.int64),
            "values": tf.io.FixedLenFeature([values], tf.float32),
        },
    )
    return tf.cast(found["label"], tf.float32), found["ids"], found["values"]
