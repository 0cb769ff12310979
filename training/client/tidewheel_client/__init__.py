"""Start, follow and read Tidewheel's runs from Python and notebooks.

from tidewheel_client import Tidewheel

run = Tidewheel().run("digits").wait()
run.metrics("loss")
run.model.download("model")
"""

from .client import Tidewheel
from .deployment import Deployment, DeploymentError, find_deployment
from .http import RefusedError, TidewheelError, UnreachableError
from .model import Model
from .run import Run, RunFailedError, WaitTimeoutError

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
]
