"""TRL's SFTTrainer on a small GPT-2 of random weights and a tokenizer of a few words."""

from __future__ import annotations

import argparse
import random

from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, set_seed
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--output_dir", required=True)
parser.add_argument("--max_steps", type=int, default=200)
args = parser.parse_args()

words = ["<pad>", "<eos>", *(f"w{number}" for number in range(200))]
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(
        WordLevel({word: number for number, word in enumerate(words)}, unk_token="<pad>")
    ),
    pad_token="<pad>",
    eos_token="<eos>",
)
tokenizer.backend_tokenizer.pre_tokenizer = Whitespace()

draw = random.Random(0)
texts = [" ".join(draw.choices(words[2:], k=draw.randrange(8, 24))) for _ in range(1000)]

set_seed(0)
config = GPT2Config(
    vocab_size=len(words),
    n_positions=64,
    n_embd=64,
    n_layer=2,
    n_head=4,
    bos_token_id=1,
    eos_token_id=1,
)
trainer = SFTTrainer(
    model=GPT2LMHeadModel(config),
    args=SFTConfig(
        output_dir=args.output_dir,
        max_steps=args.max_steps,
        per_device_train_batch_size=8,
        save_steps=20,
        logging_steps=10,
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
    ),
    train_dataset=Dataset.from_dict({"text": texts}),
    processing_class=tokenizer,
)
trainer.train(resume_from_checkpoint=get_last_checkpoint(args.output_dir))
