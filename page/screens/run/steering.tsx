/** What a person can do to a run, each with its consequence before it. */
import { useSignal } from '@preact/signals';
import { isFinished, savedProgress } from '../../../client/run-view.ts';
import { elapsedText } from '../../model/format.ts';
import { DialogButton, SendButton } from '../../parts/controls.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, client, inWords } from '../../state/api.ts';
import { Limits } from './limits.tsx';

type View = AnswerOf<'getRun'>;
/** `onChange` reads the run again. */
type SteeringProps = Readonly<{ view: View; onChange: () => void }>;

export function Steering({ view, onChange }: SteeringProps) {
  const { runId, status, stop, checkpointDeletion: asked, expired = [] } = view.run;
  if (!isFinished(view.run))
    return stop !== undefined ? (
      <span role="status">{`Is being stopped, as ${stop.requestedBy} asked.`}</span>
    ) : (
      <>
        <Limits view={view} onChange={onChange} />
        <Stop view={view} onChange={onChange} />
      </>
    );
  const hasCheckpoints = savedProgress(view) !== undefined && !expired.includes('checkpoints');
  const remove = async () => inWords(await client.call('deleteCheckpoints', { runId }));
  return (
    <>
      {status === 'succeeded' && (
        <DialogButton text="Run again…" title="Run this again">
          {() => <Again view={view} />}
        </DialogButton>
      )}
      {(status === 'failed' || status === 'stopped') && <Retry view={view} onChange={onChange} />}
      {hasCheckpoints && asked !== undefined && (
        <span role="status">{`Its checkpoints are deleted within a day, as ${asked.requestedBy} asked.`}</span>
      )}
      {hasCheckpoints && asked === undefined && (
        <DialogButton text="Delete checkpoints…" title="Delete its checkpoints">
          {() => (
            <>
              <p>A retry would train from the start then. Model, report and data stay.</p>
              <SendButton text="Delete" kind="danger" call={remove} onDone={onChange} />
            </>
          )}
        </DialogButton>
      )}
    </>
  );
}

function Stop({ view, onChange }: SteeringProps) {
  const { run, attempts } = view;
  const stop = (mode: 'afterSave' | 'now') => async () =>
    inWords(await client.call('stopRun', { runId: run.runId, body: { mode } }));
  const trains = attempts.some(({ outcome }) => outcome === undefined);
  return (
    <DialogButton text="Stop…" title="Stop this run">
      {() => (
        <>
          <p>
            Its machines end and it starts no more. Its checkpoints stay, so it can be retried. A run that
            packs does so to the end.
          </p>
          {trains && <p>{unsavedText(savedProgress(view))}</p>}
          <SendButton text="Stop after a save" kind="primary" call={stop('afterSave')} onDone={onChange} />
          <SendButton text="Stop now" kind="danger" call={stop('now')} onDone={onChange} />
        </>
      )}
    </DialogButton>
  );
}

function unsavedText(progress: View['progress']): string {
  if (progress === undefined) return 'No checkpoint is known yet: without one all training is lost.';
  const age = elapsedText(progress.updatedAt, Date.now());
  return `The newest checkpoint is of ${progress.unit ?? 'step'} ${progress.step}, ${age} ago. "Stop after a save" leaves the script two minutes to save what came since.`;
}

function Retry({ view, onChange }: SteeringProps) {
  const progress = savedProgress(view);
  const from =
    progress === undefined
      ? 'There is no checkpoint: it trains from the start.'
      : `It goes on from ${progress.unit ?? 'step'} ${progress.step}.`;
  const retry = async () => inWords(await client.call('retryRun', { runId: view.run.runId, body: {} }));
  return (
    <DialogButton text="Retry…" title="Retry this run" kind="primary">
      {() => (
        <>
          <p>{`${from} It trains with the source as it is now, and costs money again.`}</p>
          <SendButton text="Retry" kind="primary" call={retry} onDone={onChange} />
        </>
      )}
    </DialogButton>
  );
}

function Again({ view: { run } }: Pick<SteeringProps, 'view'>) {
  // One request, however often its button is pressed after a call without an answer.
  const clientToken = useSignal(crypto.randomUUID());
  const body = { again: run.runId, clientToken: clientToken.value };
  const [[name, value] = ['lr', '1e-4']] = Object.entries(run.declaration?.training.hyperparameters ?? {});
  const given = `${name}=${typeof value === 'object' ? value.number : value}`;
  return (
    <>
      <p>A new run trains with the settings, the data and the source of this one, and costs as much again.</p>
      <p>
        With other settings: <code>{`tidewheel run --again ${run.runId} --set ${given}`}</code>
      </p>
      <SendButton
        text="Run again"
        kind="primary"
        call={async () => inWords(await client.call('startRun', { name: run.pipeline, body }))}
        onDone={(started) => started && (location.hash = hrefOf(['runs', started.runId]))}
      />
    </>
  );
}
