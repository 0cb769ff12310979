"""Trains DeepFM with TensorFlow under whichever strategy started it: one entry point for all.

TF_CONFIG decides: with the tasks chief and ps it is a parameter-server cluster, with workers alone
MultiWorkerMirroredStrategy, without TF_CONFIG MirroredStrategy. Under mpiexec each process is a
rank, and MPI sums the gradients. With TIDEWHEEL_DATA_SERVICE one process trains, and the helper
hosts prepare its data. Model, data, settings and lines are the same under each.

Mirrored workers and ranks take the same share of each batch at every step, so an interrupted run
ends with the bits of an uninterrupted one. Asynchronous workers apply their batches in the order in
which they finish, so the model differs slightly each time, interrupted or not.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

# TensorFlow reads it when it is imported; its messages would hide the training's.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import tidewheel
from arrays import Arrays
from common.cores import bind_to_cores
from config import TensorFlowConfig as Config
from loss_scale import LossScale, without_scale
from mirrored import mirrored_strategy
from place import place_on_host
from tensorflow_input import Shares, begin_of, parse, pipeline, read_records
from tensorflow_model import (
    adagrad,
    bytes_by_device,
    capability,
    logits,
    make_variables,
    parts_of,
    read_arrays,
    unscaled,
)
from training_run import TrainingRun, first_weights


class Trainer:
    """A process that controls training: the chief, or each of the mirrored workers."""

    def __init__(self, config: Config, strategy: Any, *, index: int, parts: int = 1) -> None:  # noqa: ANN401
        """`parts`: how many devices share a batch."""
        self.config, self.strategy = config, strategy
        self.run = TrainingRun(config, is_main=index == 0)
        example = self.run.example()
        self.shape = (len(example.ids), len(example.values))
        self.kind = tf.as_dtype(self.run.kind(capability(), parts))
        self.step, saved = self.run.resume()
        self.scale = LossScale(self.kind.name, saved)
        learned = without_scale(saved)
        with strategy.scope():
            # Mirrored workers take the first worker's values and ignore their own.
            self.variables = make_variables(learned or first_weights(config, *self.shape))

    def gradients(self, batch: Any, factor: Any) -> tuple[Any, Any, list[tuple[Any, Any, Any]]]:  # noqa: ANN401
        """The loss, whether a gradient overflowed, and (part, accumulator part, gradient) of each
        part of each variable.

        `factor`: what the loss is multiplied by meanwhile. The loss is the sum over this part,
        divided by the samples of the whole batch.
        """
        labels, ids, values = batch
        with tf.GradientTape() as tape:
            scores = logits(self.variables, ids, values, self.kind)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores)
            loss = tf.reduce_sum(losses) / self.config.batch_size
            scaled = loss * factor if self.scale.is_on else loss
        pairs, overflow = self.pairs(), None
        gradients = tape.gradient(scaled, [part for part, _ in pairs])
        if self.scale.is_on:
            gradients, overflow = unscaled(gradients, factor)
        updates = [(*pair, gradient) for pair, gradient in zip(pairs, gradients, strict=True)]
        return loss, overflow, updates

    def train_on(self, share: Any, flags: Any, factor: Any) -> Any:  # noqa: ANN401
        """A step of one device of several that update together: the sums of [loss, overflow] and of
        the flags."""
        loss, overflow, updates = self.gradients(share, factor)
        figures = tf.concat([figures_of(loss, overflow), flags], 0)

        def update(strategy: Any, figures: Any, *gradients: Any) -> Any:  # noqa: ANN401
            extended = strategy.extended
            parts = [part for part, _, _ in updates]
            pairs = [*zip(gradients, parts, strict=True), (figures, parts[0])]
            *sums, figures = extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, pairs)
            for (part, accumulator, _), gradient in zip(updates, sums, strict=True):
                args = (accumulator, gradient, figures)
                extended.update(part, apply, args=args, group=False)
            return figures

        def apply(part: Any, accumulator: Any, gradient: Any, figures: Any) -> None:  # noqa: ANN401
            overflow = figures[1] if self.scale.is_on else None
            adagrad(part, accumulator, gradient, self.config.learning_rate, overflow)

        return tf.distribute.get_replica_context().merge_call(
            update, args=(figures, *(gradient for _, _, gradient in updates))
        )

    def factor(self) -> Any:  # noqa: ANN401
        return tf.constant(self.scale.factor)

    def arrays(self) -> Arrays:
        """What a checkpoint holds. Reading variables needs all workers."""
        return {**read_arrays(self.variables), **self.scale.arrays()}

    def pairs(self) -> list[tuple[Any, Any]]:
        """Each part of each variable, with its part of Adagrad's sums."""
        names = [name for name in self.variables if not name.startswith("adagrad/")]
        return [
            pair
            for name in names
            for pair in zip(
                parts_of(self.variables[name]),
                parts_of(self.variables[f"adagrad/{name}"]),
                strict=True,
            )
        ]

    def finish(self, arrays: Arrays) -> None:
        if not self.run.is_main:
            return
        _, ids, values = self.run.evaluation_data()
        constants = {name: tf.constant(value) for name, value in arrays.items()}
        scores = tf.sigmoid(logits(constants, tf.constant(ids), tf.constant(values)))
        self.run.finish(arrays, np.asarray(scores, np.float64))

    def end_step(self, loss: float, *, due: bool, stopping: bool) -> bool:
        """True when the process must leave. Reading variables needs all workers."""
        ends = {"due": due, "stopping": stopping}
        return self.run.end_step(self.step, loss, **ends, arrays=self.arrays)

    def stop_or_save(self, due: bool, stopping: bool) -> bool:
        """Saves if due; True when the process must leave. Reading variables needs all workers."""
        if due or stopping:
            self.run.save(self.step, self.arrays())
        if stopping and self.step < self.run.plan.total:
            self.run.leave(self.step)
            return True
        return False


def figures_of(loss: Any, overflow: Any) -> Any:  # noqa: ANN401
    return tf.stack([loss, 0.0 if overflow is None else overflow])


def train_with_servers(config: Config, resolver: Any) -> None:  # noqa: ANN401
    """The chief plans, the workers read their batches, the parameter servers hold the variables."""
    spec = resolver.cluster_spec()
    servers, workers = spec.num_tasks("ps"), spec.num_tasks("worker")
    strategy = tf.distribute.ParameterServerStrategy(
        resolver,
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=16 << 10, max_shards=servers
        ),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    devices = strategy.num_replicas_in_sync
    trainer = Trainer(config, strategy, index=0, parts=devices)
    run = trainer.run
    size = run.own_share(devices, "devices of a worker")
    shares = range(0, config.batch_size, size)
    parts = {name: len(parts_of(v)) for name, v in trainer.variables.items() if "/" not in name}
    held = ", ".join(f"{size} B" for size in bytes_by_device(trainer.variables).values())
    run.print0(
        f"{workers} workers of {devices} devices, {size} samples each, "
        f"{servers} parameter servers that hold {held}, parts: {parts}, "
        f"products in {trainer.kind.name}"
    )

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(path: Any, begins: Any, factor: Any) -> Any:  # noqa: ANN401
        def on_device(path: Any, begins: Any, factor: Any) -> Any:  # noqa: ANN401
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            serialized = read_records(path, tf.gather(begins, number), size)
            return trainer.train_on(parse(serialized, *trainer.shape), tf.zeros([0]), factor)

        figures = strategy.run(on_device, args=(path, begins, factor))
        return strategy.experimental_local_results(figures)[0]

    # Between two rounds no batch is in flight, so the position can be saved.
    round_steps = max(workers, min(config.checkpoint_steps, 4 * workers))
    while trainer.step < run.plan.total:
        batches = run.plan.batches_between(trainer.step, trainer.step + round_steps)
        figures = [
            coordinator.schedule(
                train_step,
                args=(
                    tf.constant(str(batch.shard)),
                    tf.constant([begin_of(run.positions, batch, s) for s in shares], tf.int64),
                    trainer.factor(),
                ),
            )
            for batch in batches
        ]
        coordinator.join()
        losses, overflows = np.transpose([each.fetch() for each in figures])
        for overflow in overflows:
            trainer.scale.update(overflowed=overflow > 0)
        trainer.step += len(batches)
        tidewheel.stepped(len(batches) * config.batch_size, len(batches))
        run.report(trainer.step, loss=float(np.mean(losses)))
        time.sleep(config.pause * len(batches))
        due = run.is_due(trainer.step, len(batches))
        if trainer.stop_or_save(due, tidewheel.stop_soon()):
            return
    trainer.finish(read_arrays(trainer.variables))


def train_mirrored(config: Config, index: int, workers: int) -> None:
    """Every device of every worker computes its share of each batch; sums the gradients."""
    strategy = mirrored_strategy(config.cross_device_ops, workers)
    replicas = strategy.num_replicas_in_sync
    trainer = Trainer(config, strategy, index=index, parts=replicas)
    run = trainer.run
    share_size = run.own_share(replicas, "devices")

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(share: Any, flags: Any, factor: Any) -> Any:  # noqa: ANN401
        return strategy.run(trainer.train_on, args=(share, flags, factor))

    run.print0(
        f"{workers} mirrored workers, {replicas} devices, {share_size} samples each, "
        f"products in {trainer.kind.name}, cross_device_ops={config.cross_device_ops}"
    )
    # All workers take the first one's position: other hosts may not have the checkpoint.
    with strategy.scope():
        own = [trainer.step, *trainer.scale.state]
        position = tf.Variable(own, dtype=tf.float64, trainable=False)
    step, *scale = position.numpy().tolist()
    trainer.step, trainer.scale.state = int(step), tuple(scale)
    shares = Shares(run.plan, run.positions, trainer.step, share_size, trainer.shape)
    while trainer.step < run.plan.total:
        share = strategy.experimental_distribute_values_from_function(shares)
        trainer.step += 1
        is_due = run.is_main and run.is_due(trainer.step)
        # The flags are summed with the gradients: all save, and all leave, at the same step.
        flags = tf.constant([float(tidewheel.stop_soon()), float(is_due)])
        figures = train_step(share, flags, trainer.factor())
        loss, overflow, stopping, due = (
            float(value) for value in strategy.experimental_local_results(figures)[0]
        )
        trainer.scale.update(overflowed=overflow > 0)
        tidewheel.stepped(config.batch_size / workers)
        if trainer.end_step(loss, due=due > 0, stopping=stopping > 0):
            return
    trainer.finish(read_arrays(trainer.variables))


def train_from_service(config: Config, service: str) -> None:
    """Helper hosts read and parse the data; this process only computes.

    The service gives each batch to the next free worker, so the order within a round varies. A
    round ends at each checkpoint; by then every batch has been seen exactly once.
    """
    trainer = Trainer(config, tf.distribute.get_strategy(), index=0)
    run = trainer.run

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(batch: Any, factor: Any) -> Any:  # noqa: ANN401
        loss, overflow, updates = trainer.gradients(batch, factor)
        for part, accumulator, gradient in updates:
            adagrad(part, accumulator, gradient, config.learning_rate, overflow)
        return figures_of(loss, overflow)

    while trainer.step < run.plan.total:
        end = (trainer.step // config.checkpoint_steps + 1) * config.checkpoint_steps
        batches = run.plan.batches_between(trainer.step, end)
        data = pipeline(
            batches,
            run.positions,
            lambda path, begin: _prepared(path, begin, config, trainer.shape),
        )
        data = data.apply(
            tf.data.experimental.service.distribute(
                tf.data.experimental.service.ShardingPolicy.DYNAMIC, service
            )
        )
        loss = 0.0
        for batch in data.prefetch(tf.data.AUTOTUNE):
            loss, overflow = (float(each) for each in train_step(batch, trainer.factor()))
            trainer.scale.update(overflowed=overflow > 0)
            tidewheel.stepped(config.batch_size)
            time.sleep(config.pause)
        trainer.step += len(batches)
        run.report(trainer.step, loss=loss)
        if trainer.stop_or_save(True, tidewheel.stop_soon()):
            return
    trainer.finish(read_arrays(trainer.variables))


def _prepared(path: Any, begin: Any, config: Config, shape: tuple[int, int]) -> Any:  # noqa: ANN401
    if begin == 0:
        tf.print("prepared here: the beginning of", path)
    return parse(read_records(path, begin, config.batch_size), *shape)


def train_as_rank_of_mpi(config: Config) -> None:
    # Only here: an image for the other strategies need not have MPI.
    import mpi_ranks

    mpi_ranks.use_own_gpu(os.environ)
    ranks = mpi_ranks.all_ranks()
    trainer = Trainer(config, tf.distribute.get_strategy(), index=ranks.rank, parts=ranks.size)
    mpi_ranks.train_as_rank(config, trainer, ranks)


def serve(resolver: Any, task: Mapping[str, Any]) -> None:  # noqa: ANN401
    """A worker or a parameter server, which does what the chief says until it is ended."""
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=task["type"],
        task_index=task["index"],
        protocol="grpc",
        start=True,
    )
    server.join()


def is_rank(environment: Mapping[str, str]) -> bool:
    """As MPICH's mpiexec and Open MPI's have it."""
    return "PMI_RANK" in environment or "OMPI_COMM_WORLD_RANK" in environment


def main() -> None:
    config = Config.from_arguments(sys.argv[1:])
    tf_config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    if config.affinity == "cores":
        bind_to_cores(*place_on_host(tf_config, os.environ))
    threads, inter = config.threads, config.inter_threads
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(inter or max(2, threads))
    tf.random.set_seed(config.seed)
    if config.devices > 1 and not tf.config.list_physical_devices("GPU"):
        # Logical devices of the CPU stand in for GPUs.
        (cpu,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(config.devices)]
        tf.config.set_logical_device_configuration(cpu, parts)
    task = tf_config.get("task", {"type": "worker", "index": 0})
    has_servers = task["type"] == "chief" or "ps" in tf_config.get("cluster", {})
    service = os.environ.get("TIDEWHEEL_DATA_SERVICE")
    has_mirrors = not (has_servers or service or is_rank(os.environ))
    if config.cross_device_ops != "auto" and not has_mirrors:
        raise ValueError(
            f"cross_device_ops={config.cross_device_ops} is for mirrored devices, and this "
            "strategy has none: leave it out"
        )
    if has_servers:
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        if task["type"] in ("worker", "ps"):
            serve(resolver, task)
        train_with_servers(config, resolver)
    elif service:
        train_from_service(config, service)
    elif is_rank(os.environ):
        train_as_rank_of_mpi(config)
    else:
        workers = len(tf_config.get("cluster", {}).get("worker", [""]))
        train_mirrored(config, task["index"], workers)


if __name__ == "__main__":
    main()
