"""How long a compiled step of Keras on TensorFlow waits for `tf.data`.

Such a step takes its batch inside of the graph. The iterator itself records the gaps between two
calls of GetNext, and `tf.data.experimental.get_model_proto` tells the last hundred of them: what a
step takes beyond its gap, it waited. To read them takes nothing from the dataset.
"""

from __future__ import annotations

import weakref
from time import monotonic
from typing import Any

from .cells import INPUT_WAIT, RING, RING_LENGTH, STEPS

_SECONDS = 5.0
"""Between two readings; one takes some 0.4 ms."""
_LEAST_GAPS = 5


class TensorFlowInput:
    def __init__(self) -> None:
        self._iterator: weakref.ref[Any] | None = None
        self._read_at = 0.0
        self._counted = 0
        self._wait = 0.0

    def took(self, iterator: Any) -> None:
        """`iterator`: of `fit`, `evaluate` or `predict`."""
        known = self._iterator() if self._iterator is not None else None
        if known is not iterator:
            self._iterator = weakref.ref(iterator)

    def stepped(self, values: Any) -> None:
        """After each step of `fit`, on its thread."""
        if self._iterator is None or values is None or monotonic() < self._read_at:
            return
        self._read_at = monotonic() + _SECONDS
        steps = int(values[STEPS])
        iterator = self._iterator()
        gaps = [] if iterator is None else _gaps_of(iterator)[-min(steps - 1, RING_LENGTH - 1) :]
        if steps > 1 and len(gaps) >= _LEAST_GAPS:
            end, begin = (values[RING + number % RING_LENGTH] for number in _ends(steps, len(gaps)))
            self._wait = max(0.0, (end - begin - sum(gaps)) / len(gaps))
        values[INPUT_WAIT] += self._wait * (steps - self._counted)
        self._counted = steps


def _ends(steps: int, count: int) -> tuple[int, int]:
    return steps - 1, steps - 1 - count


def _gaps_of(iterator: Any) -> list[float]:
    """Seconds. Raises where the dataset's options have switched autotuning off."""
    from tensorflow.data.experimental import get_model_proto

    return [gap / 1e6 for gap in get_model_proto(iterator).gap_times]
