"""Which modules get hooks, right after they are imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from types import FrameType, ModuleType
from typing import Any

from .call_sites import notes_construction
from .cells import SAVE, WAIT
from .keras_training import install_batches, install_map, install_py_dataset, install_steps
from .looks import Looker
from .meter import Meter, timed

Install = Callable[[ModuleType, Meter], None]


def _time(names: tuple[str, ...], kind: int, module: ModuleType, meter: Meter) -> None:
    """`names`: functions and methods (`Class.method`); those that a version lacks are left out."""
    for name in names:
        owner: Any = module
        *classes, last = name.split(".")
        for each in classes:
            owner = getattr(owner, each, None)
        original = getattr(owner, last, None)
        if callable(original):
            meter.replace(owner, last, timed(meter, kind, original))


def _note_first(owner_name: str, method: str, call: str, module: ModuleType, meter: Meter) -> None:
    """After a fork, the meter has other call sites."""

    def note(_: object, frame: FrameType | None) -> None:
        meter.call_sites.note_first(call, frame)

    owner = getattr(module, owner_name, None)
    if callable(original := getattr(owner, method, None)):
        meter.replace(owner, method, notes_construction(original, note))


def _install_torch(_module: ModuleType, meter: Meter) -> None:
    # It imports torch.
    from .pytorch import install

    install(meter)


def _install_compiled(module: ModuleType, meter: Meter) -> None:
    from .arithmetic import install_compiled

    install_compiled(module, meter)


def _install_pillow(module: ModuleType, meter: Meter) -> None:
    """`Image.open` reads the head of a file. This, at the first use of the pixels, decodes it."""
    original = module.ImageFile.load

    @wraps(original)
    def load(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = meter.begin_decode()
        try:
            return original(self, *args, **kwargs)
        finally:
            meter.end_decode(began)

    meter.replace(module.ImageFile, "load", load)


def _install_stepped(module: ModuleType, meter: Meter) -> None:
    """What a script says itself, of a loop that no other hook knows."""

    def stepped(samples: float, steps: int = 1) -> None:
        meter.stepped_by_script(samples, steps)

    meter.replace(module, "stepped", wraps(module.stepped)(stepped))


_KERAS_SAVES = ("Model.save", "Model.save_weights")
INSTALLERS: dict[str, Install] = {
    "tidewheel": _install_stepped,
    "torch": _install_torch,
    "torch._dynamo.eval_frame": _install_compiled,
    "PIL.ImageFile": _install_pillow,
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
    "keras.src.callbacks.callback_list": install_steps,
    "keras.src.trainers.epoch_iterator": install_batches,
    "keras.src.trainers.data_adapters.py_dataset_adapter": install_py_dataset,
    "tensorflow.python.data.ops.dataset_ops": install_map,
    "keras.src.models.model": partial(_time, _KERAS_SAVES, SAVE),
    "tensorflow.python.data.ops.iterator_ops": partial(_time, ("OwnedIterator.__next__",), WAIT),
    "tensorflow.python.checkpoint.checkpoint": partial(
        _time, ("Checkpoint.save", "Checkpoint.write"), SAVE
    ),
}
"""By the module's name. Frameworks on PyTorch need no entry of their own."""


def hooks() -> dict[str, Callable[[ModuleType], None]]:
    meter = Meter(os.environ["TIDEWHEEL_INSTRUMENT_DIR"])
    meter.at_first_step.append(lambda: Looker(meter).start())
    return {name: _safe(meter, install) for name, install in INSTALLERS.items()}


def _safe(meter: Meter, install: Install) -> Callable[[ModuleType], None]:
    """The script comes first: it runs without the hooks."""

    def imported(module: ModuleType) -> None:
        try:
            if meter.is_on:
                install(module, meter)
        except Exception as error:
            meter.remove(module.__name__, error)

    return imported
