/** What a person can do to a run, each with its consequence before it. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { isFinished, savedProgress } from '../../../client/run-view.ts';
import { elapsedText } from '../../model/format.ts';
import { Action, SendButton } from '../../parts/controls.tsx';
import { hrefOf } from '../../state/address.ts';
import { type AnswerOf, client, inWords } from '../../state/api.ts';
import { Limits } from './limits.tsx';

type View = AnswerOf<'getRun'>;

interface SteeringProps {
  readonly view: View;
  /** Reads the run again. */
  readonly onChange: () => void;
}

export function Steering({ view, onChange }: SteeringProps) {
  const { run } = view;
  if (!isFinished(run)) {
    if (run.stop !== undefined)
      return <span role="status">{`Is being stopped, as ${run.stop.requestedBy} asked.`}</span>;
    return (
      <>
        <Limits view={view} onChange={onChange} />
        <Stop view={view} onChange={onChange} />
      </>
    );
  }
  return (
    <>
      {run.status === 'succeeded' && <Again view={view} />}
      {(run.status === 'failed' || run.status === 'stopped') && <Retry view={view} onChange={onChange} />}
      <Checkpoints view={view} onChange={onChange} />
    </>
  );
}

function Stop({ view: { run, progress, attempts }, onChange }: SteeringProps) {
  const stop = async (mode: 'afterSave' | 'now') =>
    inWords(await client.call('stopRun', { runId: run.runId, body: { mode } }));
  const trains = attempts.some(({ outcome }) => outcome === undefined);
  return (
    <Action text="Stop…" title="Stop this run">
      {() => (
        <>
          <p>
            Its machines end and it starts no more. Its checkpoints stay, so it can be retried. A run that
            packs does so to the end.
          </p>
          {trains && <p>{unsavedText(progress)}</p>}
          <SendButton
            text="Stop after a save"
            kind="primary"
            call={() => stop('afterSave')}
            onDone={onChange}
          />
          <SendButton text="Stop now" kind="danger" call={() => stop('now')} onDone={onChange} />
        </>
      )}
    </Action>
  );
}

function unsavedText(progress: View['progress']): string {
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
    <Action text="Retry…" title="Retry this run" kind="primary">
      {() => (
        <>
          <p>{`${from} It trains with the source as it is now, and costs money again.`}</p>
          <SendButton text="Retry" kind="primary" call={retry} onDone={onChange} />
        </>
      )}
    </Action>
  );
}

const Again = ({ view: { run } }: Pick<SteeringProps, 'view'>) => (
  <Action text="Run again…" title="Run this again">
    {() => <AgainForm run={run} />}
  </Action>
);

/** Of a run's declaration: what was given to the script. */
const parametersOf = ({ declaration }: View['run']): readonly (readonly [string, unknown])[] =>
  Object.entries(declaration?.training.hyperparameters ?? {});

function AgainForm({ run }: Pick<View, 'run'>) {
  // One request, however often its button is pressed after a call without an answer.
  const clientToken = useSignal(crypto.randomUUID());
  const body = { again: run.runId, clientToken: clientToken.value };
  const show = (started: { readonly runId: string } | undefined): void => {
    if (started !== undefined) location.hash = hrefOf(['runs', started.runId]);
  };
  const [name = 'lr', value = '1e-4'] = parametersOf(run)[0]?.map(String) ?? [];
  return (
    <>
      <p>A new run trains with the settings, the data and the source of this one, and costs as much again.</p>
      <p>
        With other settings: <code>{`tidewheel run --again ${run.runId} --set ${name}=${value}`}</code>
      </p>
      <SendButton
        text="Run again"
        kind="primary"
        call={async () => inWords(await client.call('startRun', { name: run.pipeline, body }))}
        onDone={show}
      />
    </>
  );
}

function Checkpoints({ view, onChange }: SteeringProps): ComponentChildren {
  const { runId, checkpointDeletion: asked, expired = [] } = view.run;
  if (savedProgress(view) === undefined || expired.includes('checkpoints')) return null;
  if (asked !== undefined)
    return (
      <span role="status">{`Its checkpoints are deleted within a day, as ${asked.requestedBy} asked.`}</span>
    );
  const remove = async () => inWords(await client.call('deleteCheckpoints', { runId }));
  return (
    <Action text="Delete checkpoints…" title="Delete its checkpoints">
      {() => (
        <>
          <p>A retry would train from the start then. Model, report and data stay.</p>
          <SendButton text="Delete" kind="danger" call={remove} onDone={onChange} />
        </>
      )}
    </Action>
  );
}
