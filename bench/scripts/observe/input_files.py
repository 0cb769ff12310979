"""Writes what some scripts read, drawn at random: `python input_files.py KIND FOLDER`.

`characters`: nanoGPT's tokens of one byte each (train.bin, val.bin, meta.pkl); `pairs`: sentences
of two languages beside each other (fra.txt); `texts`: a small GPT-2 of random weights with its
tokenizer (model/), and texts for it (texts/train.jsonl).
"""

from __future__ import annotations

import array
import json
import pickle
import random
import sys
from pathlib import Path

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(chance: random.Random, count: int) -> str:
    return " ".join("".join(chance.choices(_LETTERS, k=chance.randint(2, 7))) for _ in range(count))


def write_characters(folder: Path, chance: random.Random) -> None:
    alphabet = sorted({*_LETTERS, " "})
    number = {letter: place for place, letter in enumerate(alphabet)}
    for name, count in (("train", 100_000), ("val", 10_000)):
        tokens = array.array("H", (number[letter] for letter in words(chance, count)))
        (folder / f"{name}.bin").write_bytes(tokens.tobytes())
    meta = {"vocab_size": len(alphabet), "stoi": number, "itos": dict(enumerate(alphabet))}
    (folder / "meta.pkl").write_bytes(pickle.dumps(meta))


def write_pairs(folder: Path, chance: random.Random) -> None:
    lines = [f"{words(chance, 3)}\t{words(chance, 4)}" for _ in range(10_000)]
    (folder / "fra.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_texts(folder: Path, chance: random.Random) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    known = ["<pad>", "<eos>", *(f"w{number}" for number in range(2000))]
    ids = {word: number for number, word in enumerate(known)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(ids, unk_token="<pad>")),
        pad_token="<pad>",
        eos_token="<eos>",
    )
    tokenizer.backend_tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save_pretrained(folder / "model")
    config = GPT2Config(
        vocab_size=len(known),
        n_positions=128,
        n_embd=128,
        n_layer=2,
        n_head=4,
        bos_token_id=1,
        eos_token_id=1,
    )
    GPT2LMHeadModel(config).save_pretrained(folder / "model")
    (folder / "texts").mkdir()
    with (folder / "texts" / "train.jsonl").open("w", encoding="utf-8") as file:
        for _ in range(4_000):
            text = " ".join(chance.choices(known[2:], k=chance.randrange(32, 96)))
            file.write(json.dumps({"text": text}) + "\n")


_WRITERS = {"characters": write_characters, "pairs": write_pairs, "texts": write_texts}


def main() -> None:
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    _WRITERS[sys.argv[1]](folder, random.Random(0))


main()
