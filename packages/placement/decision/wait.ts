/** When nothing is launched now, and for how long. */

import { hours } from '../model/amounts.ts';
import type { PlacementDecision, PoolAssessment } from '../records/placement-records.ts';
import { type Assessed, isOpen, isSpot } from './assess.ts';
import { cheapestPool } from './cheapest-pool.ts';
import { quotaKeyOf, quotaRefusals } from './met.ts';
import { endsInTime, secondsUntilUnsafe, whyNotAllowed } from './rules.ts';
import type { Situation } from './situation.ts';
import { restartOf } from './work.ts';

/** Why nothing is launched now, although something could be, and for how long at most. */
export interface Wait {
  readonly why: string;
  readonly atMostSeconds: number;
}

export const ON_DEMAND_COOLS_DOWN: Wait = {
  why: 'On-Demand is needed now and had a capacity error lately',
  atMostSeconds: Number.POSITIVE_INFINITY,
};

/** Undefined: the run waits for nothing except what `amongSpot` decides. */
export function whyWait(
  picked: Assessed,
  assessed: readonly Assessed[],
  situation: Situation,
): Wait | undefined {
  const why = isSpot(picked) ? undefined : worthWaitingForCooldown(picked, assessed, situation);
  return why === undefined ? undefined : { why, atMostSeconds: Number.POSITIVE_INFINITY };
}

/**
 * Why the run waits for a pool that is cooling down: On-Demand is all that is left and costs more, or is too slow.
 */
function worthWaitingForCooldown(
  chosen: Assessed,
  assessed: readonly Assessed[],
  situation: Situation,
): string | undefined {
  if (!endsInTime(chosen, situation))
    return assessed.some(
      (each) =>
        each.candidate.pool.purchaseOption === 'on-demand' &&
        whyNotAllowed(each, situation) === undefined &&
        each.safeWorkSeconds + restartOf(each.candidate, situation.work) + each.coolsSeconds <=
          situation.secondsLeft,
    )
      ? 'the On-Demand pool that would end in time had a capacity error lately'
      : undefined;
  // It is unknown when a quota of the account will be raised, so the run does not wait for one while another
  // pool has capacity.
  const lifted = assessed.filter((each) => !each.isLimited);
  const best = cheapestPool(lifted, situation);
  return best !== undefined && isSpot(best)
    ? 'Spot had a capacity error lately and is expected to cost less than On-Demand now'
    : undefined;
}

export function waitFor(
  assessed: readonly Assessed[],
  situation: Situation,
  { why, atMostSeconds, considered }: Wait & { readonly considered: readonly PoolAssessment[] },
): PlacementDecision {
  const open = assessed.filter(isOpen);
  const cooldowns = open.map(({ coolsSeconds }) => coolsSeconds).filter((seconds) => seconds > 0);
  // No wait may outlast the latest safe moment of an On-Demand start that is still open.
  const safe = secondsUntilUnsafe(situation);
  const limit = safe > 0 && cooldowns.length < open.length ? safe : situation.secondsLeft;
  const seconds = Math.max(1, Math.ceil(Math.min(...cooldowns, limit, atMostSeconds)));
  const reason = `${cooldowns.length < open.length ? why : whyAll(open, situation)}; retried in ${seconds} s, ${hours(situation.slackSeconds)} of slack left`;
  return { kind: 'wait', seconds, reason, considered };
}

/** EC2's refusal of Spot does not give the quota's value, so only the reader can say whether a wait is of use. */
function whyAll(open: readonly Assessed[], situation: Situation): string {
  if (!open.every(({ isLimited }) => isLimited))
    return 'every pool that may be used had a capacity error lately';
  const refusals = quotaRefusals(situation.input.attempts);
  const said = new Set(open.flatMap(({ candidate: { pool } }) => refusals.get(quotaKeyOf(pool)) ?? []));
  const [first, ...others] = said;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `quotas of the account refuse every pool that may be used${first === undefined ? '' : `; AWS says: ${first}${more}`}`;
}
