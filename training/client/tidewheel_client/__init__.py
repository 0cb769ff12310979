"""Start, follow and read Tidewheel's runs from Python and notebooks.

import tidewheel_client
from tidewheel_client import Tidewheel

tidewheel_client.run(source="my-training", data="images", hyperparameters={"lr": 1e-4}).wait()
run = Tidewheel().run("digits").wait()
run.metrics("loss")
run.model.download("model")
"""

from .client import Tidewheel, run
from .deployment import Deployment, DeploymentError, find_deployment
from .http import RefusedError, TidewheelError, UnreachableError
from .model import Model
from .runs import Run, RunFailedError, WaitTimeoutError

__all__ = [
    "Deployment",
    "DeploymentError",
    "Model",
    "RefusedError",
    "Run",
    "RunFailedError",
    "Tidewheel",
    "TidewheelError",
    "UnreachableError",
    "WaitTimeoutError",
    "find_deployment",
    "run",
]
