"""In what arithmetic the layers of Keras multiply, by the dtype that each of them names."""

from __future__ import annotations

from types import SimpleNamespace

from tidewheel_instrument.cells import BITS16_WORK, FLOAT32_WORK, TF32_WORK
from tidewheel_instrument.keras_training import operations_of


def shaped(*shape: int | None) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


CONVOLUTION = SimpleNamespace(
    compute_dtype="bfloat16",
    trainable=True,
    kernel=shaped(3, 3, 3, 4),
    output=shaped(None, 6, 6, 4),
)
HEAD = SimpleNamespace(compute_dtype="float32", trainable=True, kernel=shaped(144, 2))
FLATTEN = SimpleNamespace(compute_dtype="bfloat16", trainable=True)
QUANTIZED = SimpleNamespace(compute_dtype="int8", trainable=True, kernel=shaped(9, 9))


def test_mixed_precision_is_told_layer_by_layer() -> None:
    operations = operations_of([CONVOLUTION, FLATTEN, HEAD], FLOAT32_WORK)
    # 108 weights at 36 places and 288 at one: forward, and backward twice.
    assert operations == {FLOAT32_WORK: 1728, TF32_WORK: 0, BITS16_WORK: 23328}


def test_float32_counts_as_tf32_where_it_is_allowed() -> None:
    assert operations_of([HEAD], TF32_WORK)[TF32_WORK] == 1728


def test_frozen_layers_have_one_pass_fewer() -> None:
    frozen = SimpleNamespace(**{**vars(HEAD), "trainable": False})
    assert operations_of([frozen], FLOAT32_WORK)[FLOAT32_WORK] == 1152


def test_channels_first_has_its_places_last() -> None:
    output = shaped(None, 4, 6, 6)
    turned = {**vars(CONVOLUTION), "data_format": "channels_first", "output": output}
    operations = operations_of([SimpleNamespace(**turned)], FLOAT32_WORK)
    assert operations[BITS16_WORK] == 23328


def test_adapters_beside_a_kernel_do_not_count_twice() -> None:
    adapted = SimpleNamespace(**{**vars(HEAD), "_kernel": HEAD.kernel})
    assert operations_of([adapted, QUANTIZED], FLOAT32_WORK)[FLOAT32_WORK] == 1728
