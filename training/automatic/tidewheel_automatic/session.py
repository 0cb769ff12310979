"""One process's training: records what the script reads, saves, and replays after an interruption.

A resumed script runs from its top. At the first backward pass or optimizer step the replay begins:
tensors are fake, loaders load nothing, and reads of tensors give the recorded values. At the
saved step everything gets its saved state, and training goes on.
"""

from __future__ import annotations

import contextlib
import os
import sys
from contextlib import suppress
from typing import Any

import torch

from tidewheel._checkpoint_folder import folder_of_step
from tidewheel_contract.trial import FAILED_RESUME, STOPPED

from . import loaders, storage
from .aside import Aside, Files
from .draws import Draws
from .fake_tensors import ReplayMode
from .journal import Journal, RefusedError
from .loop import Boundaries, Gradients, Position
from .nesting import Nesting
from .options import Options
from .other_processes import SECOND_PROCESS, OtherProcesses, claim_training, is_taken
from .ranks import buckets
from .ranks.gang import Gang, TrialStore
from .recorded.number_reads import NumberReads
from .recorded.packed import PackedSequences
from .recorded.shapes import ShapesByData
from .refusal import is_of_host, meets_fake_tensor, reason_of
from .sandbox import Sandbox
from .saver import Saver
from .seeds import Seeds
from .state import randomness, snapshot
from .state.replicated import fill_in
from .trial import FirstProcess, SecondProcess

_WARM_UP_STEPS = 20
"""Before a graph is captured: PyTorch's notes take 3, and 11 under DDP."""
_MOST_READ_BYTES = 64 << 20
"""Each checkpoint holds what was read, and so does the memory."""


class Session:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._output = _Output()
        self.journal = Journal()
        self._read_bytes = 0
        """Of what the journal holds."""
        self.draws = Draws(self.may_read)
        self.has_begun = False
        self.is_replaying = False
        self.steps = 0
        self.nesting = Nesting()
        self.shapes = ShapesByData(self)
        self.processes = OtherProcesses(self)
        self.numbers = NumberReads(self)
        self.packed = PackedSequences(self, self.shapes)
        self._mode = ReplayMode(self.packed.again)
        self._unchanged: snapshot.Versions = {}
        self.gradients = Gradients()
        self._boundaries = Boundaries()
        self.seeds = Seeds(lambda: not self.nesting.is_nested)
        self._saver = Saver(options)
        self.files = Files(options.root)
        self.aside = Aside(options.root)
        self._has_given_up = False
        self._obstacle = ""
        """Why no step can be saved, where that is known before the first."""
        self._saved: dict[str, Any] | None = None
        self._resumed_step: int | None = None
        self._random = randomness.capture()
        self._second = SecondProcess(options.scratch, options.rank) if options.scratch else None
        self._sandbox = Sandbox(options.scratch, options.protected) if options.scratch else None
        self.replicas: list[Any] = []
        """The script's DistributedDataParallel modules."""
        self._whole_steps = (
            []
            if is_taken(options)
            else storage.whole_steps(options.root, options.rank, options.first_rank, options.files)
        )
        step = max(self._whole_steps, default=None)
        if step is not None:
            self._random = self._prepare_replay(step)["random_at_start"]
            randomness.restore(self._random)
        self._trial: FirstProcess | None = None
        # A script that resumes is the proof itself.
        if options.trial and step is None and options.ranks == 1:
            self._trial = FirstProcess(options.trial, options)

    def _prepare_replay(self, step: int) -> dict[str, Any]:
        options = self._options
        folder = folder_of_step(options.root, step)
        self._saved = saved = storage.load(folder, options.rank)
        if options.rank != options.first_rank:
            fill_in(saved["objects"], storage.load(folder, options.first_rank)["objects"])
        self.journal = Journal(saved["journal"])
        self.seeds.replay(saved["seeds"])
        self._read_bytes = saved["read_bytes"]
        self.files.write_back(saved["files"], replaces=False)
        self.aside.note_saved()
        return saved

    def join(self, store: Any) -> None:
        """The ranks have found each other: they resume from one step."""
        options = self._options
        if options.ranks == 1 or self.has_begun:
            return
        self._saver.gang = Gang(store, options.rank, options.ranks)
        step = self._saver.gang.agree(self._whole_steps)
        if self._saved is not None and step != self._saved["step"]:
            self._saved, self.journal = None, Journal()
            if step is not None:
                self._prepare_replay(step)
        self._join_trial(TrialStore(store, options.ranks), step)

    def _join_trial(self, store: TrialStore, step: int | None) -> None:
        """`step`: from which the ranks resume."""
        if self._second is not None:
            self._second.store = store
            if step is None:
                error = RefusedError("its ranks find no checkpoint that all of them have")
                self._second.failed(error, has_begun=False)
        elif self._options.trial is not None and step is None:
            self._trial = FirstProcess(self._options.trial, self._options, store)

    def leave(self) -> None:
        """The script ends its process group."""
        if self._options.ranks > 1 and not self.is_replaying:
            self._has_given_up = True
            self._saver.leave()

    @property
    def is_active(self) -> bool:
        """Whether a read of a tensor is the script's own, in the training loop's thread."""
        return self.is_recording and self.nesting.is_script and not self._mode.is_busy

    @property
    def is_recording(self) -> bool:
        """Whether reads and batches have to be in the journal."""
        return self.has_begun and not self._has_given_up

    def give_up(self, reason: str, *, for_good: bool = False) -> None:
        """The script trains on without checkpoints; those that it has keep their steps safe, unless
        it is `for_good`: then the agent sets them aside, and later attempts have no hooks."""
        if self.processes.is_forked:
            return  # Its parent gives up.
        self._has_given_up = True
        self.journal = Journal()
        self._saver.give_up(reason)
        self._output.say(f"no automatic checkpoints from step {self.steps} on: {reason}")
        if self._options.trial is not None and self._options.rank == 0:
            storage.tell_agent(self._options.trial / STOPPED, self.steps, reason, for_good=for_good)

    def cannot_save(self, reason: str) -> None:
        """From here on; the first forward pass comes before the first step begins."""
        if self.is_recording:
            self.give_up(reason)
        elif not self.has_begun:
            self._obstacle = reason

    def captures_graph(self) -> None:
        """Before the first step each process captures its own. Raises RefusedError in a replay."""
        reason = "the loop captures a CUDA graph, which hides its steps"
        if self.is_replaying:
            raise RefusedError(reason)
        if self.is_recording:
            self.give_up(reason)
            with suppress(Exception):
                self._saver.flush()  # A copy that another thread waits for breaks a capture.
            if self.steps <= _WARM_UP_STEPS:  # A script that resumes after them captures cold.
                storage.remove_all(self._options.root)

    def may_read(self, size: int) -> bool:
        """Counts what comes into the journal; gives up when it is too much."""
        self._read_bytes += size
        if self._read_bytes <= _MOST_READ_BYTES:
            return True
        if not self._has_given_up:
            read = f"{self._read_bytes >> 20} MiB out of tensors and loaders"
            self.give_up(f"the loop has read {read}, all of which a replay would need")
        return False

    def may_write(self, path: str) -> None:
        """Raises ProtectedFileError in the trial's second process for a file of the training."""
        if self._sandbox is not None:
            self._sandbox.check(path)

    def begin(self) -> None:
        """The first backward pass or step: all before it runs for real in every process."""
        if self.has_begun:
            return
        self.has_begun = True
        self.shapes.hook_others()
        self.nesting.begin()
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            self.captures_graph()
        if self._obstacle:
            self._saved = None  # An agent without this knowledge may have saved.
            self.give_up(self._obstacle)
        elif not claim_training(self._options):
            self._saved = None
            self.give_up(SECOND_PROCESS, for_good=True)
        self._unchanged = snapshot.versions()
        if self._saved is not None:
            step = self._resumed_step = self._saved["step"]
            self._output.say(f"resuming: steps 1 to {step} are done and are not repeated")
            self._output.mute()
            self.aside.begin()
            self.is_replaying = True
            self._mode.begin()

    def after_backward(self) -> None:
        """A script that updates its weights by itself has steps, too."""
        if not self.gradients.has_optimizers and not self.nesting.is_nested:
            self.after_step()

    def before_batch(self) -> None:
        self._boundary(self._boundaries.before_batch())

    def after_step(self, optimizer: torch.optim.Optimizer | None = None) -> None:
        self.steps += 1
        self._boundary(self._boundaries.after_step(self.steps, optimizer))

    def _boundary(self, position: Position | None) -> None:
        if position is not None:
            with self.nesting.inside():
                self._at_boundary(position)

    def _at_boundary(self, position: Position) -> None:
        if self.processes.is_forked:
            self.processes.trains()
        elif self.is_replaying:
            assert self._saved is not None
            if position == self._saved["position"]:
                self._restore(self._saved)
        elif self._second is not None:
            self._second.look(self.steps, lambda: self._state(position))
        elif self._has_given_up:
            return
        elif (reason := self.processes.reason()) is not None:
            self.give_up(reason, for_good=self.processes.has_trained)
        else:
            try:
                self._try(position)
                waits = self._trial is not None and self._trial.is_awaited
                self._saver.look(self.steps, lambda: self._state(position), awaits_trial=waits)
            except Exception as error:  # The script comes first.
                self.give_up(str(error) if isinstance(error, RefusedError) else repr(error))

    def _try(self, position: Position) -> None:
        if self._trial is None:
            return
        try:
            self._trial.look(self.steps, lambda: self._state(position))
        except RefusedError:
            # Whether it could be written or not, it goes.
            with suppress(Exception):
                self._saver.flush()
            storage.remove_all(self._options.root)
            raise

    def _state(self, position: Position) -> dict[str, Any]:
        self.draws.settle()
        return {
            "step": self.steps,
            "position": position,
            "journal": self.journal.entries(),
            "read_bytes": self._read_bytes,
            "random_at_start": self._random,
            "seeds": self.seeds.taken(),
            "random": randomness.capture(),
            "loaders": loaders.live_states(),
            "buckets": buckets.orders(self.replicas, self._options.ranks),
            "objects": snapshot.capture(self._unchanged, self._replicated()),
            "files": self.files.contents(),
        }

    def _replicated(self) -> set[int]:
        """The ids of the parameters that DDP keeps equal on all ranks."""
        return {
            id(parameter)
            for replica in self.replicas
            for parameter in replica.parameters()
            if parameter.requires_grad
        }

    def _restore(self, saved: dict[str, Any]) -> None:
        if self.journal.is_replaying:
            raise RefusedError("the script reads less than before the checkpoint")
        self._mode.end()
        self.is_replaying = False
        self.aside.end()
        self.files.write_back(saved["files"], replaces=True)
        is_exact = buckets.arrange(self.replicas, saved["buckets"])
        if self._second is not None and not is_exact:
            error = RefusedError("its ranks round their first sums otherwise after a resume")
            self._second.failed(error, has_begun=False)
        snapshot.restore(saved["objects"])
        loaders.restore_live(saved["loaders"])
        # Last: to make a loader's iterator again draws random numbers.
        randomness.restore(saved["random"])
        self._saved = None
        self._saver.restored()
        if self._second is not None:
            self._second.restored(saved["step"])
        self._output.unmute()
        self._output.say(f"restored after step {saved['step']}: training goes on")

    def stop_replay(self, error: BaseException) -> None:
        """An error ends the script: it has to be readable."""
        self._output.unmute()
        if self.processes.is_forked:
            return  # The one that forked it goes on.
        if self._second is not None:
            self._second.failed(error, has_begun=self.has_begun)
        is_inexact = isinstance(error, RefusedError) or meets_fake_tensor(error)
        if self.is_replaying or (self._resumed_step is not None and is_inexact):
            self.is_replaying = False
            self._refuse(error)

    def _refuse(self, error: BaseException) -> None:
        """The agent starts the script again without the hooks where the script is at fault."""
        self.aside.end()
        reason = reason_of(error)
        self._output.say(f"cannot resume this script: {reason}")
        is_at_fault = isinstance(error, Exception) and not is_of_host(error)
        if self._options.trial is not None and is_at_fault:
            storage.tell_agent(self._options.trial / FAILED_RESUME, self._resumed_step or 0, reason)

    def finish(self) -> None:
        """At the end of the process."""
        if self.processes.is_forked:
            return
        self.leave()
        error = RefusedError("the script ended before the step of its checkpoint")
        if self._second is not None:
            self._second.failed(error, has_begun=self.has_begun)
        if self.is_replaying:
            self._output.unmute()
            self._refuse(error)
            sys.stdout.flush()
            os._exit(1)


class _Output:
    """The script's, silent during a replay: an earlier attempt has printed these lines."""

    def __init__(self) -> None:
        self._kept: list[int] = []

    def mute(self) -> None:
        """Redirects the descriptors, so that every writer of the process is silent."""
        self._flush()
        self._kept = [os.dup(1), os.dup(2)]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def unmute(self) -> None:
        if not self._kept:
            return
        self._flush()
        for descriptor, kept in zip((1, 2), self._kept, strict=True):
            os.dup2(kept, descriptor)
            os.close(kept)
        self._kept = []

    def say(self, text: str) -> None:
        print(f"tidewheel: {text}", file=sys.stderr, flush=True)

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
