"""Keras' fit with BackupAndRestore, as the class documents it, on PyTorch."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--backup", required=True)
parser.add_argument("--epochs", type=int, default=15)
args = parser.parse_args()

keras.utils.set_random_seed(0)
draw = np.random.default_rng(0)
inputs = draw.normal(size=(2000, 32)).astype("float32")
labels = (inputs @ draw.normal(size=(32, 4))).argmax(axis=1)
model = keras.Sequential([keras.layers.Dense(128, activation="relu"), keras.layers.Dense(4)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
backup = keras.callbacks.BackupAndRestore(args.backup, delete_checkpoint=False)
model.fit(
    inputs, labels, batch_size=50, epochs=args.epochs, shuffle=False, verbose=2, callbacks=[backup]
)
np.savez(Path(os.environ["SM_MODEL_DIR"], "model.npz"), *model.get_weights())
