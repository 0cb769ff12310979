/**
 * Chooses among several Spot pools of which one probably has capacity: start there, ask a cheaper one first, or wait
 * for one. A pool's own cost assumes that it is the only one; after a capacity error the run can still ask the others.
 */
import { nameOfPool } from '../placement-records.ts';
import type { Assessed } from './assessment.ts';
import { cooldownSeconds } from './capacity-errors.ts';
import { cheaperPool, LEAST_CHANCE, LOOK_SECONDS } from './cheaper-pool.ts';
import { cheapestPool, isSpot } from './cheapest-pool.ts';
import { whyNot } from './feasibility.ts';
import { costUsd, gangUsd, workOf } from './gang-cost.ts';
import type { Situation } from './situation.ts';
import type { Wait } from './wait.ts';
import { restartSecondsIn } from './work.ts';

type SpotChoice = { readonly kind: 'launch'; readonly pool: Assessed } | ({ readonly kind: 'wait' } & Wait);

/** @param picked the cheapest of all pools that are not cooling down */
export function amongSpot(picked: Assessed, assessed: readonly Assessed[], situation: Situation): SpotChoice {
  const launched: SpotChoice = { kind: 'launch', pool: picked };
  const allowed = assessed.filter((each) => isSpot(each) && whyNot(each, situation) === undefined);
  const atHand = isSpot(picked) ? probablyThere(allowed, assessed, situation) : undefined;
  const cheaper = atHand && cheaperPool(atHand, allowed, { situation, inUse: false });
  if (atHand === undefined || cheaper === undefined) return launched;
  const { kind, pool, savedUsd } = cheaper;
  const expectedCostUsd = Math.max(atHand.expectedCostUsd - savedUsd, neverLostUsd(pool, situation));
  if (expectedCostUsd >= picked.expectedCostUsd) return launched;
  if (kind === 'ask') return { kind: 'launch', pool: { ...pool, expectedCostUsd } };
  const [there, here] = [pool, atHand].map(({ candidate }) => nameOfPool(candidate.pool));
  const why = `${there} is down, cheaper than ${here}, and expected to have capacity again: waiting for it saves $${savedUsd.toFixed(2)}`;
  return { kind: 'wait', why, atMostSeconds: LOOK_SECONDS };
}

/** A pool costs at least what its work costs if capacity is never lost. */
const neverLostUsd = ({ candidate }: Assessed, { work, timeUsd }: Situation): number =>
  costUsd(
    gangUsd(candidate, candidate.hourlyUsd) + timeUsd,
    workOf(candidate, work) + restartSecondsIn(candidate, work),
  );

/** The cheapest pool that is more likely up than down, unless On-Demand is cheaper. */
function probablyThere(
  allowed: readonly Assessed[],
  assessed: readonly Assessed[],
  situation: Situation,
): Assessed | undefined {
  const likely = allowed.filter(
    (each) => each.outlook.chanceUp >= LEAST_CHANCE && cooldownSeconds(each, situation) <= 0,
  );
  const onDemand = assessed.filter((each) => !isSpot(each) && cooldownSeconds(each, situation) <= 0);
  const best = cheapestPool([...likely, ...onDemand], situation);
  return best !== undefined && isSpot(best) ? best : undefined;
}
