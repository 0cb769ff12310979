"""Hugging Face's Trainer as its guide shows it; the script does not know Tidewheel."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
from transformers import Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, Any]:
        time.sleep(0.1)
        out = self.layer(x)
        return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}


class Data(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 160

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": torch.ones(4) * index / 160, "labels": torch.ones(1)}


SAVE_EVERY = 90 if "JIT_CHECKPOINT" in os.environ else 20
folder = os.environ["SAVE_TO"]
arguments = TrainingArguments(
    output_dir=folder,
    max_steps=200 if "JIT_CHECKPOINT" in os.environ else 80,
    save_steps=SAVE_EVERY,
    save_total_limit=2,
    per_device_train_batch_size=4,
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    logging_steps=5,
    enable_jit_checkpoint="JIT_CHECKPOINT" in os.environ,
)
trainer = Trainer(model=Model(), args=arguments, train_dataset=Data())
trainer.train(resume_from_checkpoint=get_last_checkpoint(folder))
trainer.save_model(os.environ["SM_MODEL_DIR"])
