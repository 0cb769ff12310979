/**
 * Spot placement scores, 1 to 10, as EC2 gives them for "all of this capacity in this zone (or region), whichever of
 * these types": from the free capacity of the pools. AWS says what a score means, not how it is made; ours keeps what
 * is documented: fewer than three types always score low, and a pool without capacity does too.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-placement-score.html
 */
import { type MarketPool, zonesOffering } from './offers.ts';
import { between } from './seeded-by-name.ts';

export interface ScoreQuestion {
  readonly types: readonly string[];
  readonly target: number;
}

export const LOWEST = 1;
export const HIGHEST = 10;
/** What one or two types get at most. */
const LOW = 3;
const ENOUGH = 4;
const PER_DOUBLING = 2;

/** Scores one zone: 4 when there is just enough, two more for each doubling, up to the zone's best. */
export function zoneScore(
  question: ScoreQuestion,
  zoneId: string,
  region: string,
  freeOf: (pool: MarketPool) => number,
): number {
  return scoreOf(question, headroomOf(question, zoneId, region, freeOf), zoneId);
}

/** A region's: all of its zones together. */
export function regionScore(
  question: ScoreQuestion,
  zoneIds: readonly string[],
  region: string,
  freeOf: (pool: MarketPool) => number,
): number {
  const headroom = zoneIds.reduce((sum, zoneId) => sum + headroomOf(question, zoneId, region, freeOf), 0);
  return scoreOf(question, headroom, region);
}

/** How many times the target is there. */
function headroomOf(
  { types, target }: ScoreQuestion,
  zoneId: string,
  region: string,
  freeOf: (pool: MarketPool) => number,
): number {
  const offered = [...new Set(types)].filter((type) =>
    zonesOffering(type, region).some((zone) => zone.zoneId === zoneId),
  );
  const free = offered.reduce((sum, instanceType) => sum + freeOf({ instanceType, zoneId }), 0);
  return free / target;
}

function scoreOf({ types }: ScoreQuestion, headroom: number, place: string): number {
  const best = HIGHEST - between(0, 1, place);
  const raw = headroom < 1 ? LOWEST + headroom * 2 : ENOUGH + PER_DOUBLING * Math.log2(headroom);
  const score = Math.max(LOWEST, Math.min(best, Math.floor(raw)));
  return new Set(types).size < 3 ? Math.min(score, LOW) : score;
}
