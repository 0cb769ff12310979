/** The changes in the service since the last look, as lines for the screen. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { problemsText } from '@tidewheel/kit/errors.ts';
import { type AttemptOutcome, nameOfPool } from '@tidewheel/placement/records.ts';
import { reportedTexts, usdText } from '../../client/amounts.ts';
import type { PipelineRecord } from '../../functions/records/batches.ts';
import { type AttemptRecord, type RunRecord } from '../../functions/records/run-records.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';

export interface ServiceView {
  readonly pipelines: readonly PipelineRecord[];
  /** The open runs, and those that ended since the last look. */
  readonly runs: readonly RunRecord[];
  /** The open attempts, and those that ended since the last look. */
  readonly attempts: readonly AttemptRecord[];
  /** Of runs that ended since the last look, by their names. */
  readonly reports: ReadonlyMap<string, RunReport>;
}

export interface NewsLine {
  readonly pipeline: string;
  readonly kind: 'progress' | 'problem';
  readonly text: string;
}

export interface RunNews {
  /** The lines for what was not in an earlier look. */
  of(look: ServiceView): NewsLine[];
}

export function newsWriter(): RunNews {
  const shown = new Set<string>();
  const declarations = new Map<string, string>();
  return {
    of: (look) => [
      ...declarationNews(look.pipelines, declarations),
      ...[...look.runs.flatMap((run) => eventsOf(run, look)), ...look.attempts.flatMap(eventsOfAttempt)]
        .filter(({ id }) => !shown.has(id) && shown.add(id))
        .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
        .map(({ line }) => line),
    ],
  };
}

/** A declaration is news again when it was stored again with problems. */
function declarationNews(pipelines: readonly PipelineRecord[], known: Map<string, string>): NewsLine[] {
  const lines: NewsLine[] = [];
  for (const { name, valid, problems = [], updatedAt } of pipelines) {
    // The record is there before its declaration is read.
    if (!valid && problems.length === 0) continue;
    const state = valid ? 'valid' : `invalid ${updatedAt}`;
    if (known.get(name) === state) continue;
    known.set(name, state);
    lines.push({
      pipeline: name,
      kind: valid ? 'progress' : 'problem',
      text: valid ? `pipeline ${name} is declared` : invalidText(name, problems),
    });
  }
  for (const name of [...known.keys()].filter((each) =>
    pipelines.every((pipeline) => pipeline.name !== each),
  )) {
    known.delete(name);
    lines.push({ pipeline: name, kind: 'progress', text: `pipeline ${name} was removed` });
  }
  return lines;
}

export function invalidText(name: string, problems: NonNullable<PipelineRecord['problems']>): string {
  const reasons = problemsText(problems);
  return `${bucketKeys.pipeline(name)} is not valid: ${reasons}`;
}

interface Event {
  readonly id: string;
  /** ISO 8601 */
  readonly at: string;
  readonly line: NewsLine;
}

function eventsOf(run: RunRecord, { attempts, reports }: ServiceView): Event[] {
  const { runId, pipeline, createdAt, updatedAt, status } = run;
  const event = (id: string, at: string, text: string, kind: NewsLine['kind'] = 'progress'): Event => ({
    id: `${runId} ${id}`,
    at,
    line: { pipeline, kind, text: onOneLine(`${runId} ${text}`) },
  });
  const started = event('started', createdAt, `started: ${TRIGGERS[run.trigger]}`);
  const begun = [started, ...retriesOf(run, event)];
  const ended = endOf(run);
  switch (status) {
    case 'settling':
    case 'packing':
    case 'placing':
    case 'training':
      return begun;
    case 'succeeded':
      return [...begun, event(ended, updatedAt, `succeeded: ${endText(run, reports.get(runId))}`)];
    case 'stopped':
      return [...begun, event(ended, updatedAt, stoppedText(run))];
    case 'empty':
      return [...begun, event(ended, updatedAt, 'ended: there was nothing to train on')];
    case 'notNeeded':
      return [...begun, event(ended, updatedAt, `ended without training: ${run.need?.reason}`)];
    case 'failed':
      return [...begun, event(ended, updatedAt, `failed: ${failureText(run, attempts)}`, 'problem')];
  }
}

/** Each retry has an end of its own. */
const endOf = ({ retry }: RunRecord): string => `ended-${retry?.number ?? 0}`;
const stoppedText = ({ stop }: RunRecord): string => `was stopped by ${stop?.requestedBy ?? 'a person'}`;

const retriesOf = ({ retry }: RunRecord, event: (id: string, at: string, text: string) => Event): Event[] =>
  retry === undefined
    ? []
    : [event(`again-${retry.number}`, retry.at, `goes on: ${retry.requestedBy} asked for a retry`)];

/** The last lines of a script are on the screen once: in the line of its attempt. */
function failureText({ runId, failure }: RunRecord, attempts: readonly AttemptRecord[]): string {
  if (failure === undefined) return 'no reason is known';
  for (const { runId: ofRun, attempt, outcome } of attempts) {
    const lastLines = `: ${outcome?.message ?? ''}`;
    if (ofRun === runId && outcome?.message && failure.endsWith(lastLines))
      return `${failure.slice(0, -lastLines.length)}: see attempt ${attempt}`;
  }
  return failure;
}

const TRIGGERS: Readonly<Record<RunRecord['trigger'], string>> = {
  arrival: 'data arrived',
  schedule: 'by its schedule',
  api: 'by a call of the API',
};

function endText({ modelUri = 'no model' }: RunRecord, report: RunReport | undefined): string {
  if (report === undefined) return modelUri;
  const { costUsd, onDemandUsd } = report;
  return [
    modelUri,
    ...reportedTexts(report),
    `cost $${usdText(costUsd, onDemandUsd)}, On-Demand $${usdText(onDemandUsd, costUsd)}`,
  ].join('; ');
}

function eventsOfAttempt(attempt: AttemptRecord): Event[] {
  const { runId, pipeline, placement, createdAt, updatedAt, outcome } = attempt;
  const event = (id: string, at: string, text: string, kind: NewsLine['kind'] = 'progress'): Event => ({
    id: `${runId} ${attempt.attempt} ${id}`,
    at,
    line: { pipeline, kind, text: onOneLine(`${runId} attempt ${attempt.attempt} ${text}`) },
  });
  const { pool, topology } = placement;
  const started = event(
    'started',
    createdAt,
    `requested: ${topology.nodes} x ${nameOfPool(pool)}, ${pool.purchaseOption} (${attempt.jobName})`,
  );
  if (outcome === undefined)
    return attempt.status === 'waitingForCapacity'
      ? [started, event('waiting', updatedAt, 'waits for capacity')]
      : [started];
  const why = outcome.message === '' ? '' : `: ${outcome.message}`;
  return [started, event('ended', updatedAt, `${ENDS[outcome.kind].text}${why}`, ENDS[outcome.kind].kind)];
}

/** A failure ends with the script's last lines. */
const onOneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' | ');

const ENDS: Readonly<Record<AttemptOutcome['kind'], Pick<NewsLine, 'kind' | 'text'>>> = {
  completed: { kind: 'progress', text: 'completed' },
  interrupted: { kind: 'progress', text: 'was interrupted' },
  capacity: { kind: 'progress', text: 'found no capacity' },
  recalled: { kind: 'progress', text: 'was recalled' },
  timeLimit: { kind: 'problem', text: 'reached its time limit' },
  serviceError: { kind: 'problem', text: 'failed' },
  userError: { kind: 'problem', text: 'failed' },
  stopped: { kind: 'problem', text: 'was stopped' },
};
