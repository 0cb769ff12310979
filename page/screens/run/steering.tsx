/** What a person can do to a run, each with its consequence before it. */
import { useSignal } from '@preact/signals';
import { isFinished, savedProgress } from '../../../client/run-view.ts';
import { elapsedText } from '../../model/format.ts';
import { DialogButton, SendButton } from '../../parts/controls.tsx';
import { Command } from '../../parts/text.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, ask } from '../../state/api.ts';
import { Question } from './decision.tsx';

/** `onChange` reads the run again. */
type SteeringProps = Readonly<{ view: AnswerOf<'getRun'>; onChange: () => void }>;

export function Steering({ view, onChange }: SteeringProps) {
  const { runId, stop, declaration } = view.run;
  if (isFinished(view.run)) return <OfEnded view={view} onChange={onChange} />;
  if (stop !== undefined)
    return <span role="status">{`Is being stopped, as ${stop.requestedBy} asked.`}</span>;
  const attempt = String(view.attempts.at(-1)?.attempt ?? '');
  return (
    <>
      {declaration && (
        <DialogButton text="Limits…" title="Change deadline or budget">
          {() => <Question {...{ runId, limits: declaration.limits, attempt, onChange }} />}
        </DialogButton>
      )}
      <Stop view={view} onChange={onChange} />
    </>
  );
}

function OfEnded({ view, onChange: onDone }: SteeringProps) {
  const { runId, status, checkpointDeletion: asked, expired = [] } = view.run;
  const progress = savedProgress(view);
  const hasCheckpoints = progress !== undefined && !expired.includes('checkpoints');
  const remove = { call: () => ask('deleteCheckpoints', { runId }), kind: 'danger', onDone } as const;
  const retry = { call: () => ask('retryRun', { runId, body: {} }), onDone };
  const from = progress
    ? `It goes on from ${progress.unit ?? 'step'} ${progress.step}.`
    : 'There is no checkpoint: it trains from the start.';
  return (
    <>
      {status === 'succeeded' && <Again view={view} />}
      {['failed', 'stopped', 'notNeeded'].includes(status) && (
        <DialogButton text="Retry…" title="Retry this run" kind="primary" act={{ text: 'Retry', ...retry }}>
          {() => <p>{`${from} It trains with the source as it is now, and costs money again.`}</p>}
        </DialogButton>
      )}
      {hasCheckpoints && asked && (
        <span role="status">{`Its checkpoints are deleted within a day, as ${asked.requestedBy} asked.`}</span>
      )}
      {hasCheckpoints && !asked && (
        <DialogButton text="Delete checkpoints…" title="Delete them" act={{ text: 'Delete', ...remove }}>
          {() => <p>A retry would train from the start then. Model, report and data stay.</p>}
        </DialogButton>
      )}
    </>
  );
}

function Stop({ view, onChange }: SteeringProps) {
  const { run, attempts } = view;
  const progress = savedProgress(view);
  const stop = (mode: 'afterSave' | 'now') => () => ask('stopRun', { runId: run.runId, body: { mode } });
  const unsaved = progress
    ? `The newest checkpoint is of ${progress.unit ?? 'step'} ${progress.step}, ${elapsedText(progress.updatedAt, Date.now())} ago. "Stop after a save" leaves the script two minutes to save what came since.`
    : 'No checkpoint is known yet: without one all training is lost.';
  return (
    <DialogButton text="Stop…" title="Stop this run">
      {() => (
        <>
          <p>
            Its machines end and it starts no more. Its checkpoints stay, so it can be retried. A run that
            packs does so to the end.
          </p>
          {attempts.some(({ outcome }) => outcome === undefined) && <p>{unsaved}</p>}
          <SendButton text="Stop after a save" kind="primary" call={stop('afterSave')} onDone={onChange} />
          <SendButton text="Stop now" kind="danger" call={stop('now')} onDone={onChange} />
        </>
      )}
    </DialogButton>
  );
}

function Again({ view: { run } }: Pick<SteeringProps, 'view'>) {
  // One request, however often its button is pressed after a call without an answer.
  const clientToken = useSignal(crypto.randomUUID());
  const body = { again: run.runId, clientToken: clientToken.value };
  const call = () => ask('startRun', { name: run.pipeline, body });
  const onDone = (started: AnswerOf<'startRun'> | undefined): void => {
    if (started) location.hash = hrefOf(['runs', started.runId]);
  };
  return (
    <DialogButton text="Run again…" title="Run this again" act={{ text: 'Run again', call, onDone }}>
      {() => (
        <>
          <p>A new run trains with the settings, data and source of this one, and costs as much again.</p>
          <p>With other settings:</p>
          <Command of={`run --again ${run.runId} --set NAME=VALUE`} />
        </>
      )}
    </DialogButton>
  );
}
