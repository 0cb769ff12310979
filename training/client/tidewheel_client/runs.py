"""One run, over any number of interruptions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from .deployment import Deployment
from .http import Api, TidewheelError
from .model import Model

if TYPE_CHECKING:
    from .operations import (
        DeleteCheckpointsAnswer,
        GetLogAnswerEntriesItem0,
        GetLogAnswerEntriesItem1,
        GetRunAnswer,
        PutLimitsAnswer,
        Report,
        RetryRunAnswer,
        StopRunAnswer,
    )

ENDED = ("succeeded", "failed", "stopped", "empty", "notNeeded")
_POLL_SECONDS = 5.0
_BAR_WIDTH = 20


class RunFailedError(TidewheelError):
    """A run ended without a model."""


class WaitTimeoutError(TidewheelError):
    """A run has not ended in the time that the caller gives it. The run goes on."""


class Run:
    """What `Tidewheel` returns. Every property is a call: read `answer` once for several fields."""

    def __init__(
        self,
        api: Api,
        deployment: Deployment,
        run_id: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = api
        self._deployment = deployment
        self._sleep = sleep
        self.id = run_id

    def __repr__(self) -> str:
        return f"Run({self.id!r})"

    @property
    def answer(self) -> GetRunAnswer:
        """The run with its attempts, timeline, progress and money, as `GET /runs/{runId}` says."""
        found: GetRunAnswer = self._api.call("getRun", {"runId": self.id})
        return found

    @property
    def status(self) -> str:
        return self.answer["run"]["status"]

    @property
    def report(self) -> Report:
        """What it cost and would have cost. Raises RefusedError (409) before the run has ended."""
        found: Report = self._api.call("getReport", {"runId": self.id})
        return found

    @property
    def model(self) -> Model:
        """Raises TidewheelError for a run that has made none, or keeps files instead of one."""
        run = self.answer["run"]
        uri = run.get("modelUri")
        if uri is None:
            raise TidewheelError(f"{self.id} has made no model: its status is {run['status']}")
        declaration = run.get("declaration")
        if declaration is not None and declaration["training"].get("model") == "none":
            raise TidewheelError(
                f'{self.id} has "training.model: none": what its script saved is below '
                f"{_saved_folder(uri, self.id)}, and `tidewheel model get {self.id}` fetches it"
            )
        return Model(self._deployment, uri)

    def wait(
        self, *, timeout_seconds: float | None = None, check: bool = True, quiet: bool = False
    ) -> Run:
        """Returns when the run has ended. An interrupt (Ctrl-C) leaves the run alone.

        In a notebook and on a terminal a line shows what goes on, unless `quiet`.
        Raises RunFailedError if it made no model (`check=False`: never), WaitTimeoutError.
        """
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        with live_line(quiet=quiet) as show:
            while True:
                answer = self.answer
                show(describe(answer))
                status = answer["run"]["status"]
                if status in ENDED:
                    break
                if end is not None and time.monotonic() >= end:
                    raise WaitTimeoutError(
                        f"{self.id} is {status} after {timeout_seconds} s; it goes on"
                    )
                self._sleep(_POLL_SECONDS)
        if check and status != "succeeded":
            need = answer["run"].get("need") if status == "notNeeded" else None
            reason = need["reason"] if need else answer["run"].get("failure", "it made no model")
            raise RunFailedError(f"{self.id} has ended as {status}: {reason}")
        return self

    def metrics(self, name: str | None = None, *, points: int = 2_000) -> Any:
        """What the script logged, over all attempts as one curve.

        A pandas DataFrame with the columns name, position, unit, value, at, attempt and lost, or
        without pandas a list of dicts with these keys. `lost` marks what an attempt did past its
        last checkpoint. `points`: the most of each series, 2 to 20,000.
        """
        answer = self._api.call("getSeries", {"runId": self.id, "name": name, "points": points})
        rows = [
            {"name": series["name"], "unit": series["unit"], **point, "lost": lost}
            for series in answer["series"]
            for lost, group in ((False, series["points"]), (True, series["lost"]))
            for point in group
        ]
        try:
            import pandas
        except ImportError:
            return rows
        columns = ["name", "position", "unit", "value", "at", "attempt", "lost"]
        frame = pandas.DataFrame(rows, columns=columns)
        frame["at"] = pandas.to_datetime(frame["at"], utc=True)
        return frame

    def logs(
        self, *, attempt: int | None = None, host: str | None = None, follow: bool = False
    ) -> Iterator[GetLogAnswerEntriesItem0 | GetLogAnswerEntriesItem1]:
        """Yield what the hosts printed, in order, with a mark where each attempt began and ended.

        An entry of the kind `line` has `at`, `host` and `text`. `follow`: go on until the run has
        ended. Printed values may be anything: show them, and run none.
        """
        where = {"runId": self.id, "attempt": attempt, "host": host}
        token: str | None = None
        while True:
            page = self._api.call("getLog", {**where, "nextToken": token})
            yield from page["entries"]
            token = page.get("nextToken")
            if token is None or (page["isCurrent"] and not follow):
                return
            if page["isCurrent"]:
                self._sleep(_POLL_SECONDS)

    def stop(self, mode: Literal["afterSave", "now"] = "afterSave") -> StopRunAnswer:
        """Ends the run; `now` does not wait for a save."""
        answer: StopRunAnswer = self._api.call("stopRun", {"runId": self.id}, {"mode": mode})
        return answer

    def retry(self, changes: dict[str, Any] | None = None) -> RetryRunAnswer:
        """A failed or stopped run goes on from its newest checkpoint; docs/steering.md."""
        answer: RetryRunAnswer = self._api.call("retryRun", {"runId": self.id}, changes or {})
        return answer

    def set_limits(self, **limits: Any) -> PutLimitsAnswer:
        """Changes limits of a run that has not ended: `set_limits(deadlineHours=48)`."""
        answer: PutLimitsAnswer = self._api.call("putLimits", {"runId": self.id}, limits)
        return answer

    def delete_checkpoints(self) -> DeleteCheckpointsAnswer:
        """Has the checkpoints of an ended run deleted within a day; a retry before keeps them."""
        answer: DeleteCheckpointsAnswer = self._api.call("deleteCheckpoints", {"runId": self.id})
        return answer


def _saved_folder(model_uri: str, run_id: str) -> str:
    return f"{model_uri.split(f'/runs/{run_id}/', 1)[0]}/runs/{run_id}/checkpoints/"


def describe(answer: GetRunAnswer) -> str:
    """Return one line: status, attempt, step with a bar, money, expected end."""
    run = answer["run"]
    parts = [f"{run['runId']} {run['status']}"]
    attempts = answer["attempts"]
    if attempts:
        parts.append(f"attempt {attempts[-1]['attempt']}")
    progress = answer.get("progress")
    if progress is not None:
        total = progress.get("totalSteps")
        parts.append(f"step {progress['step']:,}" + (f" of {total:,}" if total else ""))
        if total:
            parts.append(_bar(progress["step"] / total))
    money = answer["money"]
    parts.append(f"${money['usd']:.4f}")
    expected = money.get("expected")
    if expected is not None:
        parts.append(f"expected end {expected['finishAt']['expected'][:16]}Z")
    return " · ".join(parts)


def _bar(share: float) -> str:
    full = round(_BAR_WIDTH * min(1.0, share))
    return f"{'█' * full}{'░' * (_BAR_WIDTH - full)} {min(1.0, share):.0%}"


@contextmanager
def live_line(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Yields what shows a text in the place of the one before, in a notebook or on a terminal."""
    notebook = None if quiet else _notebook_display()
    if notebook is not None:
        yield notebook
    elif quiet or not sys.stderr.isatty():
        yield lambda _text: None
    else:
        try:
            yield lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        finally:
            print(file=sys.stderr)


def _notebook_display() -> Callable[[str], None] | None:
    """IPython's display handle, if this process is a notebook's kernel."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    # Plain text: what a run is called must not become HTML.
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
