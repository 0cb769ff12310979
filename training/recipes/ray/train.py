"""Trains a vision transformer whose images Ray prepares on every CPU that training does not need.

It needs strategy `ray`, which starts the cluster over every host of every group. Each worker asks
Ray for its own share of each batch. On the same number of workers an interrupted run therefore ends
with the bits of an uninterrupted one; on another number it computes the same steps on the same
samples.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import ray

import tidewheel
from config import STATE_FILE, Config

if TYPE_CHECKING:
    from learner import Learner

_KEEP_SECONDS = 120


def newest_state() -> bytes | None:
    """The newest checkpoint; None on hosts other than the leader's."""
    found = tidewheel.newest()
    return (found.folder / STATE_FILE).read_bytes() if found else None


def run(learner: Learner) -> None:
    """Trains from the learner's step to the end, or until a stop request."""
    from prepare import dataset, rows_from

    config, workers = learner.config, learner.workers
    rows = rows_from(
        learner.samples, config, steps_done=learner.step, rank=learner.rank, workers=workers
    )
    batches: Any = []
    if rows:
        data = dataset(rows, config, workers)
        # Ray's threads copy the next batches to the device while this one trains.
        batches = data.iter_torch_batches(
            batch_size=config.batch_size // workers,
            prefetch_batches=config.prefetch_batches,
            device=learner.device,
            pin_memory=learner.device.type == "cuda",
        )
    if learner.train(batches):
        learner.finish()


def gpu_count() -> int:
    """GPUs of each host that trains."""
    return int(os.environ.get("SM_NUM_GPUS") or 0)


def refuse_too_many_threads(config: Config) -> None:
    """Without this check Ray would wait forever for CPUs that the host does not have."""
    workers = max(1, gpu_count()) if config.trainer == "torch" else 1
    cpus = int(os.environ["SM_NUM_CPUS"])
    if config.threads * workers > cpus:
        raise ValueError(
            f"threads={config.threads}: {workers} workers on a host of {cpus} CPUs, "
            f"choose at most {max(1, cpus // workers)}"
        )


def keep_cpus(count: int) -> None:
    """Reserves CPUs of this host for this process, which Ray does not know."""
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    kept = ray.util.placement_group([{"CPU": count}], bundle_label_selector=[here])
    if not kept.wait(_KEEP_SECONDS):
        raise TimeoutError(
            f"Ray did not set {count} CPUs of this host aside within {_KEEP_SECONDS} s: "
            "look for what else runs in the cluster"
        )


def train_here(config: Config) -> None:
    """Ray prepares the data, and this process trains."""
    from learner import Learner

    keep_cpus(config.threads)
    learner = Learner(config, rank=0, workers=1, saves=True)
    learner.resume(newest_state())
    run(learner)


def train_worker(arguments: dict[str, Any]) -> None:
    """Runs in each worker of TorchTrainer; its imports are here because the driver needs none."""
    from ray import train
    from ray.train.torch import prepare_model

    from learner import Learner

    context = train.get_context()
    workers = context.get_world_size()
    learner = Learner(
        arguments["config"],
        rank=context.get_world_rank(),
        workers=workers,
        # Ray puts rank 0 on any of the hosts, and the model belongs on the leader's.
        saves=tidewheel.is_main_process(),
    )
    if learner.saves:
        # Its training seconds count on from those of earlier attempts.
        tidewheel.newest()
    learner.resume(arguments["checkpoint"])
    if workers > 1:
        learner.wrap(prepare_model(learner.network))
    run(learner)


def train_with_ray(config: Config) -> None:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    groups = json.loads(os.environ["SM_INSTANCE_GROUPS_DICT"])
    first = json.loads(os.environ["SM_DISTRIBUTION_INSTANCE_GROUPS"])[0]
    hosts = groups[first]["hosts"]
    gpus = gpu_count()
    trainer = TorchTrainer(
        train_worker,
        # The driver sends the checkpoint to every worker: only the leader's host must have it.
        train_loop_config={"config": config, "checkpoint": newest_state()},
        scaling_config=ScalingConfig(
            num_workers=len(hosts) * max(1, gpus),
            use_gpu=gpus > 0,
            resources_per_worker={"CPU": config.threads, first: 1, **({"GPU": 1} if gpus else {})},
            # Spreads one worker to each host, or to each GPU.
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
