/** Whether a drop is worth a training: by what the model in use makes of it, and by how much came since the last one. */
import type { Mode } from './difference.ts';
import { type Margin, marginPoints, marginText, meanScore, samplesText, shown } from './judge.ts';
import type { ScoreTable } from './read-scores.ts';

export interface NeedAsked {
  readonly metric: string;
  readonly mode: Mode;
  readonly worseBy: Margin;
  readonly orSamples?: number | undefined;
  /** Mean of the model in use, on what arrived. */
  readonly arrived: ScoreTable;
  /** Mean of the same model, on the samples by which it was judged when it was new. */
  readonly known: ScoreTable;
  /** Samples that came since the last training, with these. */
  readonly since: number;
}

/**
 * The two means alone decide, without a test: an error costs one training, and a drift that no test shows yet costs more.
 * @returns undefined where there is nothing to compare
 */
export function trainingNeed({ metric, mode, worseBy, orSamples, arrived, known, since }: NeedAsked) {
  const [mean, before] = [meanScore(arrived), meanScore(known)];
  if (!Number.isFinite(mean) || !Number.isFinite(before)) return undefined;
  const worse = mode === 'max' ? before - mean : mean - before;
  const isWorse = worse > marginPoints(worseBy, before);
  const isEnough = orSamples !== undefined && since >= orSamples;
  const seen = `${metric} of the model in use is ${shown(mean)} on ${samplesText(arrived.size)} that arrived, and was ${shown(before)} on ${samplesText(known.size)} when it was new`;
  const reasons = [
    `${seen}: ${isWorse ? 'worse by more than' : 'not worse by more than'} ${marginText(worseBy)} (training.when.worseBy)`,
    ...(orSamples === undefined
      ? []
      : [
          `${samplesText(since)} came since the last training, and ${orSamples.toLocaleString('en')} are ${isEnough ? 'enough' : 'wanted'} (training.when.orSamples)`,
        ]),
  ];
  return { isNeeded: isWorse || isEnough, reason: reasons.join('; '), mean, known: before };
}
