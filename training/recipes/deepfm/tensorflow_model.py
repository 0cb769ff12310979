"""DeepFM in TensorFlow without Keras, because Keras 3 does not run under these strategies.

The model (https://arxiv.org/abs/1703.04247) adds first-order terms, pairs by factorization, and a
deep part over the same embeddings. Adagrad is sparse for the embeddings.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from arrays import Arrays

TABLES = ("embedding", "linear")
LAYERS = ("hidden1", "hidden1_bias", "hidden2", "hidden2_bias", "output")


def make_variables(arrays: Arrays) -> dict[str, Any]:
    """One variable per array; parameter servers make each table a ShardedVariable."""
    variables: dict[str, Any] = {}
    for name, value in arrays.items():
        is_table = name.removeprefix("adagrad/") in TABLES
        initial = _part_of(value) if is_table else value
        variables[name] = tf.Variable(
            initial, name=name.replace("/", "_"), shape=value.shape, dtype=tf.float32
        )
    return variables


def _part_of(value: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401 (what tf.Variable calls back)
    def initial(**partition: Any) -> Any:  # noqa: ANN401
        shape = partition.get("partition_shape")
        offset = partition.get("partition_offset")
        if shape is None or offset is None:
            return tf.constant(value)
        return tf.constant(value[offset[0] : offset[0] + shape[0]])

    # TensorFlow reads from the signature whether the function can make parts.
    def with_parts(
        shape: Any = None,  # noqa: ANN401
        dtype: Any = None,  # noqa: ANN401
        partition_shape: Any = None,  # noqa: ANN401
        partition_offset: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        return initial(partition_shape=partition_shape, partition_offset=partition_offset)

    return with_parts


def parts_of(variable: Any) -> list[Any]:  # noqa: ANN401
    return list(getattr(variable, "variables", [variable]))


def bytes_by_device(variables: dict[str, Any]) -> dict[str, int]:
    """The size of the parts that each device holds, by the devices' names in order."""
    sizes: dict[str, int] = {}
    for part in (part for variable in variables.values() for part in parts_of(variable)):
        size = part.shape.num_elements() * part.dtype.size
        sizes[part.device] = sizes.get(part.device, 0) + size
    return dict(sorted(sizes.items()))


def read_arrays(variables: dict[str, Any]) -> Arrays:
    """Whole arrays, gathered from all their parts."""
    return {
        name: np.concatenate([part.numpy() for part in parts_of(variable)])
        for name, variable in variables.items()
    }


def capability() -> tuple[int, int] | None:
    """The capability of this process's oldest GPU; None without one."""
    details = [
        tf.config.experimental.get_device_details(gpu)
        for gpu in tf.config.get_visible_devices("GPU")
    ]
    return min((found.get("compute_capability", (0, 0)) for found in details), default=None)


def unscaled(gradients: list[Any], factor: Any) -> tuple[list[Any], Any]:  # noqa: ANN401
    """The gradients of a loss that was multiplied by `factor`, and 1 where one of them overflowed,
    else 0."""
    values = [getattr(gradient, "values", gradient) for gradient in gradients]
    finite = [tf.reduce_all(tf.math.is_finite(each)) for each in values]
    overflow = 1 - tf.cast(tf.reduce_all(finite), tf.float32)
    return [with_values(each, lambda values: values / factor) for each in gradients], overflow


def with_values(gradient: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


def logits(
    variables: dict[str, Any],
    ids: Any,  # noqa: ANN401
    values: Any,  # noqa: ANN401
    kind: Any = tf.float32,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """In float32; the layers are computed in `kind`, from weights that stay in float32."""
    own = {name: tf.cast(variables[name], kind) for name in LAYERS}
    # ShardedVariable partitions rows one after the other ("div").
    look_up = tf.nn.embedding_lookup
    rows = look_up(variables["embedding"], ids)
    first = tf.reduce_sum(look_up(variables["linear"], ids), axis=[1, 2])
    first += tf.squeeze(tf.matmul(values, variables["value_weights"]), 1) + variables["bias"]
    summed = tf.reduce_sum(rows, 1)
    pairs = 0.5 * tf.reduce_sum(summed**2 - tf.reduce_sum(rows**2, 1), 1)
    wide = rows.shape[1] * rows.shape[2]
    deep = tf.cast(tf.concat([tf.reshape(rows, [-1, wide]), values], 1), kind)
    deep = tf.nn.relu(tf.matmul(deep, own["hidden1"]) + own["hidden1_bias"])
    deep = tf.nn.relu(tf.matmul(deep, own["hidden2"]) + own["hidden2_bias"])
    scores = tf.cast(tf.matmul(deep, own["output"]), tf.float32)
    return first + pairs + tf.squeeze(scores, 1)


def adagrad(
    variable: Any,  # noqa: ANN401
    accumulator: Any,  # noqa: ANN401
    gradient: Any,  # noqa: ANN401
    rate: float,
    overflow: Any = None,  # noqa: ANN401
) -> None:
    """Updates one part of a variable; of a table only the rows that were read. With an `overflow`
    above 0 nothing changes."""
    if overflow is not None:
        gradient = with_values(gradient, lambda g: tf.where(overflow > 0, tf.zeros_like(g), g))
    if isinstance(gradient, tf.IndexedSlices):
        rows, place = tf.unique(gradient.indices)
        total = tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))
        accumulator.scatter_add(tf.IndexedSlices(total**2, rows))
        size = tf.sqrt(tf.gather(accumulator, rows))
        variable.scatter_sub(tf.IndexedSlices(rate * total / size, rows))
    else:
        accumulator.assign_add(gradient**2)
        variable.assign_sub(rate * gradient / tf.sqrt(accumulator))
