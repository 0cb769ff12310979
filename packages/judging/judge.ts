/**
 * Whether a new model replaces the one in use.
 *
 * In: the scores of both by sample, the rule that the pipeline declares, and how many candidates the model in use has met. Out:
 * a verdict, its reasons in sentences, and where the two differ. Nothing is thrown. Called where a run ends; `trainingNeed`
 * before a run trains.
 */
export type { Mode, Pair } from './rules/difference.ts';
export {
  type End,
  errorAt,
  type Judged,
  type Judgement,
  judge,
  judgeNumber,
  type Part,
  type ScoreRule,
} from './rules/judge.ts';
export { type NeedAsked, trainingNeed } from './rules/need.ts';
