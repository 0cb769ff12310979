/** The life line of a run: what it did when, on one axis from its first arrival to its report. Times are milliseconds. */
import type { AttemptReport, RunReport } from '../../functions/core/attempts/report.ts';
import type { AttemptRecord, Progress, RunRecord } from '../../functions/core/runs/run-records.ts';
import type { TimelineEntry } from '../../functions/core/runs/stores.ts';

/** The answer of `GET /runs/{runId}`. */
export interface RunView {
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly timeline: readonly TimelineEntry[];
  readonly progress?: Progress | undefined;
  readonly report?: RunReport | undefined;
}

export type SpanKind = 'settle' | 'pack' | 'place' | 'start' | 'spot' | 'on-demand' | 'lost';

interface Span {
  readonly kind: SpanKind;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface LifeLine {
  readonly from: number;
  readonly to: number;
  /** In order of time; lost work lies over the attempt that lost it. */
  readonly spans: readonly Span[];
  /** Warnings of capacity, and what persons asked for. */
  readonly flags: readonly { readonly at: number; readonly text: string }[];
  /** Last save of each attempt. */
  readonly saves: readonly { readonly at: number; readonly step: number }[];
  /** Absent where it is so far off that the run would not be seen beside it. */
  readonly deadline?: number | undefined;
}

/** Kinds of entries of the timeline that stand on the line. */
const FLAGGED: ReadonlySet<string> = new Set([
  'HostsReplaced',
  'RebalanceRecommended',
  'CheckpointReplaced',
  'CheckpointStalled',
  'ScriptHangs',
  'StopRequested',
  'RetryRequested',
  'LimitsChanged',
]);

/** In lengths of the run. */
const NEAR_DEADLINE = 2;

/** @param now end of what still goes on */
export function lifeLineOf({ run, attempts, timeline, report }: RunView, now: number): LifeLine {
  const from = Date.parse(run.createdAt);
  const end = endOf(run, report, now);
  const closed = timeOf(run.closedAt) ?? end;
  const sealed = timeOf(run.sealedAt) ?? (run.status === 'packing' ? end : closed);
  const spans: Span[] = [
    { kind: 'settle', from, to: closed, text: 'waited until the data was complete' },
    { kind: 'pack', from: closed, to: sealed, text: 'packed shards' },
  ];
  let free = sealed;
  for (const attempt of attempts) {
    const begun = Date.parse(attempt.createdAt);
    const name = `attempt ${attempt.attempt}`;
    spans.push({ kind: 'place', from: free, to: begun, text: `chose a pool for ${name}` });
    const lost = report?.attempts.find((each) => each.attempt === attempt.attempt);
    spans.push(...spansOfAttempt(attempt, lost, end));
    free = endOfAttempt(attempt, end);
  }
  if (run.status === 'placing') spans.push({ kind: 'place', from: free, to: end, text: 'looks for a pool' });
  const due = timeOf(report?.deadline.at);
  // A distant deadline would press the run into a corner.
  const deadline = due !== undefined && due - from <= NEAR_DEADLINE * (end - from) ? due : undefined;
  return {
    from,
    to: Math.max(end, deadline ?? 0, from + 1),
    spans: spans.filter((span) => span.to > span.from),
    flags: timeline.flatMap(({ kind, at, text }) =>
      FLAGGED.has(kind) ? [{ at: Date.parse(at), text }] : [],
    ),
    saves: attempts.flatMap((attempt) => savesOf(attempt)),
    deadline,
  };
}

const endOf = (run: RunRecord, report: RunReport | undefined, now: number): number =>
  timeOf(report?.finishedAt) ?? (isFinished(run) ? Date.parse(run.updatedAt) : now);

const endOfAttempt = ({ outcome, updatedAt }: AttemptRecord, now: number): number =>
  timeOf(outcome?.endedAt) ?? (outcome === undefined ? now : Date.parse(updatedAt));

function spansOfAttempt(attempt: AttemptRecord, reported: AttemptReport | undefined, end: number): Span[] {
  const { placement, outcome } = attempt;
  const { instanceType, zoneId, purchaseOption } = placement.pool;
  const pool = `${placement.topology.nodes} × ${instanceType}${zoneId === undefined ? '' : ` in ${zoneId}`}`;
  const begun = Date.parse(attempt.createdAt);
  const to = endOfAttempt(attempt, end);
  const script = Math.min(to, timeOf(outcome?.scriptStartedAt) ?? timeOf(outcome?.startedAt) ?? begun);
  const named = `attempt ${attempt.attempt}, ${pool}`;
  const spans: Span[] = [
    { kind: 'start', from: begun, to: script, text: `${named}: started its hosts` },
    { kind: purchaseOption, from: script, to, text: named },
  ];
  const lostFrom = reported === undefined ? lostSince(attempt, script) : to - reported.lostSeconds * 1000;
  if (lostFrom !== undefined)
    spans.push({ kind: 'lost', from: Math.max(script, lostFrom), to, text: `${named}: lost work` });
  return spans;
}

/** Before the report, only an interruption is known to lose what no save covers. */
function lostSince({ outcome, progressAfter }: AttemptRecord, script: number): number | undefined {
  if (outcome?.kind !== 'interrupted') return undefined;
  return timeOf(progressAfter?.updatedAt) ?? script;
}

function savesOf({ createdAt, progressAfter }: AttemptRecord): { at: number; step: number }[] {
  const at = timeOf(progressAfter?.updatedAt);
  // An attempt that saved nothing hands on the save of an earlier one.
  if (progressAfter === undefined || at === undefined || at < Date.parse(createdAt)) return [];
  return [{ at, step: progressAfter.step }];
}

export const isFinished = ({ status }: Pick<RunRecord, 'status'>): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'stopped' || status === 'empty';

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);
