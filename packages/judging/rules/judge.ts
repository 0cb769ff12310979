/** From the scores of two models on the same samples to what becomes of the new one. */
import { shownKey } from '@tidewheel/kit/quoted.ts';
import { studentAbove } from '../statistics/distributions.ts';
import {
  compare,
  type Difference,
  FEWEST_GROUPS,
  type LabelMeans,
  type Mode,
  meansByLabel,
  type Pair,
  type Sides,
  sidesOf,
  worstOf,
} from './difference.ts';
import type { Score, ScoreTable } from './read-scores.ts';

/** In the units of the metric, or as a share of what the model in use reaches. */
export type Margin = { readonly points: number } | { readonly share: number };

export interface ScoreRule {
  /** whenBetterBy: above this margin; notWorseBy: a loss below this margin is allowed. */
  readonly kind: 'whenBetterBy' | 'notWorseBy';
  readonly margin: Margin;
  /** How sure a promotion must be: of all comparisons with one model in use, so often none is wrong. */
  readonly confidence: number;
  /** In the units of the metric: the candidate's own mean, on all its samples. */
  readonly atLeast?: number | undefined;
}

export interface Judged {
  readonly metric: string;
  readonly mode: Mode;
  readonly rule: ScoreRule;
  readonly candidate: ScoreTable;
  /** Undefined where no model is in use. */
  readonly current: ScoreTable | undefined;
  /** 1 for the first candidate that is compared with the model in use. */
  readonly look: number;
  /** Samples of one group are not independent of each other. */
  readonly groupOf?: ((key: string) => string | undefined) | undefined;
  /** One script has scored both now: samples that only one of them has make the comparison void. */
  readonly isOneSet?: boolean | undefined;
  /** What the model in use was scored on when it was new: all other samples came after it. */
  readonly earlier?: ReadonlySet<string> | undefined;
}

/** first: no model was in use, and the candidate is valid. */
export type End = 'first' | 'better' | 'notBetter' | 'inconclusive' | 'rejected';

export interface Judgement {
  readonly verdict: End;
  /** One sentence each, the most important first. */
  readonly reasons: readonly string[];
  /** The candidate's mean on all its samples. */
  readonly mean?: number;
  readonly difference?: Difference;
  /** The chance of a wrong promotion that this comparison may take. */
  readonly error?: number;
  /** How many samples a difference like this one would need; absent where it would never do. */
  readonly samplesNeeded?: number;
  readonly sides?: Sides;
  /** Samples that were there when the model in use was new, where others came since. */
  readonly earlier?: Part;
  /** Samples that came after the model in use; only the candidate's mean where that one was not scored on them. */
  readonly fresh?: Part | Pick<Part, 'samples' | 'mean'>;
  readonly byLabel?: readonly LabelMeans[];
  /** Where the candidate lost most. */
  readonly worst?: readonly Pair[];
}

/** Compares both on a part of the samples that both were scored on. */
export interface Part extends Pick<Difference, 'current' | 'better'> {
  readonly samples: number;
  /** The candidate's. */
  readonly mean: number;
  /** At 95 %; absent where so few samples say nothing of it. */
  readonly interval?: Difference['interval'];
  readonly sides?: Sides;
}

/**
 * The error that each of many comparisons may take, so that all together take 1 - confidence, however many follow and
 * however they depend on each other. It begins again with each new model in use.
 */
export const errorAt = (look: number, confidence: number): number => (1 - confidence) / (look * (look + 1));

export function judge(judged: Judged): Judgement {
  const { candidate, current, metric, mode, rule } = judged;
  const mean = meanScore(candidate);
  const faults = faultsOf(judged, mean);
  if (faults.length > 0)
    return { verdict: 'rejected', reasons: faults, ...(Number.isFinite(mean) && { mean }) };
  const reached = `${metric} ${shown(mean)} on ${samplesText(candidate.size)}`;
  const falls = shortOf(mean, mode, rule.atLeast);
  if (falls !== undefined) return { verdict: 'notBetter', reasons: [`${reached}, ${falls}`], mean };
  if (current === undefined) return { verdict: 'first', reasons: [`${reached}; no model was in use`], mean };
  return compared(judged, current, mean);
}

function compared(judged: Judged, current: ScoreTable, mean: number): Judgement {
  const { candidate, metric, mode, rule, look, groupOf, earlier } = judged;
  const pairs = pairsOf(candidate, current, groupOf);
  if (pairs.length === 0)
    return {
      verdict: 'inconclusive',
      reasons: ['the model in use has a score on none of these samples: evaluate it on them'],
      mean,
    };
  const difference = compare(pairs, mode, marginIn(rule, current));
  const error = errorAt(look, rule.confidence);
  const verdict = verdictOf(difference, error);
  const parts = earlier === undefined ? {} : partsOf(pairs, mode, earlier);
  const samplesNeeded =
    verdict === 'inconclusive' ? neededFor(difference, marginIn(rule, current), error) : undefined;
  return {
    verdict,
    reasons: [
      differenceText(metric, difference),
      ...verdictText(verdict, { rule, look, error, difference, samplesNeeded }),
      ...partsText(parts),
    ],
    mean,
    difference,
    error,
    ...(samplesNeeded !== undefined && { samplesNeeded }),
    ...sidesOf(pairs, mode),
    ...freshOf(candidate, current),
    ...parts,
    byLabel: meansByLabel(pairs),
    worst: worstOf(pairs, mode),
  };
}

/** Why the scores decide nothing. */
function faultsOf({ candidate, current, isOneSet = false }: Judged, mean: number): string[] {
  if (candidate.size === 0) return ['no sample has a score: have the evaluation write one line for each'];
  const missing = [...(current?.keys() ?? [])].filter((key) => !candidate.has(key));
  const [example] = missing;
  const added = isOneSet ? [...candidate.keys()].filter((key) => current?.has(key) === false) : [];
  const [extra] = added;
  return [
    ...(Number.isFinite(mean) ? [] : ['its scores have no finite mean']),
    ...(example === undefined
      ? []
      : [
          `${samplesText(missing.length)} that the model in use was scored on ${missing.length === 1 ? 'has' : 'have'} no score of this one, such as ${shownKey(example)}: evaluate both on the same samples`,
        ]),
    ...(extra === undefined
      ? []
      : [
          `${samplesText(added.length)} of this one ${added.length === 1 ? 'has' : 'have'} no score of the model in use, such as ${shownKey(extra)}: have the evaluation score the same samples each time`,
        ]),
  ];
}

function shortOf(mean: number, mode: Mode, atLeast: number | undefined): string | undefined {
  if (atLeast === undefined) return undefined;
  if (mode === 'max') return mean < atLeast ? `below the ${shown(atLeast)} of promote.atLeast` : undefined;
  return mean > atLeast ? `above the ${shown(atLeast)} of promote.atLeast` : undefined;
}

const marginIn = ({ kind, margin }: ScoreRule, current: ScoreTable): number =>
  (kind === 'whenBetterBy' ? 1 : -1) * marginPoints(margin, meanScore(current));

export const marginPoints = (margin: Margin, of: number): number =>
  'points' in margin ? margin.points : margin.share * Math.abs(of);

function pairsOf(candidate: ScoreTable, current: ScoreTable, groupOf: Judged['groupOf']): Pair[] {
  const pairs: Pair[] = [];
  for (const [key, { value, label }] of candidate) {
    const other = current.get(key);
    if (other === undefined) continue;
    pairs.push({ key, candidate: value, current: other.value, label, group: groupOf?.(key) });
  }
  return pairs;
}

function verdictOf(
  { chance, chanceWorse }: Difference,
  error: number,
): 'better' | 'notBetter' | 'inconclusive' {
  if (chance <= error) return 'better';
  return chanceWorse <= error ? 'notBetter' : 'inconclusive';
}

/** With a chance of 80 % to be found better. */
function neededFor({ better, deviation, pairs, groups }: Difference, margin: number, error: number) {
  const effect = better - margin;
  if (effect <= 0) return undefined;
  const many = 1e6;
  const tails = studentAbove(error, many) + studentAbove(0.2, many);
  const perGroup = pairs / groups;
  const needed = Math.max(FEWEST_GROUPS, (tails * deviation) ** 2 / effect ** 2) * perGroup;
  return needed < 1e9 ? Math.max(pairs + 1, Math.ceil(needed)) : undefined;
}

function freshOf(candidate: ScoreTable, current: ScoreTable): Pick<Judgement, 'fresh'> {
  const scores = [...candidate].filter(([key]) => !current.has(key)).map(([, score]) => score);
  return scores.length === 0 ? {} : { fresh: { samples: scores.length, mean: meanOfScores(scores) } };
}

function partsOf(
  pairs: readonly Pair[],
  mode: Mode,
  earlier: ReadonlySet<string>,
): Pick<Judgement, 'earlier' | 'fresh'> {
  const before = pairs.filter(({ key }) => earlier.has(key));
  const since = pairs.filter(({ key }) => !earlier.has(key));
  if (since.length === 0) return {};
  return { ...(before.length > 0 && { earlier: partOf(before, mode) }), fresh: partOf(since, mode) };
}

function partOf(pairs: readonly Pair[], mode: Mode): Part {
  const { candidate, current, better, interval, groups } = compare(pairs, mode, 0);
  return {
    samples: pairs.length,
    mean: candidate,
    current,
    better,
    ...(groups >= FEWEST_GROUPS && { interval }),
    ...sidesOf(pairs, mode),
  };
}

function partsText({ earlier, fresh }: Pick<Judgement, 'earlier' | 'fresh'>): string[] {
  const texts = [
    ...(earlier === undefined ? [] : [`on ${partText(earlier, 'earlier')}`]),
    ...(fresh === undefined || !('better' in fresh) ? [] : [`on ${partText(fresh, 'new')}`]),
  ];
  return texts.length === 0 ? [] : [texts.join(', ')];
}

const partText = ({ samples, mean, current, better, interval }: Part, kind: string): string =>
  `${samples.toLocaleString('en')} ${kind} ones ${shown(mean)} against ${shown(current)}: ${signed(better)}${interval === undefined ? '' : ` (${signed(interval[0])} to ${signed(interval[1])})`}`;

/** One number has no pairs, so a difference cannot be tested. @param value undefined where it is none */
export function judgeNumber(
  value: number | undefined,
  {
    metric,
    mode,
    rule,
    hasCurrent,
  }: Pick<Judged, 'metric' | 'mode' | 'rule'> & { readonly hasCurrent: boolean },
): Judgement {
  if (value === undefined || !Number.isFinite(value))
    return {
      verdict: 'rejected',
      reasons: [`the evaluation scored no sample, and printed no finite number for ${metric}`],
    };
  const reached = `${metric} ${shown(value)}, as one number`;
  const falls = shortOf(value, mode, rule.atLeast);
  if (falls !== undefined) return { verdict: 'notBetter', reasons: [`${reached}, ${falls}`], mean: value };
  if (!hasCurrent) return { verdict: 'first', reasons: [`${reached}; no model was in use`], mean: value };
  return {
    verdict: 'inconclusive',
    reasons: [
      `${reached}: no difference can be tested without a score for each sample; call tidewheel.score(key, …) in the evaluation`,
    ],
    mean: value,
  };
}

export const meanScore = (table: ScoreTable): number => meanOfScores([...table.values()]);
const meanOfScores = (scores: readonly Score[]): number =>
  scores.reduce((sum, { value }) => sum + value, 0) / scores.length;

export const shown = (value: number): string => String(Number(value.toPrecision(4)));
const signed = (value: number): string => `${value > 0 ? '+' : ''}${shown(value)}`;
export const samplesText = (count: number): string =>
  `${count.toLocaleString('en')} sample${count === 1 ? '' : 's'}`;
const percentText = (share: number): string => `${shown(100 * share)} %`;
export const marginText = (margin: Margin): string =>
  'points' in margin ? shown(margin.points) : percentText(margin.share);

function differenceText(metric: string, { candidate, current, pairs, better, interval }: Difference): string {
  const [low, high] = interval;
  return `${metric} ${shown(candidate)} against ${shown(current)} of the model in use on the same ${samplesText(pairs)}: ${signed(better)} for the better (95 %: ${signed(low)} to ${signed(high)})`;
}

function verdictText(
  verdict: End,
  {
    rule: { kind, margin },
    look,
    error,
    difference,
    samplesNeeded,
  }: Pick<Judged, 'rule' | 'look'> & {
    readonly error: number;
    readonly difference: Difference;
    readonly samplesNeeded: number | undefined;
  },
): string[] {
  const allowed = `comparison ${look} with the model in use may err in ${percentText(error)}`;
  if (verdict === 'better')
    return [
      `${kind} ${marginText(margin)} is met: by chance alone in ${percentText(difference.chance)}; ${allowed}`,
    ];
  if (verdict === 'notBetter')
    return [`${kind} ${marginText(margin)} is not met, and more samples would not change that; ${allowed}`];
  return [
    samplesNeeded === undefined
      ? `nothing is shown: ${allowed}, and no number of samples would show ${kind} ${marginText(margin)} at this difference`
      : `nothing is shown: ${allowed}; a difference like this one takes about ${samplesText(samplesNeeded)}`,
  ];
}
