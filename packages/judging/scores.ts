/**
 * Reads the scores that an evaluation wrote.
 *
 * In: the lines of its file, which are a script's own bytes, and the metric that decides. Out: a score by sample, or every kind of
 * problem. Called before `judge`.
 */
export { MOST_SAMPLES, readScores, type ScoresRead, type ScoreTable } from './rules/read-scores.ts';
