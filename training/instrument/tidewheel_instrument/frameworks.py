"""Which modules get hooks, right after they are imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial, wraps
from types import FrameType, ModuleType
from typing import Any

from .cells import SAVE, WAIT
from .keras_arithmetic import KerasArithmetic
from .meter import Meter, timed
from .sites import notes_construction
from .tensorflow_input import TensorFlowInput

Lay = Callable[[ModuleType, Meter], None]


def replace(meter: Meter, owner: Any, name: str, new: Any) -> None:
    """Puts `new` in the place of an attribute of a class or module; a removal puts it back.

    What others have put in its place meanwhile stays.
    """
    had = vars(owner).get(name)
    setattr(owner, name, new)

    def put_back() -> None:
        if vars(owner).get(name) is new:
            if had is None:
                delattr(owner, name)
            else:
                setattr(owner, name, had)

    meter.on_remove(put_back)


def _time(names: tuple[str, ...], kind: int, module: ModuleType, meter: Meter) -> None:
    """`names`: functions and methods (`Class.method`); those that a version lacks are left out."""
    for name in names:
        owner: Any = module
        *classes, last = name.split(".")
        for each in classes:
            owner = getattr(owner, each, None)
        original = getattr(owner, last, None)
        if callable(original):
            replace(meter, owner, last, timed(meter, kind, original))


def _note_first(owner_name: str, method: str, call: str, module: ModuleType, meter: Meter) -> None:
    """After a fork, the meter has other sites."""

    def note(_: object, frame: FrameType | None) -> None:
        meter.sites.note_first(call, frame)

    owner = getattr(module, owner_name, None)
    if callable(original := getattr(owner, method, None)):
        replace(meter, owner, method, notes_construction(original, note))


def _lay_torch(module: ModuleType, meter: Meter) -> None:
    from .pytorch import lay

    lay(meter)


def _lay_compiled(module: ModuleType, meter: Meter) -> None:
    from .compiled import lay

    lay(module, meter)


def _lay_pillow(module: ModuleType, meter: Meter) -> None:
    """`Image.open` reads the head of a file. This, at the first use of the pixels, decodes it."""
    original = module.ImageFile.load

    @wraps(original)
    def load(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = meter.begin_decode()
        try:
            return original(self, *args, **kwargs)
        finally:
            meter.end_decode(began)

    replace(meter, module.ImageFile, "load", load)


def _lay_keras_steps(module: ModuleType, meter: Meter) -> None:
    """`fit` of every backend calls this after each batch, or after each `steps_per_execution`."""
    original = module.CallbackList.on_train_batch_end
    last = -1
    arithmetic: KerasArithmetic | None = KerasArithmetic()

    def on_train_batch_end(self: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal last, arithmetic
        count = batch - last if isinstance(batch, int) and batch > last else 1
        last = batch if isinstance(batch, int) else -1
        meter.stepped("keras", count)
        meter.sites.note_first("fit", sys._getframe(1))
        _note_input(meter)
        _ask_input(meter, lambda known: known.stepped(meter.values))
        if arithmetic is not None:
            try:
                arithmetic.stepped(self, meter.values)
            except Exception:  # What cannot be counted stays unknown.
                arithmetic = None
        return original(self, batch, *args, **kwargs)

    replace(meter, module.CallbackList, "on_train_batch_end", on_train_batch_end)


def _lay_py_dataset(module: ModuleType, meter: Meter) -> None:
    from .input_sites import lay_py_dataset

    lay_py_dataset(module, meter)


def _lay_tf_map(module: ModuleType, meter: Meter) -> None:
    from .input_sites import lay_tf_map

    lay_tf_map(module, meter)


def _note_input(meter: Meter) -> None:
    """A validation may give batches meanwhile, but ends with none of these calls."""
    adapter, meter.keras_input = meter.keras_input, None
    if adapter is not None:
        from .input_sites import note_input

        note_input(meter, adapter)


def _lay_stepped(module: ModuleType, meter: Meter) -> None:
    """What a script says itself, of a loop that no other hook knows."""

    def stepped(samples: float, steps: int = 1) -> None:
        meter.stepped_by_script(samples, steps)

    replace(meter, module, "stepped", wraps(module.stepped)(stepped))


def _ask_input(meter: Meter, ask: Callable[[TensorFlowInput], None]) -> None:
    """What tf.data does not tell stays unknown."""
    if meter.tensorflow_input is None:
        return
    try:
        ask(meter.tensorflow_input)
    except Exception:
        meter.tensorflow_input = None


def _note_iterator(known: TensorFlowInput, batch: Any) -> None:
    """`batch`: of a compiled step, numbers of steps and the iterator."""
    if type(batch[-1]).__name__ == "OwnedIterator":
        known.took(batch[-1])


def _lay_keras_batches(module: ModuleType, meter: Meter) -> None:
    """Backends whose training step gets its batch from Python; that of PyTorch has a loader."""
    from keras.src import backend

    if backend.backend() == "torch":
        return
    if backend.backend() == "tensorflow":
        meter.tensorflow_input = TensorFlowInput()
    original = module.EpochIterator.__iter__

    def batches(self: Any) -> Any:
        iterator = original(self)
        meter.keras_input = getattr(self, "data_adapter", None)
        while True:
            began = meter.begin(WAIT)
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                meter.end(WAIT, began)
            _ask_input(meter, partial(_note_iterator, batch=batch))
            yield batch

    replace(meter, module.EpochIterator, "__iter__", batches)


_KERAS_SAVES = ("Model.save", "Model.save_weights")
LAYERS: dict[str, Lay] = {
    "tidewheel": _lay_stepped,
    "torch": _lay_torch,
    "torch._dynamo.eval_frame": _lay_compiled,
    "PIL.ImageFile": _lay_pillow,
    "torch.distributed.checkpoint.state_dict_saver": partial(_time, ("save", "async_save"), SAVE),
    # `fully_shard` itself stays as it is: torch finds it by identity.
    "torch.distributed.fsdp._fully_shard._fsdp_state": partial(
        _note_first, "FSDPState", "init", "shard"
    ),
    "torch.distributed.fsdp.fully_sharded_data_parallel": partial(
        _note_first, "FullyShardedDataParallel", "__init__", "shard"
    ),
    "safetensors.torch": partial(_time, ("save_file", "save_model"), SAVE),
    "transformers.trainer": partial(_time, ("Trainer._save_checkpoint",), SAVE),
    "lightning.pytorch.trainer.trainer": partial(_time, ("Trainer.save_checkpoint",), SAVE),
    "pytorch_lightning.trainer.trainer": partial(_time, ("Trainer.save_checkpoint",), SAVE),
    "accelerate.accelerator": partial(_time, ("Accelerator.save_state",), SAVE),
    "keras.src.callbacks.callback_list": _lay_keras_steps,
    "keras.src.trainers.epoch_iterator": _lay_keras_batches,
    "keras.src.trainers.data_adapters.py_dataset_adapter": _lay_py_dataset,
    "tensorflow.python.data.ops.dataset_ops": _lay_tf_map,
    "keras.src.models.model": partial(_time, _KERAS_SAVES, SAVE),
    "tensorflow.python.data.ops.iterator_ops": partial(_time, ("OwnedIterator.__next__",), WAIT),
    "tensorflow.python.checkpoint.checkpoint": partial(
        _time, ("Checkpoint.save", "Checkpoint.write"), SAVE
    ),
}
"""By the module's name. Frameworks on PyTorch need no entry of their own."""
