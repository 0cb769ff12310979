/**
 * The market: its port, its history, and what collects it.
 *
 * Every failure of the market is a value. Called by the market's adapters, the table and `collect-scores`.
 */

export { observationsOfOthers, poolOutcomeOf } from './belief/attempt-observations.ts';
export { QUESTIONS_A_DAY, questionKey } from './market/ask-scores.ts';
export { collectScores } from './market/collect.ts';
export { refreshedBy, samplesFor, withScoresOfNow } from './market/market-memory.ts';
export * from './records/market-history.ts';
