"""Boosting that saves its rounds and goes on from them, as XGBoost's callbacks are documented."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import xgboost as xgb

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=400)
parser.add_argument("--checkpoints", required=True)
parser.add_argument("--resume")
args = parser.parse_args()

draw = np.random.default_rng(0)
inputs = draw.normal(size=(20_000, 30))
labels = (inputs[:, :5].sum(axis=1) + draw.normal(size=20_000) > 0).astype(int)
data = xgb.DMatrix(inputs, labels)

booster = xgb.Booster(model_file=args.resume) if args.resume else None
done = booster.num_boosted_rounds() if booster else 0
print(f"resuming at {done}", flush=True)
save = xgb.callback.TrainingCheckPoint(args.checkpoints, name="model", interval=20)
booster = xgb.train(
    {"objective": "binary:logistic", "max_depth": 6, "nthread": 1},
    data,
    num_boost_round=args.rounds - done,
    evals=[(data, "train")],
    verbose_eval=20,
    callbacks=[save],
    xgb_model=booster,
)
booster.save_model(Path(os.environ["SM_MODEL_DIR"], "model.ubj"))
