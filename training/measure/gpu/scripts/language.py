"""After the manner of nanoGPT: batches from an array through pinned memory, accumulated gradients,
bfloat16, a fused optimizer, and an average of the weights on the device."""

from __future__ import annotations

import numpy
import torch
from ending import print_digest, read_arguments, report
from torch import nn

CONTEXT, WIDTH, WORDS = 64, 128, 512


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, _ = x.shape
        parts = self.qkv(self.first(x)).view(rows, length, 3, 4, WIDTH // 4).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(
            parts[0], parts[1], parts[2], dropout_p=0.1 if self.training else 0.0, is_causal=True
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.wide(self.second(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(1337)
    data = numpy.random.default_rng(0).integers(0, WORDS, 100_000)
    chance = numpy.random.default_rng(3)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        starts = chance.integers(0, len(data) - CONTEXT - 1, 16)
        inputs = torch.stack([torch.from_numpy(data[i : i + CONTEXT]) for i in starts])
        targets = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + CONTEXT]) for i in starts])
        if device.type == "cuda":
            inputs, targets = inputs.pin_memory(), targets.pin_memory()
        return inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)

    model = Model().to(device)
    averages = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for step in range(1, options.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, step / 20)
        for _ in range(2):
            inputs, targets = batch()
            with torch.autocast(device.type, torch.bfloat16):
                logits = model(inputs)
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()) / 2
            loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for name, value in model.named_parameters():
                averages[name].lerp_(value, 0.01)
        report(step, loss + 0 * norm, options.pause)
    print_digest([*model.parameters(), *averages.values()])


if __name__ == "__main__":
    main()
