"""Trains DeepFM under TensorFlow's strategies: parameter servers, or mirrored workers.

TF_CONFIG says which: with the task kinds chief and ps it is a parameter-server cluster, with
workers alone MultiWorkerMirroredStrategy, and without TF_CONFIG MirroredStrategy. With
TIDEWHEEL_DATA_SERVICE one process trains, and the helper hosts prepare its data.

Mirrored workers take the same share of each batch at every step, so an interrupted run ends with
the bits of an uninterrupted one. Asynchronous workers apply their batches in the order in which
they finish, so the same batches give a slightly different model each time, interrupted or not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

# Said before TensorFlow is imported: its messages hide the training's.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import tidewheel
from arrays import Arrays
from campaign import Campaign, first_weights
from config import Config
from records import read_clicks
from tensorflow_model import (
    adagrad,
    logits,
    make_variables,
    parse,
    parts_of,
    read_arrays,
    read_batch,
)


class Trainer:
    """One process that steers: the chief, or each of the mirrored workers."""

    def __init__(self, config: Config, strategy: Any, *, index: int, workers: int) -> None:  # noqa: ANN401
        self.config, self.strategy, self.workers = config, strategy, workers
        self.campaign = Campaign(config, is_first=index == 0)
        path, _ = self.campaign.plan.shards[0]
        example = next(read_clicks(path, self.campaign.positions[path][:1]))
        self.shape = (len(example.ids), len(example.values))
        self.step, learnt = self.campaign.resume()
        with strategy.scope():
            # Mirrored workers take the first worker's values, whatever they found themselves.
            self.variables = make_variables(learnt or first_weights(config, *self.shape))

    def gradients(self, batch: Any, of: float) -> tuple[Any, list[tuple[Any, Any, Any]]]:  # noqa: ANN401
        """Loss and (part, accumulator part, gradient); `of` samples count as the whole batch."""
        labels, ids, values = batch
        names = [name for name in self.variables if not name.startswith("adagrad/")]
        parts = [part for name in names for part in parts_of(self.variables[name])]
        kept = [part for name in names for part in parts_of(self.variables[f"adagrad/{name}"])]
        with tf.GradientTape() as tape:
            scores = logits(self.variables, ids, values)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores)
            loss = tf.reduce_sum(losses) / of
        return loss, list(zip(parts, kept, tape.gradient(loss, parts), strict=True))

    def finish(self, arrays: Arrays) -> None:
        if not self.campaign.is_first:
            return
        _, ids, values = self.campaign.evaluation_data()
        constants = {name: tf.constant(value) for name, value in arrays.items()}
        scores = tf.sigmoid(logits(constants, tf.constant(ids), tf.constant(values)))
        self.campaign.finish(arrays, np.asarray(scores, np.float64))

    def stop_or_save(self, due: bool, stopping: bool) -> bool:
        """True when it is time to leave. Reading the variables may need every worker."""
        if due or stopping:
            self.campaign.save(self.step, read_arrays(self.variables))
        if stopping and self.step < self.campaign.plan.total:
            self.campaign.say(f"told to stop: saved step {self.step} and leaving")
            return True
        return False


def train_with_servers(config: Config, resolver: Any) -> None:  # noqa: ANN401
    """The chief plans; workers read their batches themselves; parameter servers hold the rest."""
    spec = resolver.cluster_spec()
    servers, workers = spec.num_tasks("ps"), spec.num_tasks("worker")
    strategy = tf.distribute.ParameterServerStrategy(
        resolver,
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=16 << 10, max_shards=servers
        ),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    trainer = Trainer(config, strategy, index=0, workers=workers)
    campaign = trainer.campaign
    held = {name: len(parts_of(v)) for name, v in trainer.variables.items() if "/" not in name}
    campaign.say(f"{workers} workers, {servers} parameter servers, parts: {held}")

    @tf.function  # type: ignore[untyped-decorator]
    def learn(path: Any, first: Any) -> Any:  # noqa: ANN401
        def on_worker(path: Any, first: Any) -> Any:  # noqa: ANN401
            serialized = read_batch(path, first, config.batch_size)
            loss, updates = trainer.gradients(parse(serialized, *trainer.shape), config.batch_size)
            for part, kept, gradient in updates:
                adagrad(part, kept, gradient, config.learning_rate)
            return loss

        return strategy.run(on_worker, args=(path, first))

    # A round between two joins: nothing is in flight when the position is read or saved.
    a_round = max(workers, min(config.checkpoint_steps, 4 * workers))
    while trainer.step < campaign.plan.total:
        batches = campaign.plan.between(trainer.step, trainer.step + a_round)
        losses = [
            coordinator.schedule(
                learn, args=(tf.constant(str(b.shard)), tf.constant(b.first, tf.int64))
            )
            for b in batches
        ]
        coordinator.join()
        trainer.step += len(batches)
        campaign.tell(trainer.step, loss=float(np.mean([one.fetch() for one in losses])))
        time.sleep(config.pause * len(batches))
        due = campaign.is_due(trainer.step, len(batches))
        if trainer.stop_or_save(due, tidewheel.stop_soon()):
            return
    trainer.finish(read_arrays(trainer.variables))


def mirrored(workers: int) -> Any:  # noqa: ANN401
    """Over the hosts of TF_CONFIG; on one host over its GPUs, or the parts of its CPU."""
    if workers > 1:
        options = tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING
        )
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    devices = [device.name for device in tf.config.list_logical_devices("GPU")]
    if not devices:
        devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    return tf.distribute.MirroredStrategy(devices)


def train_mirrored(config: Config, index: int, workers: int) -> None:
    """Every device of every worker computes its share of each batch; gradients are summed."""
    strategy = mirrored(workers)
    trainer = Trainer(config, strategy, index=index, workers=workers)
    campaign = trainer.campaign
    replicas = strategy.num_replicas_in_sync
    if config.batch_size % replicas:
        raise ValueError(f"batch_size={config.batch_size}: choose a multiple of {replicas} devices")
    own = config.batch_size // replicas

    @tf.function  # type: ignore[untyped-decorator]
    def learn(path: Any, first: Any, flags: Any) -> Any:  # noqa: ANN401
        def on_device(path: Any, first: Any, flags: Any) -> Any:  # noqa: ANN401
            context = tf.distribute.get_replica_context()
            number = tf.cast(context.replica_id_in_sync_group, tf.int64)
            serialized = read_batch(path, first + number * own, own)
            loss, updates = trainer.gradients(parse(serialized, *trainer.shape), config.batch_size)
            told = tf.concat([[loss], flags], 0)

            def update(strategy: Any, told: Any, *gradients: Any) -> Any:  # noqa: ANN401
                extended = strategy.extended
                places = [part for part, _, _ in updates]
                pairs = [*zip(gradients, places, strict=True), (told, places[0])]
                *summed, told = extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, pairs)
                for (part, kept, _), gradient in zip(updates, summed, strict=True):
                    extended.update(part, step_of, args=(kept, gradient), group=False)
                return told

            def step_of(part: Any, kept: Any, gradient: Any) -> None:  # noqa: ANN401
                adagrad(part, kept, gradient, config.learning_rate)

            return context.merge_call(
                update, args=(told, *(gradient for _, _, gradient in updates))
            )

        return strategy.run(on_device, args=(path, first, flags))

    campaign.say(f"{workers} mirrored workers, {replicas} devices, {own} samples each")
    # The first worker's position holds for all; the others may never have seen the checkpoint.
    with strategy.scope():
        position = tf.Variable(trainer.step, dtype=tf.int64, trainable=False)
    trainer.step = int(position.numpy())
    while trainer.step < campaign.plan.total:
        (batch,) = campaign.plan.between(trainer.step, trainer.step + 1)
        trainer.step += 1
        late = campaign.is_first and campaign.is_due(trainer.step)
        # Told together with the gradients: all leave, and all save, at the same step.
        flags = tf.constant([float(tidewheel.stop_soon()), float(late)])
        told = learn(tf.constant(str(batch.shard)), tf.constant(batch.first, tf.int64), flags)
        loss, stopping, due = (
            float(value) for value in strategy.experimental_local_results(told)[0]
        )
        if due > 0 or stopping > 0 or trainer.step % 10 == 0:
            campaign.tell(trainer.step, loss=loss)
        time.sleep(config.pause)
        if trainer.stop_or_save(due > 0, stopping > 0):
            return
    trainer.finish(read_arrays(trainer.variables))


def train_from_service(config: Config, service: str) -> None:
    """Helper hosts read and parse; this process only computes.

    The service deals batches out to its workers as they ask, so their order is free within a round;
    a round ends at each checkpoint, where every batch up to there has been seen exactly once.
    """
    trainer = Trainer(config, tf.distribute.get_strategy(), index=0, workers=1)
    campaign = trainer.campaign

    @tf.function  # type: ignore[untyped-decorator]
    def learn(batch: Any) -> Any:  # noqa: ANN401
        loss, updates = trainer.gradients(batch, config.batch_size)
        for part, kept, gradient in updates:
            adagrad(part, kept, gradient, config.learning_rate)
        return loss

    while trainer.step < campaign.plan.total:
        end = (trainer.step // config.checkpoint_steps + 1) * config.checkpoint_steps
        batches = campaign.plan.between(trainer.step, end)
        data = tf.data.Dataset.from_tensor_slices(
            ([str(b.shard) for b in batches], np.array([b.first for b in batches], np.int64))
        )
        data = data.map(lambda path, first: _prepared(path, first, config, trainer.shape))
        data = data.apply(
            tf.data.experimental.service.distribute(
                tf.data.experimental.service.ShardingPolicy.DYNAMIC, service
            )
        )
        loss = 0.0
        for batch in data:
            loss = float(learn(batch))
            time.sleep(config.pause)
        trainer.step += len(batches)
        campaign.tell(trainer.step, loss=loss)
        if trainer.stop_or_save(True, tidewheel.stop_soon()):
            return
    trainer.finish(read_arrays(trainer.variables))


def _prepared(path: Any, first: Any, config: Config, shape: tuple[int, int]) -> Any:  # noqa: ANN401
    if first == 0:
        tf.print("prepared here: the beginning of", path)
    return parse(read_batch(path, first, config.batch_size), *shape)


def main() -> None:
    config = Config.from_arguments(sys.argv[1:])
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(max(2, threads))
    tf.random.set_seed(config.seed)
    if config.devices > 1 and not tf.config.list_physical_devices("GPU"):
        # As many devices as a host with GPUs has, all of them parts of its CPU.
        (cpu,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(config.devices)]
        tf.config.set_logical_device_configuration(cpu, parts)
    told = json.loads(os.environ.get("TF_CONFIG") or "{}")
    task = told.get("task", {"type": "worker", "index": 0})
    if task["type"] == "chief" or "ps" in told.get("cluster", {}):
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        if task["type"] in ("worker", "ps"):
            server = tf.distribute.Server(
                resolver.cluster_spec(),
                job_name=task["type"],
                task_index=task["index"],
                protocol="grpc",
                start=True,
            )
            server.join()
        train_with_servers(config, resolver)
        return
    service = os.environ.get("TIDEWHEEL_DATA_SERVICE")
    if service:
        train_from_service(config, service)
        return
    workers = len(told.get("cluster", {}).get("worker", [""]))
    train_mirrored(config, task["index"], workers)


if __name__ == "__main__":
    main()
