"""The job as one of its hosts sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..declared_pattern import DeclaredPattern
from .script_document import ScriptDocument
from .settings import CheckpointRules, Json
from .strategy_traits import TRAITS, StrategyTraits

MODEL_CHANNEL = "model"
"""Of the model that a run begins from (packages/declaration/script/placeholders.ts)."""
CURRENT_CHANNEL = "tidewheel_current"
"""Brings the archive of the model in use, which no script reads."""


class WrittenFloat(float):
    """A number that a script gets as it was written: 0.0 and 1e-4, where Python shows 0.0001."""

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number._text = text
        return number

    _text: str

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True)
class Group:
    """An instance group of a heterogeneous job; a homogeneous job has exactly one."""

    name: str
    instance_type: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Job:
    """One training job as seen from one of its hosts."""

    base: Path
    hosts: tuple[str, ...]
    current_host: str
    current_group: str
    current_instance_type: str
    groups: tuple[Group, ...]
    network_interface: str
    hyperparameters: dict[str, Json]
    """The user's own, which the script gets."""
    agent_parameters: dict[str, Json]
    """`sagemaker_*` and `tidewheel_*` hyperparameters, which the script does not get."""
    channels: dict[str, dict[str, Json]]
    resource_config: dict[str, Json] = field(repr=False)
    checkpoint_dir: Path | None
    program: str
    strategy: str
    distribution_groups: tuple[str, ...]
    progress_pattern: DeclaredPattern | None
    script: ScriptDocument = field(default_factory=ScriptDocument)
    newest_checkpoints: Mapping[str, str] = field(default_factory=dict)
    """For patterns in the script's arguments: paths relative to the checkpoint folder."""

    @property
    def distribution_hosts(self) -> tuple[str, ...]:
        """The hosts of the groups that are named to train; the first host leads.

        A cluster (Ray, tf.data service) has all groups; the first one named leads.
        """
        order = [*self.distribution_groups]
        named = [g for g in self.groups if g.name in order]
        if self._is_cluster:
            named.sort(key=lambda group: order.index(group.name))
        return tuple(dict.fromkeys(host for group in named for host in group.hosts))

    @property
    def helper_hosts(self) -> tuple[str, ...]:
        """The hosts that do not train: their groups are not named, or in a cluster not first."""
        training = self.training_hosts
        return tuple(host for host in self.hosts if host not in training)

    @property
    def training_hosts(self) -> tuple[str, ...]:
        """The hosts that compute the model."""
        if not self._is_cluster:
            return self.distribution_hosts
        first = next(g for g in self.groups if g.name == self.distribution_groups[0])
        return first.hosts

    @property
    def traits(self) -> StrategyTraits:
        return TRAITS[self.strategy]

    @property
    def _is_cluster(self) -> bool:
        return self.traits.other_groups == "join_cluster"

    @property
    def leader(self) -> str:
        """The first host that trains; its agent writes the progress note."""
        return self.distribution_hosts[0]

    @property
    def is_leader(self) -> bool:
        return self.current_host == self.leader

    @property
    def checkpoint_seconds(self) -> float | None:
        """The interval between checkpoints that the service computed, if it did."""
        interval = self.agent_parameters.get("tidewheel_checkpoint_seconds")
        if isinstance(interval, bool) or not isinstance(interval, (int, float)):
            return None
        return float(interval) if interval > 0 else None

    @property
    def checkpoint_rules(self) -> CheckpointRules | None:
        """What the pipeline declares of its checkpoints; None where the agent's own rules hold."""
        return self.script.checkpoint

    @property
    def code_dir(self) -> Path:
        return self.base / "code"

    @property
    def working_dir(self) -> Path:
        """The folder that the script runs in."""
        if self.script.runs_in_checkpoints:
            return self.checkpoint_dir or self.code_dir
        return self.code_dir / self.script.working_directory

    @property
    def checkpoint_link(self) -> Path | None:
        """Leads from a folder of the source to the declared one of the checkpoints."""
        link = self.script.checkpoint_link
        if self.script.runs_in_checkpoints:
            return None
        return self.working_dir / link if link else None

    @property
    def paths(self) -> dict[str, str]:
        """What placeholders stand for."""
        return {
            "checkpoints": str(self.checkpoint_dir or self.base / "checkpoints"),
            "model": str(self.base / "model"),
            "output": str(self.base / "output" / "data"),
            "source": str(self.code_dir),
            # A run without data has no shards, and one may have no model to begin from.
            **{
                f"channel:{name}": str(self._channel_dir(name))
                for name in ("train", "shards_train", MODEL_CHANNEL, *self.channels)
            },
        }

    def _channel_dir(self, name: str) -> Path:
        if name == MODEL_CHANNEL and self.model_digest is not None:
            return self.start_model_dir
        return self.base / "input" / "data" / name

    @property
    def script_channels(self) -> dict[str, str]:
        """The folders of the channels that are there: a model only where the script begins."""
        return {
            name: str(folder)
            for name in self.channels
            if name != CURRENT_CHANNEL
            and ((folder := self._channel_dir(name)) != self.start_model_dir or folder.is_dir())
        }

    @property
    def model_digest(self) -> str | None:
        """SHA-256 of the model that the run begins from, or `unknown`; None where it has none."""
        digest = self.agent_parameters.get("tidewheel_model")
        return digest if isinstance(digest, str) and MODEL_CHANNEL in self.channels else None

    @property
    def start_model_dir(self) -> Path:
        """Where the model is unpacked: a channel's own folder may be read-only."""
        return self.base / "start-model"

    @property
    def code_channel(self) -> Path:
        return self.base / "input" / "data" / "code"

    @property
    def run_id(self) -> str:
        """Identifies the job to its agents on other hosts: jobs on one machine must not mix."""
        for key in ("sagemaker_job_name", "tidewheel_run_id"):
            value = self.agent_parameters.get(key)
            if isinstance(value, str) and value:
                return value + self._round
        return "local" + self._round

    @property
    def _round(self) -> str:
        """On EC2 a job may start again with other hosts, without the agents of earlier rounds."""
        number = self.agent_parameters.get("tidewheel_round")
        return f"#{number}" if isinstance(number, int) and number > 1 else ""
