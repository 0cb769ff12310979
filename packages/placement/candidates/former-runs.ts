/** What the pipeline's last successful runs predict for the next one: how long it trains, and on what. */

import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import { assumed } from '../model/assumed.ts';
import {
  type AttemptStart,
  type FormerRuns,
  type PlacedAttempt,
  type PlacedRun,
  startsOf,
} from '../records/attempts.ts';
import { type Widths, widthsOf } from '../records/placement-records.ts';
import type { TrainedTopology } from './throughput.ts';
import { type MeasuredThroughput, measuredThroughputs } from './throughput-estimate.ts';

/** The longest of this many successful runs counts, because a deadline must be kept. */
const FORMER_RUNS = 5;
/** The promises of this many count: older ones were made of other beliefs. */
const PROMISED_RUNS = 20;
const FORMER_STARTS = 20;
/** How many runs are searched: a schedule may have started dozens since that found no new data. */
const LOOKED_THROUGH = 100;

/** What former runs let a run expect; every field is absent where none is known. */
export interface Expectations {
  /** Training seconds of the whole run: of the longest of them. */
  readonly expectedSeconds?: number | undefined;
  /** The seconds of each of them. */
  readonly formerSeconds?: readonly number[] | undefined;
  /** What starts took: the newest of those runs. */
  readonly formerStarts?: readonly AttemptStart[] | undefined;
  /** Factors on the promised intervals, by what former runs were promised, and how they ended. */
  readonly widths?: Widths | undefined;
  /** Seconds that On-Demand starts of any of them waited for their hosts. */
  readonly onDemandWaits?: readonly number[] | undefined;
  /** The topology of those seconds, and every one that the longest ran on. */
  readonly expectedOn?: TrainedTopology | undefined;
  readonly formerThroughputs?: readonly MeasuredThroughput[] | undefined;
}

/**
 * The longest of the last runs whose declaration asked for the same number of nodes or the same needs.
 * @returns undefined where none is known
 */
export async function formerRunOf(
  { runs, attempts }: FormerRuns,
  run: Pick<PlacedRun, 'runId' | 'pipeline' | 'declaration'>,
) {
  const alike = (await runs.list(run.pipeline, LOOKED_THROUGH)).filter(
    (each) => each.runId !== run.runId && each.status === 'succeeded' && isAlike(each, run),
  );
  const former = alike.slice(0, FORMER_RUNS);
  const known = await Promise.all(
    former.map(async ({ runId }) => tookOf((await attempts.list(runId).catch(noneIfUnreadable)) ?? [])),
  );
  const took = known.filter((each) => each !== undefined);
  const longest = took.toSorted((a, b) => b.expectedSeconds - a.expectedSeconds)[0];
  const misses = alike.slice(0, PROMISED_RUNS).flatMap(({ result }) => result?.misses ?? []);
  return (
    longest && {
      ...longest,
      formerSeconds: took.map(({ expectedSeconds }) => expectedSeconds),
      formerStarts: took.flatMap((each) => each.formerStarts).slice(0, FORMER_STARTS),
      widths: widthsOf(misses),
      onDemandWaits: took.flatMap((each) => each.onDemandWaits),
    }
  );
}

/**
 * From the request of each On-Demand start to its hosts. One that was given up after a wait would have waited longer; a
 * refusal at once says nothing of that.
 */
export const onDemandWaitsOf = (attempts: readonly PlacedAttempt[]): readonly number[] =>
  attempts.flatMap(({ placement: { pool }, createdAt, outcome }) => {
    if (pool.purchaseOption !== 'on-demand' || outcome === undefined) return [];
    const { kind, startedAt, endedAt = '' } = outcome;
    const seconds = (Date.parse(startedAt ?? endedAt) - Date.parse(createdAt)) / 1_000;
    const isWait = startedAt !== undefined || (kind === 'capacity' && seconds > assumed.patienceSeconds);
    return isWait && seconds >= 0 ? [seconds] : [];
  });

function isAlike(a: Pick<PlacedRun, 'declaration'>, b: Pick<PlacedRun, 'declaration'>): boolean {
  const [one, other] = [a.declaration?.compute, b.declaration?.compute];
  if (one === undefined || other === undefined) return false;
  return one.nodes === other.nodes && one.needs?.accelerators === other.needs?.accelerators;
}

/** The training time that a run's last checkpoint proves, else the sum over its attempts. */
function tookOf(attempts: readonly PlacedAttempt[]) {
  const last = attempts.at(-1);
  const spent = attempts.reduce((sum, { outcome }) => sum + (outcome?.trainingSeconds ?? 0), 0);
  const proven = last?.progressAfter;
  const whole = proven?.trainingSeconds !== undefined && proven.step >= proven.totalSteps;
  const seconds = whole ? (proven.trainingSeconds ?? spent) : spent;
  if (last === undefined || seconds <= 0) return undefined;
  const { pool, topology } = last.placement;
  return {
    expectedSeconds: seconds,
    expectedOn: { instanceType: pool.instanceType, nodes: topology.nodes },
    formerStarts: startsOf(attempts),
    formerThroughputs: measuredThroughputs(attempts),
    onDemandWaits: onDemandWaitsOf(attempts),
    /** The size of its newest checkpoint. */
    checkpointBytes: proven?.checkpointBytes,
  };
}
