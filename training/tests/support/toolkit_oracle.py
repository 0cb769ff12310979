"""AWS's own training toolkit over a host's folder, as its containers start it.

Run by the Python that has `sagemaker-training`, with SAGEMAKER_BASE_DIR. `tell` prints what it
would give the script; `train` starts the script as PyTorch's container does.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def tell() -> None:
    from sagemaker_training.environment import Environment  # type: ignore[import-not-found]

    job = Environment()
    print(json.dumps({"env": job.to_env_vars(), "args": job.to_cmd_args()}, sort_keys=True))


def start() -> None:
    """The part of `sagemaker_pytorch_container.training.train` that chooses how."""
    from sagemaker_training import (  # type: ignore[import-not-found]
        entry_point,
        environment,
        runner,
    )

    job: Any = environment.Environment()
    more = job.additional_framework_parameters
    is_torchrun = more.get("sagemaker_torch_distributed_enabled", False)
    entry_point.run(
        uri=job.module_dir,
        user_entry_point=job.user_entry_point,
        args=job.to_cmd_args(),
        env_vars=job.to_env_vars(),
        capture_error=True,
        runner_type=runner.TorchDistributedRunnerType if is_torchrun else runner.ProcessRunnerType,
    )


if __name__ == "__main__":
    if sys.argv[1] == "tell":
        tell()
    else:
        from sagemaker_training.trainer import train  # type: ignore[import-not-found]

        train()
