/**
 * What a placement score says about capacity, learned from the outcomes of attempts that asked under a score. AWS says
 * that a high score is likely to succeed and promises nothing; the likelihood must be measured.
 */

import { assumed } from '../model/assumed.ts';

export interface ScoredMeeting {
  readonly score: number;
  readonly had: boolean;
}

/** The likelihood of a score with and without capacity, up to a common factor. */
interface ScoreLikelihood {
  readonly up: number;
  readonly down: number;
}

export type ScoreTrust = (score: number) => ScoreLikelihood;

/** How much high and low scores differ in what they say: 0 for nothing, 1 for everything. */
export const reliabilityOf = (trust: ScoreTrust): number => trust(8).up - trust(3).up;

/** The lowest score that counts as high. */
const HIGH_FROM = 5;
/**
 * Stated, not fitted: with capacity a score has probability (score - 0.5) / 50, without capacity the mirror image.
 */
const HIGH_IF_UP = 0.84;
const HIGH_IF_DOWN = 0.36;
/** The log odds ratio of capacity between a high and a low score. */
const PRIOR_GAP = Math.log((HIGH_IF_UP * (1 - HIGH_IF_DOWN)) / (HIGH_IF_DOWN * (1 - HIGH_IF_UP)));
/** No score is ever certain. */
const LEAST = 0.02;

export function scoreTrust(meetings: readonly ScoredMeeting[]): ScoreTrust {
  const shareOfHigh = (had: boolean, prior: number): number => {
    const met = meetings.filter((each) => each.had === had);
    const high = met.filter(({ score }) => score >= HIGH_FROM).length;
    return (assumed.scoreMeetings * prior + high) / (assumed.scoreMeetings + met.length);
  };
  const highIfUp = shareOfHigh(true, HIGH_IF_UP);
  const highIfDown = shareOfHigh(false, HIGH_IF_DOWN);
  const high = highIfUp / HIGH_IF_UP / (highIfDown / HIGH_IF_DOWN);
  const low = (1 - highIfUp) / (1 - HIGH_IF_UP) / ((1 - highIfDown) / (1 - HIGH_IF_DOWN));
  // Where high scores turn out worse than low ones, scores count less and finally not at all; a better score
  // never counts less than a worse one.
  const weight = Math.min(1, Math.max(0, 1 + Math.log(high / low) / PRIOR_GAP));
  return (score) => {
    const prior = Math.min(0.95, Math.max(0.05, (score - 0.5) / 10));
    const learned = high < low ? 1 : score >= HIGH_FROM ? high : low;
    const odds = (prior / (1 - prior)) ** weight * learned;
    const up = Math.min(1 - LEAST, Math.max(LEAST, odds / (1 + odds)));
    return { up, down: 1 - up };
  };
}
