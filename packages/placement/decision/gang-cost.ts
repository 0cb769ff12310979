/** What the gang of a candidate costs and how long it works: the units of every comparison. */
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { restartSecondsIn, type WorkEstimate } from './work.ts';

export const costUsd = (unit: number, seconds: number): number => (unit * seconds) / 3_600;

/** The 0.9 quantile of the normal distribution. */
const ONCE_IN_TEN = 1.282;

export const workOf = ({ throughput }: Candidate, { workSeconds }: WorkEstimate): number =>
  workSeconds * throughput.factor;

/** For a deadline, an unmeasured topology counts only at the slow end of its estimate. */
export const safeWorkOf = (candidate: Candidate, work: WorkEstimate): number =>
  workOf(candidate, work) * Math.exp(ONCE_IN_TEN * candidate.throughput.uncertainty);

/** Seconds until the first new progress here, including the transfer of shards and checkpoints to its region. */
export const restartOf = (candidate: Candidate, work: WorkEstimate): number =>
  restartSecondsIn(candidate, work) + (candidate.transfer?.seconds ?? 0);

/** An hour of the whole gang, helpers included. */
export const gangUsd = (candidate: Candidate, hourlyUsd: number): number =>
  unitUsd(candidate, hourlyUsd) / candidate.throughput.factor;
