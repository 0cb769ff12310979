"""float16 with a GradScaler, loader workers, pinned memory, a generator and dropout on the GPU."""

from __future__ import annotations

import torch
from ending import print_digest, read_arguments, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    options = read_arguments()
    device = torch.device(options.device)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    images, labels = torch.randn(640, 3, 16, 16), torch.randint(0, 10, (640,))
    loader = DataLoader(
        TensorDataset(images, labels),
        batch_size=32,
        shuffle=True,
        num_workers=2,
        pin_memory=device.type == "cuda",
    )
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1, stride=2),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(64 * 8 * 8, 10),
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    scaler = torch.amp.GradScaler(device.type, growth_interval=40)
    noise = torch.Generator(device).manual_seed(2)
    narrow = torch.float16 if device.type == "cuda" else torch.bfloat16
    step = 0
    while step < options.steps:
        for inputs, targets in loader:
            inputs = inputs.to(device, non_blocking=True)
            targets = targets.to(device, non_blocking=True)
            inputs += 0.1 * torch.randn(inputs.shape, generator=noise, device=device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, narrow):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
            step += 1
            report(step, loss, options.pause)
            if step == options.steps:
                break
    print_digest([*model.state_dict().values(), torch.tensor(scaler.get_scale())])


if __name__ == "__main__":
    main()
