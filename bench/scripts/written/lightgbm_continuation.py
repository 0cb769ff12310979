"""Continued training as LightGBM documents it, from a model file that a callback writes."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import lightgbm as lgb
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=400)
parser.add_argument("--snapshot", required=True)
args = parser.parse_args()

draw = np.random.default_rng(0)
inputs = draw.normal(size=(20_000, 30))
labels = (inputs[:, :5].sum(axis=1) + draw.normal(size=20_000) > 0).astype(int)
data = lgb.Dataset(inputs, labels, free_raw_data=False)


def save(env: lgb.callback.CallbackEnv) -> None:
    if (env.iteration + 1) % 20 == 0:
        env.model.save_model(args.snapshot)
        print(f"[{env.iteration + 1}] saved", flush=True)


earlier = args.snapshot if os.path.exists(args.snapshot) else None
done = lgb.Booster(model_file=earlier).current_iteration() if earlier else 0
booster = lgb.train(
    {"objective": "binary", "num_threads": 1, "deterministic": True, "verbose": -1},
    data,
    num_boost_round=args.rounds - done,
    callbacks=[save],
    init_model=earlier,
)
booster.save_model(Path(os.environ["SM_MODEL_DIR"], "model.txt"))
# Below the trees the file has the parameters of the last call, and with them its number of rounds.
trees, _, _ = booster.model_to_string().partition("\nparameters:")
Path(os.environ["SM_MODEL_DIR"], "trees.txt").write_text(trees, encoding="utf-8")
