/**
 * Small models whose true quality is known: logistic regressions, fitted by gradient descent to samples of two normal
 * classes. A model that is turned about the axis between the classes is as good as before, and errs on other samples.
 */
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';

const DIMENSIONS = 8;
/** Half of the distance between the two classes, so that the best model is right in 91 %. */
const DISTANCE = 1.35;

export type Draw = () => number;
/** Weights of a linear model; the first dimension is the axis between the classes. */
export type Weights = readonly number[];

export interface Drawn {
  readonly features: readonly number[];
  readonly isPositive: boolean;
  readonly group: number;
}

export function normalDraws(seed: string): Draw {
  const uniform = seededUniform(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** @param tie the correlation of features within a group; 0 for none, each sample then is a group */
export function drawSamples(
  count: number,
  draw: Draw,
  { tie, groupSize }: { tie: number; groupSize: number },
): Drawn[] {
  const samples: Drawn[] = [];
  let shared = vector(draw);
  for (let k = 0; k < count; k += 1) {
    if (k % groupSize === 0) shared = vector(draw);
    const isPositive = draw() > 0;
    const own = vector(draw);
    const features = own.map((value, axis) => {
      const centre = axis === 0 ? (isPositive ? DISTANCE : -DISTANCE) : 0;
      return centre + Math.sqrt(tie) * (shared[axis] ?? 0) + Math.sqrt(1 - tie) * value;
    });
    samples.push({ features, isPositive, group: Math.floor(k / groupSize) });
  }
  return samples;
}

const vector = (draw: Draw): number[] => Array.from({ length: DIMENSIONS }, draw);

/** 200 steps of gradient descent, without an intercept. */
export function fit(samples: readonly Drawn[]): Weights {
  let weights: number[] = Array.from({ length: DIMENSIONS }, () => 0);
  for (let step = 0; step < 200; step += 1) {
    const slope = weights.map(() => 0);
    for (const sample of samples) {
      const pull = 1 / (1 + Math.exp(marginOf(weights, sample)));
      const sign = sample.isPositive ? 1 : -1;
      for (const [axis, value] of sample.features.entries())
        slope[axis] = (slope[axis] ?? 0) + (pull * sign * value) / samples.length;
    }
    weights = weights.map((weight, axis) => weight + 0.5 * (slope[axis] ?? 0));
  }
  return weights;
}

/** Positive where the model is right. */
export function marginOf(weights: Weights, { features, isPositive }: Drawn): number {
  let sum = 0;
  for (let axis = 0; axis < DIMENSIONS; axis += 1) sum += (weights[axis] ?? 0) * (features[axis] ?? 0);
  return isPositive ? sum : -sum;
}

/** As good as before on all samples there are: only directions across the axis change. */
export function turned([axis = 0, ...across]: Weights, draw: Draw): Weights {
  const direction = across.map(draw);
  return [axis, ...scaled(direction, length(across))];
}

/** Keeps the length and changes the angle to the axis: a smaller angle is better. */
export function tilted(weights: Weights, angle: number, draw: Draw): Weights {
  const all = length(weights);
  return [all * Math.cos(angle), ...scaled(turned(weights, draw).slice(1), all * Math.sin(angle))];
}

export const angleOf = (weights: Weights): number => Math.acos((weights[0] ?? 0) / length(weights));

const length = (values: readonly number[]): number => Math.hypot(...values);
const scaled = (values: readonly number[], to: number): number[] => {
  const from = length(values);
  return values.map((value) => (value / from) * to);
};

export const METRICS = ['accuracy', 'loss'] as const;
export type Metric = (typeof METRICS)[number];

/** Of one sample. */
export const scoreOf = (margin: number, metric: Metric): number =>
  metric === 'accuracy' ? Number(margin > 0) : Math.log1p(Math.exp(-margin));

/** The mean over all samples there are: a margin is normal around its mean. */
export function trueScore(weights: Weights, metric: Metric): number {
  const [mean, deviation] = [(weights[0] ?? 0) * DISTANCE, length(weights)];
  let [sum, mass] = [0, 0];
  for (let z = -8; z <= 8; z += 0.002) {
    const density = Math.exp((-z * z) / 2);
    sum += density * scoreOf(mean + deviation * z, metric);
    mass += density;
  }
  return sum / mass;
}
