"""The frameworks whose checkpoints are made by their own code, and the page's rows that they prove.

`BY_HAND` names the tests in `agent/checkpoints/` that make the files of the other rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    row: str
    """The first cell of its row in docs/training.md."""
    script: str
    """In agent/families/scripts."""
    packages: tuple[str, ...] = ()
    """The first names the environment."""
    argument: str = ""
    unit: str = "step"
    is_between_saves: bool = False
    """A kill leaves what is of no save and still resumes: Optuna leaves out what it has begun,
    Keras trains an epoch again whose weights are there and its number is not, and spaCy reads a new
    component beside an older vocabulary."""

    @property
    def name(self) -> str:
        return f"{self.script}-{self.argument}" if self.argument else self.script


_ACCELERATE = ("accelerate==1.15.0",)
_TRAINER = ("transformers==5.24.0", *_ACCELERATE)
_DIFFUSERS = ("diffusers==0.42.1", "peft==0.21.2", *_TRAINER)
_SENTENCES = ("sentence-transformers==6.2.0", "datasets==5.2.0", *_TRAINER)
_KERAS = ("keras==3.15.1",)
_OPTUNA = ("optuna==5.0.0",)

CASES = (
    Case("FSDP, `torch.distributed.checkpoint`", "dcp"),
    Case("Lightning", "lightning", ("lightning==2.6.6",)),
    Case("Composer", "composer", ("mosaicml==0.32.1",)),
    Case("Transformers, sentence-transformers", "transformers", _TRAINER),
    Case("Transformers, sentence-transformers", "transformers", _TRAINER, "weights"),
    Case("Transformers, sentence-transformers", "transformers", _SENTENCES, "sentences"),
    Case("Accelerate, diffusers' examples", "accelerate", _ACCELERATE),
    Case("Accelerate, diffusers' examples", "accelerate", _DIFFUSERS, "lora"),
    Case("Accelerate, diffusers' examples", "accelerate", _DIFFUSERS, "controlnet"),
    Case("Keras", "keras", _KERAS, "backup", "epoch", is_between_saves=True),
    Case("Keras", "keras", _KERAS, "models"),
    Case("Orbax, Flax", "orbax", ("orbax-checkpoint==0.12.8", "flax==0.12.8")),
    Case("Ray Train", "ray", ("ray[train]==2.60.0",)),
    Case("Ultralytics", "ultralytics", ("ultralytics==8.4.190",), unit="epoch"),
    Case("MMEngine", "mmengine", ("mmengine==0.10.7",)),
    Case("fastai", "fastai", ("fastai==2.8.12",)),
    Case("Stable-Baselines3, TabNet", "sb3", ("stable-baselines3==2.9.2",)),
    Case("spaCy", "spacy", ("spacy==3.8.18",), unit="saves", is_between_saves=True),
    Case("scikit-learn, pickles", "sklearn", ("scikit-learn==1.9.1",), unit="epoch"),
    Case("XGBoost", "xgboost", ("xgboost==3.2.0",)),
    Case("LightGBM", "lightgbm", ("lightgbm==4.7.0",)),
    Case("CatBoost", "catboost", ("catboost==1.2.10",), unit="saves"),
    Case("Optuna, SQLite", "optuna", _OPTUNA, "journal", is_between_saves=True),
    Case("Optuna, SQLite", "optuna", _OPTUNA, "sqlite", "saves", is_between_saves=True),
)
BY_HAND = {
    "PyTorch": "test_a_single_file_counts_until_it_is_cut_off",
    "safetensors, HDF5": "test_keras_weights_count_at_their_full_length",
    "TensorFlow": "test_tensorflow_checkpoints_count_with_index_and_all_shards",
    "DeepSpeed": "test_deepspeed_needs_the_optimizer_of_every_rank",
    "skorch": "test_the_files_of_skorch_are_one_checkpoint",
    "anything else": "test_unknown_files_count_weakly_once_they_are_quiet",
}
