/** What a person can do to a run, each with its consequence beside the button. */
import { useSignal } from '@preact/signals';
import { isFinished, savedProgress } from '../../../client/run-view.ts';
import { elapsedText } from '../../model/format.ts';
import { type RunView } from '../../model/life-line.ts';
import { Disclosure } from '../../parts/disclosure.tsx';
import { SendButton } from '../../parts/send.tsx';
import { hrefOf } from '../../state/address.ts';
import { client, inWords } from '../../state/api.ts';
import { Limits } from './limits.tsx';

interface SteeringProps {
  readonly view: RunView;
  /** Reads the run again. */
  readonly onChange: () => void;
}

export function Steering({ view, onChange }: SteeringProps) {
  const { run } = view;
  if (run.stop !== undefined && !isFinished(run))
    return <p role="status">{`Is being stopped, as ${run.stop.requestedBy} asked.`}</p>;
  if (!isFinished(run))
    return (
      <>
        <Stop view={view} onChange={onChange} />
        <Limits view={view} onChange={onChange} />
      </>
    );
  const hasSucceeded = run.status === 'succeeded';
  if (!hasSucceeded && run.status !== 'failed' && run.status !== 'stopped') return null;
  return (
    <>
      {hasSucceeded ? <Again view={view} onChange={onChange} /> : <Retry view={view} onChange={onChange} />}
      <Checkpoints view={view} onChange={onChange} />
    </>
  );
}

function Stop({ view: { run, progress, attempts }, onChange }: SteeringProps) {
  const stop = async (mode: 'afterSave' | 'now') =>
    inWords(await client.call('stopRun', { runId: run.runId, body: { mode } }));
  const trains = attempts.some(({ outcome }) => outcome === undefined);
  return (
    <Disclosure id="stop" class="steering" summary="Stop this run">
      {() => (
        <>
          <p>
            Its machines end and it starts no more. Its checkpoints stay, so it can be retried. A run that
            packs does so to the end.
          </p>
          {trains && <p>{unsavedText(progress)}</p>}
          <SendButton text="Stop after a save" call={() => stop('afterSave')} onDone={onChange} />
          <SendButton text="Stop now" call={() => stop('now')} onDone={onChange} />
        </>
      )}
    </Disclosure>
  );
}

function unsavedText(progress: RunView['progress']): string {
  if (progress === undefined) return 'No checkpoint is known yet: without one all training is lost.';
  const age = elapsedText(progress.updatedAt, Date.now());
  return `The newest checkpoint is of ${progress.unit ?? 'step'} ${progress.step}, ${age} ago. "Stop after a save" leaves the script two minutes to save what came since.`;
}

function Retry({ view, onChange }: SteeringProps) {
  const { run } = view;
  const progress = savedProgress(view);
  const from =
    progress === undefined
      ? 'There is no checkpoint: it trains from the start.'
      : `It goes on from ${progress.unit ?? 'step'} ${progress.step}.`;
  const retry = async () => inWords(await client.call('retryRun', { runId: run.runId, body: {} }));
  return (
    <Disclosure id="retry" class="steering" summary="Retry this run">
      {() => (
        <>
          <p>{`${from} It trains with the source as it is now, and costs money again.`}</p>
          <SendButton text="Retry" call={retry} onDone={onChange} />
        </>
      )}
    </Disclosure>
  );
}

function Again({ view: { run } }: SteeringProps) {
  // One request, however often its button is pressed after a call without an answer.
  const clientToken = useSignal(crypto.randomUUID());
  const body = { again: run.runId, clientToken: clientToken.value };
  const show = (started: { readonly runId: string } | undefined): void => {
    if (started !== undefined) location.hash = hrefOf(['runs', started.runId]);
  };
  const again = async () => inWords(await client.call('startRun', { name: run.pipeline, body }));
  return (
    <Disclosure id="again" class="steering" summary="Run this again">
      {() => (
        <>
          <p>
            A new run trains with the settings, the data and the source of this one, and costs as much again.
          </p>
          <p>
            With other settings: <code>{`tidewheel run --again ${run.runId} --set lr=1e-4`}</code>
          </p>
          <SendButton text="Run again" call={again} onDone={show} />
        </>
      )}
    </Disclosure>
  );
}

function Checkpoints({ view, onChange }: SteeringProps) {
  const { runId, checkpointDeletion: asked, expired = [] } = view.run;
  if (savedProgress(view) === undefined || expired.includes('checkpoints')) return null;
  if (asked !== undefined)
    return <p role="status">{`Its checkpoints are deleted within a day, as ${asked.requestedBy} asked.`}</p>;
  const remove = async () => inWords(await client.call('deleteCheckpoints', { runId }));
  return (
    <Disclosure id="checkpoints" class="steering" summary="Delete its checkpoints">
      {() => (
        <>
          <p>A retry would train from the start then. Model, report and data stay.</p>
          <SendButton text="Delete" call={remove} onDone={onChange} />
        </>
      )}
    </Disclosure>
  );
}
