/**
 * Why nothing is launched: the run is given up, since its attempts, time or money cannot suffice or no pool may be used;
 * or it waits.
 */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { deadlineHoursOf } from '@tidewheel/declaration/pipeline.ts';
import { assumed, dollars, hours, NEXT_LOOK_SECONDS } from '../model/assumed.ts';
import type { PlacementDecision } from '../records/placement-records.ts';
import { type Assessed, isOnDemand, isOpen, isSpot } from './assess.ts';
import { rowsOf, type Weighed } from './decision-table.ts';
import { quotaKeyOf, quotaRefusals } from './met.ts';
import { isReserved } from './reserved.ts';
import { cheapestPool, endsInTime, fastestOnDemand, secondsUntilUnsafe, whyNotAllowed } from './rules.ts';
import type { Situation } from './situation.ts';
import { costUsd, gangUsd, restartOf } from './work.ts';

/** @param given `isPaid`: whether anything has to be paid for at all */
export function giveUpReason(
  { assessed, situation }: Weighed,
  { isPaid }: { readonly isPaid: boolean },
): string | undefined {
  const { input, work, secondsLeft } = situation;
  const { limits } = input;
  if (input.attempts.length >= limits.attempts)
    return `all ${limits.attempts} attempts of tuning.limits.attempts were used${lastLack(input.attempts)}`;
  const tooSmall = quotasTooSmall(situation, assessed);
  if (tooSmall !== undefined) return tooSmall;
  const deadlineHours = deadlineHoursOf(limits);
  if (secondsLeft <= 0)
    return `the deadline of ${deadlineHours ?? 0} h has passed${lastLack(input.attempts)}`;
  // The length of former runs proves nothing: the declaration may have changed since.
  const least = Math.min(...assessed.filter(isOpen).map(({ workSeconds }) => workSeconds));
  const isLate =
    deadlineHours !== undefined && Number.isFinite(least) && least > secondsLeft * assumed.toleratedError;
  if (isLate && work.basis === 'measured')
    return `the deadline cannot be met: ${hours(least)} of work are left and ${hours(secondsLeft)} of time`;
  if (assessed.every(({ candidate }) => candidate.closed !== undefined))
    return `no pool can be weighed: ${reasonsOf(situation, assessed)}`;
  return isPaid ? overBudget(situation, assessed) : undefined;
}

function lastLack(attempts: Situation['input']['attempts']): string {
  const last = attempts.at(-1)?.outcome;
  return last?.kind === 'capacity' ? `; the last attempt found no capacity: ${last.message}` : '';
}

/**
 * SageMaker's quotas count instances, EC2's vCPUs. AWS asks not to branch on messages: at another wording, and at EC2's
 * quotas for Spot, whose message has no value, the run waits for the quota until its deadline.
 */
const QUOTA_SIZE = /\bis (\d+) Instances\b|\blimit of (\d+)\b/;

/** A quota below what the gang needs lasts until a person raises it. One that other jobs use up is worth a wait. */
function quotasTooSmall({ input }: Situation, assessed: readonly Assessed[]): string | undefined {
  const refusals = quotaRefusals(input.attempts);
  const isTooSmall = (message: string, { pool, topology: { nodes } }: Assessed['candidate']): boolean => {
    const [, instances, vcpus] = QUOTA_SIZE.exec(message) ?? [];
    if (instances !== undefined) return Number(instances) < nodes;
    return vcpus !== undefined && Number(vcpus) < nodes * (instanceFacts(pool.instanceType)?.vcpu ?? 1);
  };
  const found = assessed.filter(isOpen).map((each) => {
    const message = each.isQuota ? refusals.get(quotaKeyOf(each.candidate.pool)) : undefined;
    return message !== undefined && isTooSmall(message, each.candidate) ? message : undefined;
  });
  if (found.length === 0 || found.includes(undefined)) return undefined;
  const messages = [...new Set(found)].join(' ');
  return `the account's quota of every pool is too small: have one raised, then start a run; AWS says: ${messages}`;
}

/** A declaration of many types usually fails for few reasons. */
const MOST_REASONS = 5;

function reasonsOf({ pruned }: Situation, assessed: readonly Assessed[]): string {
  const reasons = new Set([
    ...pruned.map(({ reason }) => reason),
    ...assessed.flatMap(({ candidate }) => candidate.closed ?? []),
  ]);
  const [first = 'none is declared', ...others] = [...reasons].slice(0, MOST_REASONS);
  const more = reasons.size > MOST_REASONS ? [`and ${reasons.size - MOST_REASONS} more reasons`] : [];
  return [first, ...others, ...more].join('; ');
}

/**
 * A cheap Spot pool does not help when no slack is left for it. Where nothing ends in time, the fastest On-Demand pool
 * starts.
 */
function overBudget(situation: Situation, assessed: readonly Assessed[]): string | undefined {
  const { input, work, spentUsd, timeUsd, fileSystems } = situation;
  const { budgetUsd } = input.limits;
  const byCost = assessed.filter(isOpen).toSorted((a, b) => a.expectedCostUsd - b.expectedCostUsd);
  const cheapest =
    byCost.find((each) => whyNotAllowed(each, situation) === undefined) ??
    fastestOnDemand(byCost) ??
    byCost[0];
  if (budgetUsd === undefined || cheapest === undefined) return undefined;
  const { candidate, expectedCostUsd, expectedSeconds, outlook, askCostUsd = 0 } = cheapest;
  // The shortest attempt lasts from its start to the end of a save requested at the first look.
  const shortestSeconds = Math.max(work.restartSeconds, NEXT_LOOK_SECONDS + assumed.saveSeconds);
  const restart = costUsd(gangUsd(candidate), shortestSeconds);
  // A budget limits money only; the value of time and the cost of asking serve to compare pools.
  const seconds = expectedSeconds + outlook.waitSeconds;
  const unbilledUsd = costUsd(timeUsd - fileSystems.hourlyUsd, seconds) + askCostUsd;
  // An assumed length of the work is no reason to give up; failing to reach the first progress is.
  const needed = work.basis === 'assumed' ? restart : Math.max(restart, expectedCostUsd - unbilledUsd);
  if (needed <= budgetUsd - spentUsd) return undefined;
  return `the budget of ${dollars(budgetUsd)} does not last: ${dollars(spentUsd)} spent, at least ${dollars(needed)} still needed`;
}

// When nothing is launched now, and for how long.

/** Why nothing is launched now, although something could be, and for how long at most. */
export interface Wait {
  readonly why: string;
  /** Default: until the deadline. */
  readonly atMostSeconds?: number;
}

/**
 * Where no pool may be picked. What is reserved refuses by its hours, so it says nothing of capacity errors and quotas.
 * EC2's refusal of Spot does not give the quota's value, so only the reader can say whether a wait is of use.
 */
export function whyNone({ assessed, situation }: Weighed): string {
  const paid = assessed.filter((each) => isOpen(each) && !isReserved(each.candidate));
  if (paid.length === 0) return 'no reservation has room';
  if (paid.some(({ coolsSeconds }) => coolsSeconds <= 0))
    return 'On-Demand is needed now and had a capacity error lately';
  if (!paid.every(({ isLimited }) => isLimited))
    return 'every pool that may be used had a capacity error lately';
  const refusals = quotaRefusals(situation.input.attempts);
  const said = new Set(paid.flatMap(({ candidate: { pool } }) => refusals.get(quotaKeyOf(pool)) ?? []));
  const [first, ...others] = said;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `quotas of the account refuse every pool that may be used${first === undefined ? '' : `; AWS says: ${first}${more}`}`;
}

/** Waits for a pool that is cooling down, where On-Demand is all that is left and costs more, or is too slow. */
export function whyWait(picked: Assessed, { assessed, situation }: Weighed): Wait | undefined {
  if (!isOnDemand(picked)) return undefined;
  if (!endsInTime(picked, situation))
    return assessed.some(
      (each) =>
        isOnDemand(each) &&
        whyNotAllowed(each, situation) === undefined &&
        each.safeWorkSeconds + restartOf(each.candidate, situation.work) + each.coolsSeconds <=
          situation.secondsLeft,
    )
      ? { why: 'the On-Demand pool that would end in time had a capacity error lately' }
      : undefined;
  // It is unknown when a quota of the account will be raised, so the run does not wait for one while another
  // pool has capacity.
  // A reservation that has refused is no reason to buy, and Spot is what the wait is for.
  const lifted = assessed.filter((each) => !each.isLimited && !isReserved(each.candidate));
  const best = cheapestPool(lifted, situation);
  return best !== undefined && isSpot(best)
    ? { why: 'Spot had a capacity error lately and is expected to cost less than On-Demand now' }
    : undefined;
}

export function waitFor(
  table: Weighed,
  { why, atMostSeconds = Number.POSITIVE_INFINITY }: Wait,
): PlacementDecision {
  const { assessed, situation } = table;
  const open = assessed.filter(isOpen);
  const cooldowns = open.map(({ coolsSeconds }) => coolsSeconds).filter((seconds) => seconds > 0);
  // No wait may outlast the latest safe moment of an On-Demand start that is still open.
  const safe = secondsUntilUnsafe(situation);
  const limit = safe > 0 && cooldowns.length < open.length ? safe : situation.secondsLeft;
  const seconds = Math.max(1, Math.ceil(Math.min(...cooldowns, limit, atMostSeconds)));
  const reason = `${why}; retried in ${seconds} s, ${hours(situation.slackSeconds)} of slack left`;
  return { kind: 'wait', seconds, reason, considered: rowsOf(table) };
}
