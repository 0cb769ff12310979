"""Trains on images that take longer to prepare than to learn from: the case for helper hosts.

With strategy `single` this host prepares all images. With `data-service` the helpers do, and with
`--prepare_here 1` this host too. Decoding, augmenting, sending and learning are real. Only the
accelerator is simulated, by a wait of `--accelerator_seconds` on the clock that all hosts share.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

SIDE = 224
CLASSES = 10
BLURS = 10
_SHARDS = 100_000
"""More shards than a measurement reads."""
_BATCHES_AHEAD = 4
"""How many batches each host prepares ahead at most, so that no host waits for another."""


class Accelerator:
    """Every step takes the same time. As with a GPU's queue, the host may be one step ahead."""

    def __init__(self, clock: Path, seconds: float) -> None:
        with clock.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        self._seconds = seconds
        self._ends = (0.0, 0.0)

    def now(self) -> float:
        seconds: float = struct.unpack_from("<d", self._map)[0]
        return seconds

    def step(self) -> None:
        previous, last = self._ends
        while self.now() < previous:
            time.sleep(0.003)
        self._ends = (last, max(self.now(), last) + self._seconds)


def prepared(serialized: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Decodes, crops, mirrors, changes brightness and contrast, blurs; returns 8-bit pixels."""
    features = {
        "jpeg": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    record = tf.io.parse_single_example(serialized, features)
    image = tf.io.decode_jpeg(record["jpeg"], channels=3)
    side = tf.random.uniform([], SIDE // 2, tf.shape(image)[0], tf.int32)
    image = tf.image.random_crop(image, [side, side, 3])
    image = tf.image.resize(image, [SIDE, SIDE])
    image = tf.image.random_brightness(tf.image.random_flip_left_right(image), 30.0)
    image = tf.image.random_contrast(image, 0.7, 1.3)
    for _ in range(BLURS):
        image = tf.nn.depthwise_conv2d(image[None], tf.ones([3, 3, 3, 1]) / 9, [1] * 4, "SAME")[0]
    return tf.saturate_cast(image, tf.uint8), record["label"]


def images(folder: Path, batch_size: int, cpus: int) -> Any:  # noqa: ANN401
    shards = sorted(str(path) for path in folder.glob("*.tfrecord"))
    times = -(-_SHARDS // len(shards))
    data = tf.data.Dataset.from_tensor_slices(shards * times)
    data = data.flat_map(tf.data.TFRecordDataset)
    data = data.map(prepared, num_parallel_calls=cpus).batch(batch_size, drop_remainder=True)
    return data.prefetch(_BATCHES_AHEAD)


def served(data: Any, service: str, here: bool) -> tuple[Any, Any]:  # noqa: ANN401
    """The data through the service, and this host's worker, which the caller must keep alive."""
    experimental = tf.data.experimental.service
    worker = None
    if here:
        host = os.environ["SM_CURRENT_HOST"]
        worker = experimental.WorkerServer(
            experimental.WorkerConfig(
                dispatcher_address=service.partition("://")[2], worker_address=f"{host}:%port%"
            )
        )
    share = experimental.ShardingPolicy.DYNAMIC
    # No compression, because CPU time is scarce and the network is not.
    distribute = experimental.distribute(share, service, compression=None)
    return data.apply(distribute), worker


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--accelerator_seconds", type=float, required=True)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--prepare_here", type=int, default=0)
    parser.add_argument("--steps", type=int, required=True)
    arguments = parser.parse_args()
    cpus = int(os.environ["TIDEWHEEL_CPUS"])
    data: Any = images(Path(os.environ["SM_CHANNEL_TRAIN"]).resolve(), arguments.batch_size, cpus)
    service = os.environ.get("TIDEWHEEL_DATA_SERVICE")
    worker = None
    if service:
        data, worker = served(data, service, bool(arguments.prepare_here))
    weights = tf.Variable(tf.zeros([28 * 28 * 3, CLASSES]))
    measured = Path(os.environ["TIDEWHEEL_MEASURED"])
    accelerator = Accelerator(measured / "clock", arguments.accelerator_seconds)

    @tf.function  # type: ignore[untyped-decorator]
    def learn(pixels: Any, labels: Any) -> Any:  # noqa: ANN401
        seen = tf.nn.avg_pool2d(tf.cast(pixels, tf.float32) / 127.5 - 1, 8, 8, "VALID")
        with tf.GradientTape() as tape:
            scores = tf.reshape(seen, [arguments.batch_size, -1]) @ weights
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
            loss = tf.reduce_mean(losses)
        weights.assign_sub(0.03 * tape.gradient(loss, weights))
        return loss

    with (measured / "steps").open("a", buffering=1) as log:
        for step, (pixels, labels) in enumerate(
            data.prefetch(_BATCHES_AHEAD).take(arguments.steps)
        ):
            loss = float(learn(pixels, labels))
            accelerator.step()
            line = {"step": step, "seconds": accelerator.now(), "loss": loss}
            log.write(json.dumps(line) + "\n")
    del worker


if __name__ == "__main__":
    main()
