"""The way in."""

from __future__ import annotations

import difflib
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from .deployment import Deployment, find_deployment
from .http import Api, TidewheelError
from .runs import Run
from .submit import declare, send_data, send_source

if TYPE_CHECKING:
    from .operations import ListProbesAnswerProbesItem, Pipeline, RunSummary


class Tidewheel:
    """A deployment. Without arguments: the local region of this folder, else `tidewheel-dev`."""

    def __init__(
        self,
        *,
        stage: str | None = None,
        region: str | None = None,
        state: str | Path | None = None,
        session: boto3.Session | None = None,
        deployment: Deployment | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises DeploymentError. `state`: the folder of a local region; `sleep`: takes seconds."""
        self.deployment = deployment or find_deployment(
            stage=stage, region=region, state=state, session=session
        )
        self._sleep = sleep
        self._api = Api(self.deployment, sleep)

    def __repr__(self) -> str:
        return f"Tidewheel({self.deployment.title})"

    def run(
        self, pipeline: str, changes: dict[str, Any] | None = None, *, again: str | None = None
    ) -> Run:
        """Starts the run of the open batch, or returns the one that is running already.

        `changes`: a part of a declaration that holds for this run alone; `again`: the id of a run
        whose settings, data and source it takes. Raises RefusedError where another request
        for the open run has other changes; docs/steering.md.
        """
        # The client repeats a call that got no answer.
        body = {**(changes or {}), "clientToken": str(uuid.uuid4())}
        if again is not None:
            body["again"] = again
        return self.get(self._api.call("startRun", {"name": pipeline}, body)["runId"])

    def submit(
        self,
        source: str | Path = ".",
        data: str | Path | None = None,
        hyperparameters: dict[str, Any] | None = None,
        *,
        pipeline: str | None = None,
        declaration: dict[str, Any] | None = None,
        changes: dict[str, Any] | None = None,
    ) -> Run:
        """Declares the pipeline of a folder, sends code and data, and starts its run.

        The declaration is the given one, or the tidewheel.yaml in or above the folder; without
        either, `pipeline` is declared already. `hyperparameters` and `changes` hold for this run
        alone. Raises RefusedError with every problem of the declaration, before anything is sent.
        """
        folder = Path(source)
        files = None if data is None else Path(data)
        for each in (folder, files or folder):
            if not each.is_dir():
                raise TidewheelError(f"there is no folder {each}")
        name = declare(self._api, folder, pipeline, declaration)
        send_source(self.deployment, name, folder, files)
        if files is not None:
            send_data(self.deployment, name, files)
        changed = dict(changes or {})
        if hyperparameters:
            training = dict(changed.get("training", {}))
            known = training.get("hyperparameters", {})
            changed["training"] = {**training, "hyperparameters": {**known, **hyperparameters}}
        return self.run(name, changed)

    def get(self, run_id: str) -> Run:
        """A run by its id, such as digits-000042. It makes no call yet."""
        return Run(self._api, self.deployment, run_id, self._sleep)

    def latest(self, pipeline: str) -> Run:
        """The newest run of a pipeline. Raises TidewheelError if it has none."""
        found = self.runs(pipeline=pipeline, limit=1)
        if not found:
            raise TidewheelError(self._why_no_run(pipeline))
        return self.get(found[0]["runId"])

    def _why_no_run(self, pipeline: str) -> str:
        names = [each["name"] for each in self.pipelines()]
        if pipeline in names:
            return f'pipeline "{pipeline}" has no run yet: drop data, or start one with run()'
        near = difflib.get_close_matches(pipeline, names, n=1)
        if near:
            return f'there is no pipeline "{pipeline}": did you mean {near[0]}?'
        known = f"there are {', '.join(names)}" if names else "none is declared yet"
        return f'there is no pipeline "{pipeline}": {known}'

    def runs(
        self, *, pipeline: str | None = None, status: str | None = None, limit: int = 20
    ) -> list[RunSummary]:
        """Runs of all pipelines or of one, newest first; at most `limit`."""
        filters = {"pipeline": pipeline, "status": status}
        return self._pages("listRuns", "runs", filters, limit)

    def probes(self, pipeline: str, *, limit: int = 20) -> list[ListProbesAnswerProbesItem]:
        """Trials of other settings with their speed and cost, newest first; docs/probing.md."""
        return self._pages("listProbes", "probes", {"name": pipeline}, limit)

    def _pages(
        self, operation: str, items: str, parameters: dict[str, Any], limit: int
    ) -> list[Any]:
        found: list[Any] = []
        token: str | None = None
        while len(found) < limit:
            page = self._api.call(
                operation,
                {**parameters, "limit": min(limit - len(found), 200), "nextToken": token},
            )
            found.extend(page[items])
            token = page.get("nextToken")
            if token is None:
                break
        return found

    def pipelines(self) -> list[Pipeline]:
        """All of them, by name."""
        return self._pages("listPipelines", "pipelines", {}, sys.maxsize)

    def call(self, operation: str, **parameters: Any) -> Any:
        """Any operation of docs/openapi.json by its operationId; `body` is its body."""
        body = parameters.pop("body", None)
        return self._api.call(operation, parameters, body)


def run(
    source: str | Path = ".",
    data: str | Path | None = None,
    hyperparameters: dict[str, Any] | None = None,
    **options: Any,
) -> Run:
    """`Tidewheel().submit(…)`: for the cell of a notebook."""
    return Tidewheel().submit(source, data, hyperparameters, **options)
