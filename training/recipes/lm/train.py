"""Trains a small language model on packed text, with torchrun or on one host's GPUs."""

from common.program import run
from config import Config
from language import LanguageTask

if __name__ == "__main__":
    run(Config, LanguageTask)
