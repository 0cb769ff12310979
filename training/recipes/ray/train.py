"""Trains a vision transformer whose images Ray prepares on every CPU that training leaves.

Start it with strategy `ray`: the cluster is there, with every host of every group. Each worker
asks Ray for its own share of each batch, so an interrupted run ends with the bits of an
uninterrupted one on the same number of workers, and on another number computes the same steps on
the same samples.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

import tidewheel
from common import checkpoints
from config import Config

if TYPE_CHECKING:
    from learner import Learner

_KEEP_SECONDS = 120


def newest() -> tuple[checkpoints.Saved, bytes] | None:
    folder = tidewheel.checkpoint_dir()
    return checkpoints.load_newest(Path(folder)) if folder else None


def learn(learner: Learner) -> None:
    """From where the learner is to the end, or until told to stop."""
    from prepare import dataset, rows_from

    config, workers = learner.config, learner.workers
    rows = rows_from(
        learner.samples, config, steps_done=learner.step, rank=learner.rank, workers=workers
    )
    batches: Any = []
    if rows:
        data = dataset(rows, config, workers)
        batches = data.iter_batches(batch_size=config.batch_size // workers, batch_format="numpy")
    if learner.train(batches):
        learner.finish()


def gpu_count() -> int:
    """Of each host that trains."""
    return int(os.environ.get("SM_NUM_GPUS") or 0)


def refuse_too_many_threads(config: Config) -> None:
    """Ray would wait for the CPUs of a host that has not as many."""
    workers = max(1, gpu_count()) if config.trainer == "torch" else 1
    cpus = int(os.environ["SM_NUM_CPUS"])
    if config.threads * workers > cpus:
        raise ValueError(
            f"threads={config.threads}: {workers} workers on a host of {cpus} CPUs, "
            f"choose at most {max(1, cpus // workers)}"
        )


def keep_cpus(count: int) -> None:
    """Takes CPUs of this host out of Ray's accounts, for this process, which is none of Ray's."""
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    kept = ray.util.placement_group([{"CPU": count}], bundle_label_selector=[here])
    if not kept.wait(_KEEP_SECONDS):
        raise TimeoutError(
            f"Ray did not set {count} CPUs of this host aside within {_KEEP_SECONDS} s: "
            "look for what else runs in the cluster"
        )


def train_here(config: Config) -> None:
    """Ray prepares, this process trains."""
    from learner import Learner

    keep_cpus(config.threads)
    learner = Learner(config, rank=0, workers=1, saves=True)
    learner.load(newest())
    learn(learner)


def train_worker(told: dict[str, Any]) -> None:
    """Runs in each worker of TorchTrainer. The driver does without what only workers need."""
    from ray import train
    from ray.train.torch import prepare_model

    from learner import Learner

    context = train.get_context()
    workers = context.get_world_size()
    learner = Learner(
        told["config"],
        rank=context.get_world_rank(),
        workers=workers,
        # Not rank 0, which Ray puts on any of the hosts: the model belongs on the leader's.
        saves=tidewheel.is_main_process(),
    )
    learner.load(told["checkpoint"])
    if workers > 1:
        learner.wrap(prepare_model(learner.network))
    learn(learner)


def train_with_ray(config: Config) -> None:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    groups = json.loads(os.environ["SM_INSTANCE_GROUPS_DICT"])
    first = json.loads(os.environ["SM_DISTRIBUTION_INSTANCE_GROUPS"])[0]
    hosts = groups[first]["hosts"]
    gpus = gpu_count()
    trainer = TorchTrainer(
        train_worker,
        # Only the leader's host need have the checkpoint: it goes to every worker from here.
        train_loop_config={"config": config, "checkpoint": newest()},
        scaling_config=ScalingConfig(
            num_workers=len(hosts) * max(1, gpus),
            use_gpu=gpus > 0,
            resources_per_worker={"CPU": config.threads, first: 1, **({"GPU": 1} if gpus else {})},
            # One worker a host, or one a GPU: none of them gets another's.
            placement_strategy="SPREAD",
        ),
        run_config=RunConfig(storage_path=os.environ["SM_OUTPUT_INTERMEDIATE_DIR"], name="ray"),
    )
    trainer.fit()


def main() -> None:
    config = Config.from_arguments(sys.argv[1:])
    refuse_too_many_threads(config)
    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="WARNING")
    if config.trainer == "torch":
        train_with_ray(config)
    else:
        train_here(config)


if __name__ == "__main__":
    main()
