"""How long TensorFlow takes for a batch in the middle of a shard, by seeking and by skipping.

`.venv-tf/bin/python training/measure/measure_tensorflow_input.py`, in the environment that
`npm run recipes -- single-tensorflow` makes.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECIPE = Path(__file__).parents[1] / "recipes" / "deepfm"


def write_shard(path: Path, records: int) -> None:
    import tensorflow as tf

    frames: Any = importlib.import_module("records")
    content = frames.encode(frames.Click(1, list(range(1000, 1026)), [0.5] * 13))
    with tf.io.TFRecordWriter(str(path)) as writer:
        for _ in range(records):
            writer.write(content)


def milliseconds(read: Callable[[int], Any], batches: list[int]) -> float:
    """CPU time of this process for a batch, in the mean."""
    read(0)
    began = time.process_time()
    for batch in batches:
        read(batch)
    return 1000 * (time.process_time() - began) / len(batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", default="50000,200000,800000")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--repetitions", type=int, default=20)
    arguments = parser.parse_args()
    sys.path.insert(0, str(RECIPE))
    import tensorflow as tf

    # Modules of the recipe, which is on the path by now.
    recipe: Any = importlib.import_module("tensorflow_input")
    frames: Any = importlib.import_module("records")
    size = arguments.batch_size
    seek = tf.function(lambda path, begin: recipe.read_records(path, begin, size))

    @tf.function  # type: ignore[untyped-decorator]
    def skip(path: Any, first: Any) -> Any:  # noqa: ANN401
        found = tf.data.TFRecordDataset(path).skip(first).take(size).batch(size)
        return found.get_single_element()

    def measure(path: Path, records: int) -> str:
        shard, positions = tf.constant(str(path)), frames.read_positions(path)
        begins = [offset - frames.HEAD_BYTES for offset, _ in positions]

        def read(batch: int) -> Any:  # noqa: ANN401
            return seek(shard, tf.constant(begins[batch * size], tf.int64))

        def read_by_skipping(batch: int) -> Any:  # noqa: ANN401
            return skip(shard, tf.constant(batch * size, tf.int64))

        times = arguments.repetitions
        batches = [records // size * number // times for number in range(times)]
        for batch in batches:
            assert bool(tf.reduce_all(read(batch) == read_by_skipping(batch)))
        return (
            f"{milliseconds(read, batches):.2f} ms by seeking, "
            f"{milliseconds(read_by_skipping, batches):.2f} ms by skipping"
        )

    for records in map(int, arguments.records.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "shard.tfrecord")
            write_shard(path, records)
            what = f"{records} records, {path.stat().st_size / 1e6:.0f} MB, a batch of {size}"
            print(f"{what}: {measure(path, records)}", flush=True)


if __name__ == "__main__":
    main()
