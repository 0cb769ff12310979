"""Batches as TensorFlow reads them: in parallel, and ahead of the training.

A step takes its batch from memory. Reading ahead needs no position of its own: the plan knows which
records a step has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from plan import Batch, Plan

_WINDOW_STEPS = 1000
"""Of one pipeline. It holds the places of its batches, and a long training has many."""


def pipeline(batches: Sequence[Batch], prepare: Callable[[Any, Any], Any]) -> Any:  # noqa: ANN401
    """`prepare(path, first)` of each batch, in their order; TensorFlow chooses how many at once."""
    places = ([str(b.shard) for b in batches], np.array([b.first for b in batches], np.int64))
    data = tf.data.Dataset.from_tensor_slices(places)
    return data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)


class Shares:
    """The next share of a batch for each replica of this process, from `step` on.

    For `experimental_distribute_values_from_function`. `size`: records of a share.
    """

    def __init__(self, plan: Plan, step: int, size: int, shape: tuple[int, int]) -> None:
        self._plan, self._step, self._size, self._shape = plan, step, size, shape
        self._ahead: dict[int, Iterator[Any]] = {}

    def __call__(self, context: tf.distribute.experimental.ValueContext) -> Any:  # noqa: ANN401
        number = context.replica_id_in_sync_group
        if number not in self._ahead:
            self._ahead[number] = self._shares(number * self._size)
        return next(self._ahead[number])

    def _shares(self, offset: int) -> Iterator[Any]:
        def prepare(path: Any, first: Any) -> Any:  # noqa: ANN401
            return parse(read_records(path, first + offset, self._size), *self._shape)

        for begin in range(self._step, self._plan.total, _WINDOW_STEPS):
            batches = self._plan.batches_between(begin, begin + _WINDOW_STEPS)
            yield from pipeline(batches, prepare).prefetch(tf.data.AUTOTUNE)


def read_records(path: Any, first: Any, size: int) -> Any:  # noqa: ANN401
    records = tf.data.TFRecordDataset(path).skip(first).take(size).batch(size)
    return records.get_single_element()


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
