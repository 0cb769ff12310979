"""cuDNN's LSTM without dropout."""

from __future__ import annotations

from recurrent import train

if __name__ == "__main__":
    train(0.0)
