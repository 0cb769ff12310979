"""Hugging Face's Trainer on a small BERT of random weights, resumed from its last checkpoint."""

from __future__ import annotations

import argparse

import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--output_dir", required=True)
parser.add_argument("--max_steps", type=int, default=200)
args = parser.parse_args()


class Sentences(Dataset[dict[str, torch.Tensor]]):
    def __init__(self) -> None:
        draw = torch.Generator().manual_seed(0)
        self.tokens = torch.randint(1, 500, (1000, 24), generator=draw)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = self.tokens[index]
        return {"input_ids": tokens, "labels": (tokens[0] > 250).long()}


set_seed(0)
config = BertConfig(
    vocab_size=500,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
)
training_args = TrainingArguments(
    output_dir=args.output_dir,
    max_steps=args.max_steps,
    per_device_train_batch_size=16,
    save_steps=20,
    logging_steps=10,
    report_to="none",
    use_cpu=True,
)
trainer = Trainer(
    model=BertForSequenceClassification(config), args=training_args, train_dataset=Sentences()
)
trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))
