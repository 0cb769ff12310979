"""Which line of a real Keras script a remedy of its input names.

Half a minute, in `.venv-tf`: `pytest -m heavy tests/instrument/test_keras_sites.py`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from heavy import python_of
from hooked_programs import HOOKS
from tidewheel_agent.evidence.cells import remedy_lines

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

TRAIN = """
import sys
import keras, numpy as np, tensorflow as tf
class Data(keras.utils.PyDataset):
    def __init__(self, n):
        super().__init__()
        self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i): return np.ones((4, 2)), np.ones((4, 1))
def mapped(n):
    data = tf.data.Dataset.range(n).map(lambda i: (tf.ones((2,)), tf.ones((1,))))
    return data.batch(4).prefetch(1)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
if sys.argv[1] == "pyDataset":
    held_out = Data(2)
    data = Data(4)
else:
    held_out = mapped(8)
    data = mapped(16).map(lambda a, b: (a, b), num_parallel_calls=2)
model.evaluate(held_out, verbose=0)
model.fit(data, epochs=2, validation_data=held_out, verbose=0)
"""


@pytest.mark.parametrize(
    ("call", "line"), [("pyDataset", "train.py:17"), ("map", "train.py:11 mapped")]
)
def test_a_remedy_names_the_input_of_keras(tmp_path: Path, call: str, line: str) -> None:
    code, cells = tmp_path / "code", tmp_path / "cells"
    code.mkdir()
    cells.mkdir()
    (code / "train.py").write_text(TRAIN)
    subprocess.run(
        [str(python_of("tf", "single-tensorflow")), "train.py", call],
        cwd=code,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(HOOKS),
            "TIDEWHEEL_INSTRUMENT_DIR": str(cells),
        },
        capture_output=True,
        timeout=300,
        check=True,
    )
    (pid,) = [int(each.stem) for each in cells.glob("*.cells")]
    assert remedy_lines(cells, [pid])[call] == line
