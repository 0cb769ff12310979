"""A vision transformer with one thing that holds it back, by its arguments; runs until killed."""

from __future__ import annotations

import argparse
import io

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE, PATCH = 224, 16


class Photographs(Dataset):
    """One photograph of noise, decoded for each sample as if it were another."""

    def __init__(self, pixels: int) -> None:
        from PIL import Image

        noise = torch.randint(0, 256, (pixels // 8, pixels // 8, 3), dtype=torch.uint8).numpy()
        file = io.BytesIO()
        Image.fromarray(noise).resize((pixels, pixels)).save(file, "JPEG", quality=90)
        self._bytes = file.getvalue()

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        from PIL import Image

        image = Image.open(io.BytesIO(self._bytes)).convert("RGB").resize((SIDE, SIDE))
        data = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
        return data.view(SIDE, SIDE, 3).permute(2, 0, 1), index % 10


class Ready(Dataset):
    """Samples that cost nothing."""

    def __init__(self) -> None:
        self._image = torch.randint(0, 256, (3, SIDE, SIDE), dtype=torch.uint8)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self._image, index % 10


class Transformer(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, PATCH, PATCH)
        self.places = nn.Parameter(torch.zeros((SIDE // PATCH) ** 2, width))
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layers(tokens).mean(1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--photographs", type=int, default=0, help="pixels of a side; 0: none")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--precision", choices=("float32", "tf32", "bfloat16"), default="bfloat16")
    parser.add_argument("--unpinned", action="store_true")
    options = parser.parse_args()
    device = torch.device(options.device)
    if options.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(0)
    model = Transformer(options.width, options.depth).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = DataLoader(
        Photographs(options.photographs) if options.photographs else Ready(),
        batch_size=options.batch,
        num_workers=options.workers,
        pin_memory=device.type == "cuda" and not options.unpinned,
    )
    for step, (images, targets) in enumerate(loader):
        images = images.to(device, non_blocking=True).float().div_(255)
        targets = targets.to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16, enabled=options.precision == "bfloat16"):
            loss = nn.functional.cross_entropy(model(images), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
