"""Keras as its guide shows it, with BackupAndRestore; the script does not know Tidewheel."""

from __future__ import annotations

import os
import time

import keras
import numpy as np


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        time.sleep(0.1)


folder = os.environ["SAVE_TO"]
path = os.path.join(folder, "model-{epoch:02d}.keras")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(
    np.ones((40, 4), "float32"),
    np.ones((40, 1), "float32"),
    batch_size=8,
    epochs=8,
    verbose=2,
    callbacks=[
        keras.callbacks.BackupAndRestore(os.path.join(folder, "backup")),
        keras.callbacks.ModelCheckpoint(path),
        Slow(),
    ],
)
model.save(os.path.join(os.environ["SM_MODEL_DIR"], "model.keras"))
