/** What an hour sooner is worth where the pipeline does not say. */
import { type Candidate } from '../candidates/pools.ts';
import { gangUsd } from './gang-cost.ts';

/**
 * Stated, not fitted: small enough that the campaigns of `npm run bench:placement` cost what they cost without it, and
 * large enough that it decides between costs that hardly differ.
 */
const SHARE_OF_ON_DEMAND = 0.01;
/** No run stands still for an hour to save a cent. */
const LEAST_USD = 0.01;

export const ASSUMED_TIME_NOTE = `${SHARE_OF_ON_DEMAND * 100} % of the cheapest On-Demand price, at least $${LEAST_USD}`;

export function assumedTimeUsd(candidates: readonly Candidate[]): number {
  const open = candidates.filter(({ closed }) => closed === undefined);
  if (open.length === 0) return 0;
  const onDemandUsd = Math.min(...open.map((each) => gangUsd(each, each.onDemandHourlyUsd)));
  return Math.max(LEAST_USD, SHARE_OF_ON_DEMAND * onDemandUsd);
}
