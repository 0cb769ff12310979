"""An LSTM with dropout, both of PyTorch itself."""

from __future__ import annotations

import torch
from recurrent import train

if __name__ == "__main__":
    torch.backends.cudnn.enabled = False
    train(0.3)
