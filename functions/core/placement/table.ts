/** The table that explains a placement, and the sentence above it. */
import type { PoolAssessment } from '../records.ts';
import type { Assessed } from './assess.ts';
import type { Pruned } from './pools.ts';
import type { Situation } from './situation.ts';

/** A decision is stored with its table, and DynamoDB holds 400 KB: the best rows tell the story. */
const MAXIMUM_ROWS = 60;

/** The chosen row first, then by expected cost, then what was pruned. */
export function rowsOf(
  assessed: readonly Assessed[],
  pruned: readonly Pruned[],
  chosen?: Assessed,
  spotRefused?: string,
): readonly PoolAssessment[] {
  const ordered = assessed.toSorted(
    (a, b) => Number(b === chosen) - Number(a === chosen) || a.expectedCostUsd - b.expectedCostUsd,
  );
  const rows = ordered.map((each) => rowOf(each, chosen, spotRefused));
  const left = pruned.map(({ pool, reason }) => ({
    pool,
    hourlyUsd: 0,
    expectedCostUsd: 0,
    expectedSeconds: 0,
    verdict: `left out: ${reason}`,
  }));
  return [...rows, ...left].slice(0, MAXIMUM_ROWS);
}

function rowOf(
  each: Assessed,
  chosen: Assessed | undefined,
  spotRefused: string | undefined,
): PoolAssessment {
  const { candidate, outlook } = each;
  const finite = Number.isFinite(outlook.upSeconds);
  return {
    pool: candidate.pool,
    ...(candidate.score === undefined ? {} : { score: candidate.score }),
    hourlyUsd: candidate.hourlyUsd,
    expectedCostUsd: each.expectedCostUsd,
    expectedSeconds: Math.round(each.expectedSeconds),
    expectedWaitSeconds: Math.round(outlook.waitSeconds),
    ...(finite ? { expectedUpSeconds: Math.round(outlook.upSeconds) } : {}),
    verdict: `${verdictOf(each, chosen, spotRefused)} (${candidate.priceNote})`,
  };
}

function verdictOf(each: Assessed, chosen: Assessed | undefined, spotRefused: string | undefined): string {
  if (each === chosen) return 'chosen';
  if (spotRefused !== undefined && each.candidate.pool.market === 'spot') return spotRefused;
  if (chosen === undefined) return each.refusals > 0 ? 'refused lately' : 'not used';
  if (each.refusals > 0 && each.expectedCostUsd <= chosen.expectedCostUsd)
    return 'refused lately, left alone for a while';
  const dearer = each.expectedCostUsd - chosen.expectedCostUsd;
  if (dearer < 0 || each.outlook.chanceUp < chosen.outlook.chanceUp / 2)
    return `believed to be without capacity (chance to have it now ${Math.round(each.outlook.chanceUp * 100)} %)`;
  if (dearer > 0.005) return `expected to cost $${dearer.toFixed(2)} more`;
  return each.expectedSeconds > chosen.expectedSeconds
    ? 'costs the same and takes longer'
    : 'as good, second by name';
}

/** Why this pool, in one sentence, with whatever the market did not say. */
export function describeAction(chosen: Assessed, situation: Situation): string {
  const { candidate, outlook } = chosen;
  const { work, slackSeconds, marginSeconds, input } = situation;
  const slack = `${hours(work.workSeconds)} of work left (${work.basis}), ${hours(slackSeconds)} of slack`;
  const parts = [slack];
  if (candidate.pool.market === 'spot') {
    parts.push(
      `Spot is there now with a chance of ${Math.round(outlook.chanceUp * 100)} % and expected to last ${hours(outlook.upSeconds)}`,
    );
  } else if (input.compute.market === 'on-demand') {
    parts.push('the pipeline asks for On-Demand');
  } else {
    parts.push(
      slackSeconds < work.restartSeconds + marginSeconds
        ? 'the latest safe moment for On-Demand has come'
        : 'On-Demand is expected to cost no more than Spot',
    );
  }
  if (input.helpersHourlyUsd !== undefined)
    parts.push(`helper groups add $${input.helpersHourlyUsd.toFixed(2)} an hour to every row`);
  if (slackSeconds < 0) parts.push('the deadline can no longer be promised');
  else if (work.basis === 'assumed')
    parts.push('the deadline cannot be promised until a checkpoint shows the pace');
  return [...parts, ...input.market.notes].join('; ');
}

const hours = (seconds: number): string => `${(seconds / 3_600).toFixed(1)} h`;
