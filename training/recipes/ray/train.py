"""Trains an image classifier whose data Ray prepares on the helper hosts' CPUs.

Start it with strategy `ray`: the cluster is there, with every host of every group. With one worker
an interrupted run ends with the bits of an uninterrupted one.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import ray
from learner import Learner
from prepare import dataset, describe, rows_from

import checkpoints
import tidewheel
from config import Config


def rows_after(config: Config, steps_done: int) -> list[dict[str, Any]]:
    training, _, labels = describe(config.holdout_percent)
    whole = len(training) // config.batch_size * config.batch_size
    if whole == 0:
        raise ValueError(f"{len(training)} samples are fewer than batch_size={config.batch_size}")
    return rows_from(
        training,
        labels,
        epochs=config.epochs,
        seed=config.seed,
        whole=whole,
        skip=steps_done * config.batch_size,
    )


def newest() -> tuple[checkpoints.Saved, bytes] | None:
    folder = tidewheel.checkpoint_dir()
    return checkpoints.load_newest(Path(folder)) if folder else None


def train_here(config: Config) -> None:
    """Ray prepares, this process trains."""
    learner = Learner(config, rank=0, workers=1, saves=True)
    learner.load(newest())
    rows = rows_after(config, learner.step)
    if not rows or learner.train(_batches(rows, config)):
        learner.finish()


def _batches(rows: list[dict[str, Any]], config: Config) -> Any:  # noqa: ANN401
    data = dataset(rows, config.batch_size)
    return data.iter_batches(batch_size=config.batch_size, batch_format="numpy")


def train_worker(told: dict[str, Any]) -> None:
    """Runs in each worker of TorchTrainer."""
    from ray import train
    from ray.train.torch import prepare_model

    config, found = told["config"], told["checkpoint"]
    context = train.get_context()
    rank, workers = context.get_world_rank(), context.get_world_size()
    # The agent watches the leader's folder, which need not be where Ray put the first rank.
    is_leader = os.environ["SM_CURRENT_HOST"] == told["leader"]
    learner = Learner(
        config, rank=rank, workers=workers, saves=is_leader and context.get_local_rank() == 0
    )
    learner.load(found)
    learner.model = prepare_model(learner.network) if workers > 1 else learner.network
    if "train" not in told["given"]:
        learner.finish()
        return
    data = train.get_dataset_shard("train")
    batches = data.iter_batches(
        batch_size=config.batch_size // workers, batch_format="numpy", drop_last=True
    )
    if learner.train(batches):
        learner.finish()


def train_with_ray(config: Config) -> None:
    from ray.train import DataConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    groups = json.loads(os.environ["SM_INSTANCE_GROUPS_DICT"])
    first = json.loads(os.environ["SM_DISTRIBUTION_INSTANCE_GROUPS"])[0]
    hosts = groups[first]["hosts"]
    gpus = int(os.environ.get("SM_NUM_GPUS") or 0)
    found = newest()
    rows = rows_after(config, found[0].step if found else 0)
    options = ray.data.ExecutionOptions(preserve_order=True)
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={
            "config": config,
            "checkpoint": found,
            "leader": hosts[0],
            "given": ["train"] if rows else [],
        },
        datasets={"train": dataset(rows, config.batch_size)} if rows else {},
        dataset_config=DataConfig(execution_options=options),
        scaling_config=ScalingConfig(
            num_workers=len(hosts) * max(1, gpus),
            use_gpu=gpus > 0,
            resources_per_worker={"CPU": 1, first: 1, **({"GPU": 1} if gpus else {})},
        ),
        run_config=RunConfig(storage_path=os.environ["SM_OUTPUT_INTERMEDIATE_DIR"], name="ray"),
    )
    trainer.fit()


def main() -> None:
    config = Config.from_arguments(sys.argv[1:])
    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="WARNING")
    if config.trainer == "torch":
        train_with_ray(config)
    else:
        train_here(config)


if __name__ == "__main__":
    main()
