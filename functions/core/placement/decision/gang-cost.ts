/** What the gang of a candidate costs and how long it works: the units of every comparison. */
import { type Candidate, unitUsd } from '../candidates/pools.ts';
import { restartSecondsOn, type WorkEstimate } from './work.ts';

export const costUsd = (unit: number, seconds: number): number => (unit * seconds) / 3_600;

/** Of a normal distribution, below which it lies nine times out of ten. */
const ONCE_IN_TEN = 1.282;

export const workOf = ({ throughput }: Candidate, { workSeconds }: WorkEstimate): number =>
  workSeconds * throughput.factor;

/** A topology that nobody has measured is trusted with a deadline only at the slow end of what it may be. */
export const safeWorkOf = (candidate: Candidate, work: WorkEstimate): number =>
  workOf(candidate, work) * Math.exp(ONCE_IN_TEN * candidate.throughput.uncertainty);

/** Until the first new progress here, shards and checkpoints being brought there first. */
export const restartOf = ({ pool, transfer }: Candidate, work: WorkEstimate): number =>
  restartSecondsOn(pool, work) + (transfer?.seconds ?? 0);

/** An hour of the whole gang, helpers included. */
export const gangUsd = (candidate: Candidate, hourlyUsd: number): number =>
  unitUsd(candidate, hourlyUsd) / candidate.throughput.factor;
