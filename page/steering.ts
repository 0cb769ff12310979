/** What a person can do to a run, each with its consequence beside the button. */
import { post } from './api.ts';
import { element } from './element.ts';
import { durationText } from './format.ts';
import { isFinished, type RunView } from './life-line.ts';

/** @param changed draws the run again */
export function steering(view: RunView, changed: () => void): HTMLElement[] {
  const { run } = view;
  if (run.stop !== undefined && !isFinished(run))
    return [element('p', { role: 'status' }, `Is being stopped, as ${run.stop.requestedBy} asked.`)];
  if (!isFinished(run)) return [stopOf(view, changed)];
  return run.status === 'failed' || run.status === 'stopped' ? [retryOf(view, changed)] : [];
}

function stopOf({ run, progress, attempts }: RunView, changed: () => void): HTMLElement {
  const path = `/runs/${encodeURIComponent(run.runId)}/stop`;
  const trains = attempts.some(({ outcome }) => outcome === undefined);
  return element(
    'details',
    { id: 'stop', class: 'steering' },
    element('summary', {}, 'Stop this run'),
    element(
      'p',
      {},
      'Its machines end and it starts no more. Its checkpoints stay, so it can be retried. A run that packs does so to the end.',
    ),
    ...(trains ? [element('p', {}, unsavedText(progress))] : []),
    button('Stop after a save', path, { mode: 'afterSave' }, changed),
    button('Stop now', path, { mode: 'now' }, changed),
  );
}

function unsavedText(progress: RunView['progress']): string {
  if (progress === undefined) return 'No checkpoint is known yet: without one all training is lost.';
  const age = durationText(Date.now() - Date.parse(progress.updatedAt));
  return `The newest checkpoint is of ${progress.unit ?? 'step'} ${progress.step}, ${age} ago. "Stop after a save" leaves the script two minutes to save what came since.`;
}

function retryOf({ run, progress }: RunView, changed: () => void): HTMLElement {
  const from =
    progress === undefined
      ? 'There is no checkpoint: it trains from the start.'
      : `It goes on from ${progress.unit ?? 'step'} ${progress.step}.`;
  return element(
    'details',
    { id: 'retry', class: 'steering' },
    element('summary', {}, 'Retry this run'),
    element('p', {}, `${from} It trains with the source as it is now, and costs money again.`),
    button('Retry', `/runs/${encodeURIComponent(run.runId)}/retry`, {}, changed),
  );
}

function button(text: string, path: string, body: unknown, changed: () => void): HTMLElement {
  const made = element('button', { type: 'button' }, text);
  made.addEventListener('click', () => {
    made.setAttribute('disabled', '');
    void post(path, body).then((answer) => {
      if (answer.kind === 'ok') return changed();
      made.removeAttribute('disabled');
      made.after(element('p', { class: 'problem', role: 'alert' }, answer.message));
    });
  });
  return made;
}
