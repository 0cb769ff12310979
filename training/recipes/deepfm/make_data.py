"""Makes click-through data from a seed: `python make_data.py FOLDER [--shards 8] [--records 1024]`.

A hidden factorization machine decides the clicks, so that a DeepFM can learn them.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from records import Click, write_file


@dataclass(frozen=True)
class Shape:
    """Of a sample: features of `fields`, each with so many words, and numbers."""

    fields: int = 6
    vocabulary: int = 500
    values: int = 4


def make(folder: Path, shape: Shape, *, shards: int, records: int, seed: int = 17) -> None:
    """Writes `shards` files of `records` samples each; the last file is for evaluation."""
    fields, vocabulary, numbers = shape.fields, shape.vocabulary, shape.values
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    linear = random.normal(0, 0.5, fields * vocabulary)
    factors = random.normal(0, 0.6, (fields * vocabulary, 3))
    weights = random.normal(0, 0.7, numbers)
    for shard in range(shards):
        # As in real logs, few words are frequent and most are rare.
        words = np.minimum(random.zipf(1.3, (records, fields)) - 1, vocabulary - 1)
        ids = words + np.arange(fields) * vocabulary
        values = random.normal(0, 1, (records, numbers))
        chosen = factors[ids]
        pairs = ((chosen.sum(1) ** 2) - (chosen**2).sum(1)).sum(1) / 2
        score = linear[ids].sum(1) + pairs + values @ weights - 0.5
        labels = random.random(records) < 1 / (1 + np.exp(-score))
        clicks = [
            Click(int(label), [int(i) for i in row], [float(v) for v in floats])
            for label, row, floats in zip(labels, ids, values, strict=True)
        ]
        write_file(folder / f"{shard:06d}.tfrecord", clicks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--records", type=int, default=1024)
    parser.add_argument("--fields", type=int, default=Shape.fields)
    parser.add_argument("--vocabulary", type=int, default=Shape.vocabulary)
    parser.add_argument("--values", type=int, default=Shape.values)
    parser.add_argument("--seed", type=int, default=17)
    arguments = parser.parse_args()
    make(
        arguments.folder,
        Shape(arguments.fields, arguments.vocabulary, arguments.values),
        shards=arguments.shards,
        records=arguments.records,
        seed=arguments.seed,
    )
