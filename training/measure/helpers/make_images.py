"""`make_images.py FOLDER [--shards 8] [--records 64] [--pixels 448]`: JPEG images in TFRecord.

The images are waves over noise, in ten classes by the waves' direction and colour.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

CLASSES = 10


def wave_image(generator: np.random.Generator, label: int, pixels: int) -> np.ndarray:
    across, down = np.meshgrid(np.arange(pixels), np.arange(pixels))
    angle = np.pi * label / CLASSES
    along = across * np.cos(angle) + down * np.sin(angle)
    wave = np.sin(along / generator.uniform(6, 12) + generator.uniform(0, 6))
    colour = np.cos(2 * angle + np.array([0.0, 2.1, 4.2]))
    noise = generator.normal(0, 12, (pixels, pixels, 3))
    image = 128 + 40 * wave[:, :, None] + 50 * colour + noise
    return np.asarray(image.clip(0, 255), np.uint8)


def example(image: np.ndarray, label: int) -> bytes:
    jpeg = tf.io.encode_jpeg(image, quality=90).numpy()
    feature = {
        "jpeg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[jpeg])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    encoded: bytes = tf.train.Example(
        features=tf.train.Features(feature=feature)
    ).SerializeToString()
    return encoded


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--records", type=int, default=64)
    parser.add_argument("--pixels", type=int, default=448)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    generator = np.random.default_rng(5)
    for shard in range(arguments.shards):
        with tf.io.TFRecordWriter(str(arguments.folder / f"{shard:06d}.tfrecord")) as writer:
            for _ in range(arguments.records):
                label = int(generator.integers(CLASSES))
                writer.write(example(wave_image(generator, label, arguments.pixels), label))


if __name__ == "__main__":
    main()
