"""After https://keras.io/examples/vision: `fit` over a tf.data pipeline that reads one file at
a time, without prefetch. `--parallel` adds what
https://www.tensorflow.org/guide/data_performance says."""

from __future__ import annotations

import argparse
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from images import make, open_image, rows_of

folder = make(Path("images"))
names, labels = zip(*rows_of(folder), strict=True)


def load(name: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    def read(value: tf.Tensor) -> np.ndarray:
        return np.array(open_image(folder / value.numpy().decode()).resize((64, 64)), np.float32)

    image = tf.py_function(read, [name], tf.float32)
    image.set_shape((64, 64, 3))
    return image / 255, label


parser = argparse.ArgumentParser()
parser.add_argument("--parallel", action="store_true")
arguments = parser.parse_args()
tf.config.threading.set_intra_op_parallelism_threads(1)
calls = tf.data.AUTOTUNE if arguments.parallel else None
data = tf.data.Dataset.from_tensor_slices((list(names), list(labels))).repeat()
data = data.map(load, num_parallel_calls=calls).batch(16)
if arguments.parallel:
    data = data.prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(data, epochs=1_000, steps_per_epoch=200, verbose=0)
