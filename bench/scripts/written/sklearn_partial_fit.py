"""Incremental learning with joblib files, as scikit-learn documents both."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import joblib
import numpy as np
from sklearn.neural_network import MLPClassifier

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--out", required=True)
parser.add_argument("--from", dest="earlier")
args = parser.parse_args()

draw = np.random.default_rng(0)
inputs = draw.normal(size=(4000, 40))
labels = (inputs @ draw.normal(size=(40, 5))).argmax(axis=1)

state = joblib.load(args.earlier) if args.earlier else None
model = state["model"] if state else MLPClassifier((128,), random_state=0)
for epoch in range(state["epoch"] + 1 if state else 0, args.epochs):
    for start in range(0, len(inputs), 200):
        part = slice(start, start + 200)
        model.partial_fit(inputs[part], labels[part], classes=np.arange(5))
    print(f"epoch {epoch}: loss {model.loss_:.4f}", flush=True)
    joblib.dump({"epoch": epoch, "model": model}, Path(args.out, f"model-{epoch}.joblib"))
weights = [*model.coefs_, *model.intercepts_]
np.savez(Path(os.environ["SM_MODEL_DIR"], "model.npz"), *weights)
