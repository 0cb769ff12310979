/**
 * What a placement score says of capacity, learned from what attempts met that were asked under one. AWS says that a high
 * score is likely to be given and promises nothing; how likely, only experience tells.
 */

export interface ScoredMeeting {
  readonly score: number;
  readonly had: boolean;
}

/** How likely a score is where there is capacity and where there is none, up to a common factor. */
interface ScoreLikelihood {
  readonly up: number;
  readonly down: number;
}

export type ScoreTrust = (score: number) => ScoreLikelihood;

/** How far what a high score says lies from what a low one says: 0 where scores say nothing, 1 where all. */
export const reliabilityOf = (trust: ScoreTrust): number => trust(8).up - trust(3).up;

/** From here on a score counts as high. */
const HIGH_FROM = 5;
/** Stated assumptions, not fits: with capacity scores fall on 1 to 10 as (score - 0.5) / 50, without as the mirror of it. */
const HIGH_IF_UP = 0.84;
const HIGH_IF_DOWN = 0.36;
/** The logarithm of how much more a high score says for capacity than a low one. */
const PRIOR_GAP = Math.log((HIGH_IF_UP * (1 - HIGH_IF_DOWN)) / (HIGH_IF_DOWN * (1 - HIGH_IF_UP)));
/** They count as so many meetings on either side. */
const PRIOR_MEETINGS = 4;
/** No score is ever taken for certain. */
const LEAST = 0.02;

export function scoreTrust(meetings: readonly ScoredMeeting[]): ScoreTrust {
  const shareOfHigh = (had: boolean, prior: number): number => {
    const met = meetings.filter((each) => each.had === had);
    const high = met.filter(({ score }) => score >= HIGH_FROM).length;
    return (PRIOR_MEETINGS * prior + high) / (PRIOR_MEETINGS + met.length);
  };
  const highIfUp = shareOfHigh(true, HIGH_IF_UP);
  const highIfDown = shareOfHigh(false, HIGH_IF_DOWN);
  const high = highIfUp / HIGH_IF_UP / (highIfDown / HIGH_IF_DOWN);
  const low = (1 - highIfUp) / (1 - HIGH_IF_UP) / ((1 - highIfDown) / (1 - HIGH_IF_DOWN));
  // Where high scores turn out worse than low ones, scores say less and in the end nothing; a better one never says less.
  const weight = Math.min(1, Math.max(0, 1 + Math.log(high / low) / PRIOR_GAP));
  return (score) => {
    const prior = Math.min(0.95, Math.max(0.05, (score - 0.5) / 10));
    const learned = high < low ? 1 : score >= HIGH_FROM ? high : low;
    const odds = (prior / (1 - prior)) ** weight * learned;
    const up = Math.min(1 - LEAST, Math.max(LEAST, odds / (1 + odds)));
    return { up, down: 1 - up };
  };
}
